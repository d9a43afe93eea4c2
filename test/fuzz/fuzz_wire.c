#include "support/fuzz.h"

#include <math.h>

#include "serve/wire/wire.h"
#include "serve/players/pensieve.h"

/* The first byte chooses the body. What is accepted holds finite numbers and fits its
 * arrays; what is not says why. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    const char *body = (const char *)data + 1;
    size_t n = size - 1;
    struct err e = {0};
    int rc = 0;
    bool sound = true;

    if (data[0] == 'U') {
        struct underway_in in;
        rc = wire_underway(&in, body, n, &e);
        if (!rc) sound = isfinite(in.elapsed_s) && isfinite(in.buffer_s);
    } else if (data[0] == 'P') {
        struct pensieve_post in;
        rc = pensieve_read(&in, body, n, &e);
        if (!rc && !in.summary)
            sound = isfinite(in.buffer_s) && in.n_next >= 0 && in.n_next <= VIEW_LEVELS;
    } else if (data[0] % 7 == 0) {
        struct session_open in;
        rc = wire_open(&in, body, n, &e);
        for (int i = 0; !rc && i < in.levels; i++)
            sound = sound && isfinite(in.ladder_kbps[i]);
        if (!rc) sound = sound && in.levels <= VIEW_LEVELS && isfinite(in.chunk_s);
    } else if (data[0] % 7 == 1) {
        struct question q;
        rc = wire_question(&q, body, n, &e);
        if (!rc) sound = isfinite(q.buffer_s) && isfinite(q.last.download_s);
    } else if (data[0] % 7 == 2) {
        struct reward_in in;
        rc = wire_reward(&in, body, n, &e);
        if (!rc) sound = isfinite(in.external) && isfinite(in.outcome.rebuffer_s);
    } else if (data[0] % 7 == 3) {
        struct wire_decide in;
        rc = wire_decide(&in, body, n, &e);
        if (!rc) sound = in.view.n_history >= 0 && in.view.n_history <= VIEW_HISTORY;
    } else if (data[0] % 7 == 5) {
        rc = wire_gate(body, n, &e);
    } else if (data[0] % 7 == 6) {
        int updates = 0;
        rc = wire_aside(&updates, body, n, &e);
    } else {
        struct profile p = {0};
        rc = wire_profile(&p, body, n, &e);
        if (!rc) sound = isfinite(p.qoe.mu_stall);
    }
    if (rc && (e.code != rc || !*e.detail)) sound = false;
    if (!sound) __builtin_trap();
    return 0;
}
