/* Any bytes as a trace: refused with a reason, or a trace that passes its own check and that
 * an emulator gets through. */
#include "support/fuzz.h"

#include "abr/emulator/emu.h"

#include <assert.h>

static void play(const struct trace *t)
{
    int64_t bytes[4] = {1, 1000, 500, 2000};
    struct video v = {
        .levels = 2, .chunks = 2, .chunk_s = 1.0, .ladder_kbps = {1, 2}, .bytes = bytes};
    for (enum emu_wrap wrap = EMU_WRAP_ZERO; wrap <= EMU_WRAP_NONE; wrap++) {
        struct emu_world w = {&v, t, emu_cfg_default()};
        w.cfg.wrap = wrap;
        struct emu m;
        struct emu_result r;
        emu_start(&m, &w, 1);
        for (int i = 0; i < 4; i++)
            emu_step(&m, i & 1, 1.0, &r);
        assert(r.delay_ms > 0.0 && r.buffer_s > 0.0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    struct trace *t = trace_parse((const char *)data, size, "fuzz", &e);
    assert((t != NULL) == (e.code == 0));
    if (t) {
        assert(trace_check(t, &e) == 0);
        play(t);
    }
    trace_free(t);
    return 0;
}
