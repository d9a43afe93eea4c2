#include "abrd_priv.h"

#include "abr/emulator/emu.h"

#include <stdlib.h>
#include <string.h>

enum { START_ROW = 1 }; /* as Pensieve's deterministic environment */

struct abrd_trace {
    struct trace *trace;
};

/* Takes t. */
static struct abrd_trace *wrap(struct trace *t, const struct err *why,
                               struct abrd_error *e)
{
    struct abrd_trace *out = t ? calloc(1, sizeof *out) : NULL;
    if (out) {
        out->trace = t;
        return out;
    }
    if (t)
        abrd_fail(e, ABRD_MEMORY, "no memory for a trace");
    else
        abrd_tell(e, why);
    trace_free(t);
    return NULL;
}

struct abrd_trace *abrd_trace_load(const char *path, struct abrd_error *e)
{
    struct err why = {0};
    struct trace *t = trace_load(path, &why);
    return wrap(t, &why, e);
}

struct abrd_trace *abrd_trace_new(const double *time_s, const double *mbps, int rows,
                                  struct abrd_error *e)
{
    struct err why = {0};
    struct trace *t = NULL;
    if (rows < 2 || rows > TRACE_ROWS_MAX)
        err_field(&why, ERR_RANGE, "rows", "%d is not within 2 .. %d", rows,
                  TRACE_ROWS_MAX);
    else
        t = trace_new(rows, "trace", &why);
    if (t) {
        memcpy(t->time_s, time_s, (size_t)rows * sizeof *time_s);
        memcpy(t->mbps, mbps, (size_t)rows * sizeof *mbps);
        if (trace_check(t, &why)) {
            trace_free(t);
            t = NULL;
        }
    }
    return wrap(t, &why, e);
}

void abrd_trace_free(struct abrd_trace *t)
{
    if (!t) return;
    trace_free(t->trace);
    free(t);
}

struct abrd_emulator {
    struct video *video;
    struct emu_world world;
    struct emu emu;
    bool over;
};

/* With the sizes of the table, or bitrate times duration. */
static struct video *sized(const struct abrd_video *v, struct err *e)
{
    struct video *out = video_new(v->levels, v->chunks, v->chunk_s, v->ladder_kbps, e);
    if (!out) return NULL;
    for (int c = 0; c < v->chunks; c++)
        for (int k = 0; k < v->levels; k++) {
            size_t i = (size_t)c * (size_t)v->levels + (size_t)k;
            out->bytes[i] = v->bytes ? v->bytes[i]
                                     : (int64_t)(v->ladder_kbps[k] * 125.0 * v->chunk_s);
        }
    if (!video_check(out, e)) return out;
    video_free(out);
    return NULL;
}

struct abrd_emulator *abrd_emulator_new(const struct abrd_video *v,
                                        const struct abrd_trace *t, double buffer_max_s,
                                        struct abrd_error *e)
{
    struct err why = {0};
    struct abrd_emulator *m = calloc(1, sizeof *m);
    if (!m) {
        abrd_fail(e, ABRD_MEMORY, "no memory for an emulator");
        return NULL;
    }
    m->video = sized(v, &why);
    m->world = (struct emu_world){m->video, t->trace, emu_cfg_default()};
    m->world.cfg.buffer_max_s = buffer_max_s;
    if (!m->video || emu_check(&m->world.cfg, m->video, &why)) {
        abrd_tell(e, &why);
        abrd_emulator_free(m);
        return NULL;
    }
    emu_start(&m->emu, &m->world, START_ROW);
    return m;
}

void abrd_emulator_free(struct abrd_emulator *m)
{
    if (!m) return;
    video_free(m->video);
    free(m);
}

int abrd_emulator_fetch(struct abrd_emulator *m, int level, struct abrd_fetched *out,
                        struct abrd_error *e)
{
    *out = (struct abrd_fetched){0};
    if (m->over)
        return abrd_fail(e, ABRD_RANGE, "chunk: the video has %d, all were fetched",
                         m->video->chunks);
    if (level < 0 || level >= m->video->levels)
        return abrd_fail(e, ABRD_RANGE, "level: %d is not within 0 .. %d", level,
                         m->video->levels - 1);
    int chunk = m->emu.chunk;
    struct emu_result r;
    emu_step(&m->emu, level, 1.0, &r);
    m->over = r.end;
    *out = (struct abrd_fetched){
        .chunk = chunk,
        .last = r.end,
        .outcome = {level, (double)r.bytes, r.delay_ms / 1000.0, r.rebuffer_s},
        .buffer_s = r.buffer_s};
    return 0;
}
