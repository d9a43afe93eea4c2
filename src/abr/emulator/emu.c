#include "abr/emulator/emu.h"

#include <assert.h>
#include <math.h>

/* The floating-point operations are in the original's order. Regroup nothing: the golden
 * trajectories depend on it. Exact rewrites used: x / 8 == x * 0.125, and
 * x * 1 == x for the bandwidth factor. */

struct emu_cfg emu_cfg_default(void)
{
    return (struct emu_cfg){.rtt_s = 0.08,
                            .payload = 0.95,
                            .buffer_max_s = 60.0,
                            .drain_s = 0.5,
                            .bandwidth_x = 1.0,
                            .wrap = EMU_WRAP_ZERO};
}

static int emu_need(double v, double lo, double hi, const char *name, struct err *e)
{
    if (v >= lo && v <= hi) return 0; /* false for NaN, too */
    return err_field(e, ERR_RANGE, name, "%g is not within %g .. %g", v, lo, hi);
}

int emu_check(const struct emu_cfg *cfg, const struct video *video, struct err *e)
{
    int rc = emu_need(cfg->rtt_s, 0.0, 10.0, "rtt_s", e);
    if (!rc) rc = emu_need(cfg->payload, 0.01, 1.0, "payload", e);
    if (!rc) rc = emu_need(cfg->buffer_max_s, video->chunk_s, 3600.0, "buffer_max_s", e);
    if (!rc) rc = emu_need(cfg->drain_s, 0.001, video->chunk_s, "drain_s", e);
    if (!rc) rc = emu_need(cfg->bandwidth_x, 0.001, 1000.0, "bandwidth_x", e);
    return rc;
}

void emu_start(struct emu *m, const struct emu_world *world, int start_row)
{
    assert(start_row >= 1 && start_row < world->trace->n);
    assert(world->cfg.buffer_max_s >= world->video->chunk_s);
    m->world = world;
    m->row = start_row;
    m->clock_s = world->trace->time_s[start_row - 1];
    m->buffer_ms = 0.0;
    m->chunk = 0;
}

/* The clock's place in the trace. Kept in locals during a chunk. */
struct place {
    int row;
    double clock_s;
};

/* Advances to the next row, or wraps. With EMU_WRAP_NONE the row behind the last is legal and stands
 * for the time after the trace. */
static inline void next_row(struct place *at, const struct trace *t, enum emu_wrap wrap)
{
    at->clock_s = t->time_s[at->row];
    at->row++;
    if (at->row < t->n || wrap == EMU_WRAP_NONE) return;
    at->row = 1;
    at->clock_s = wrap == EMU_WRAP_FIRST ? t->time_s[0] : 0.0;
}

/* After the trace its last positive throughput holds for ever. So a chunk arrives in finite time even
 * when the trace ends in an outage. Every trace has such a throughput (trace_check). */
static double last_positive(const struct trace *t)
{
    int i = t->n - 1;
    while (t->mbps[i] <= 0.0)
        i--;
    return t->mbps[i];
}

/* The inner loop of every simulation, inlined so that the place stays in registers. */
__attribute__((always_inline)) static inline double
download(struct place *at, const struct emu_world *w, double bytes)
{
    const struct trace *t = w->trace;
    const double payload = w->cfg.payload, x = w->cfg.bandwidth_x;
    double delay_s = 0.0, sent = 0.0;
    for (;;) {
        bool after = at->row >= t->n;
        double mbps = after ? last_positive(t) : t->mbps[at->row];
        double duration = after ? HUGE_VAL : t->time_s[at->row] - at->clock_s;
        double bytes_per_s = mbps * x * 1e6 * 0.125;
        double packets = bytes_per_s * duration * payload;
        if (sent + packets > bytes) {
            double fraction = (bytes - sent) / bytes_per_s / payload;
            at->clock_s += fraction;
            return delay_s + fraction;
        }
        sent += packets;
        delay_s += duration;
        next_row(at, t, w->cfg.wrap);
    }
}

/* Bytes that arrive within some seconds. */
static double carried(struct place *at, const struct emu_world *w, double seconds)
{
    const struct trace *t = w->trace;
    double bytes = 0.0;
    for (;;) {
        bool after = at->row >= t->n;
        double mbps = after ? last_positive(t) : t->mbps[at->row];
        double duration = after ? HUGE_VAL : t->time_s[at->row] - at->clock_s;
        double bytes_per_s = mbps * w->cfg.bandwidth_x * 1e6 * 0.125 * w->cfg.payload;
        if (duration > seconds) {
            at->clock_s += seconds;
            return bytes + bytes_per_s * seconds;
        }
        bytes += bytes_per_s * duration;
        seconds -= duration;
        next_row(at, t, w->cfg.wrap);
    }
}

/* Watches *level arrive until it is abandoned or complete, without the RTT. Returns the seconds that an
 * abandoned copy took, with *level to be fetched next; or 0, and no time has passed. */
static double watch_chunk(struct place *at, const struct emu *m, int *level,
                          const struct emu_watch *watch)
{
    const struct emu_world *w = m->world;
    double size = (double)video_chunk(w->video, m->chunk)[*level];
    double bytes = 0.0, passed_s = 0.0;
    struct place now = *at;
    double next_s = fmin(watch->first_s, download(&now, w, watch->first_share * size));
    now = *at;
    for (;;) {
        struct place ahead = now;
        if (download(&ahead, w, size - bytes) <= next_s) return 0.0;
        bytes += carried(&now, w, next_s);
        passed_s += next_s;
        double since_s = passed_s + w->cfg.rtt_s;
        double buffer_s = m->buffer_ms / 1000.0 - since_s;
        int other = watch->level(watch->ctx, *level, bytes, since_s,
                                 buffer_s > 0.0 ? buffer_s : 0.0);
        if (other != *level) {
            *level = other;
            *at = now;
            return passed_s;
        }
        next_s = watch->every_s;
    }
}

/* Returns the part of the sleep that fell into its last slot, as the original reports it.
 */
static double sleep_through(struct place *at, const struct emu_world *w, double sleep_ms)
{
    const struct trace *t = w->trace;
    for (;;) {
        double duration = at->row >= t->n ? HUGE_VAL : t->time_s[at->row] - at->clock_s;
        if (duration > sleep_ms / 1000.0) {
            at->clock_s += sleep_ms / 1000.0;
            return sleep_ms;
        }
        sleep_ms -= duration * 1000.0;
        next_row(at, t, w->cfg.wrap);
    }
}

static inline double positive(double x)
{
    return x > 0.0 ? x : 0.0;
}

/* The chunk arrived at `level` after delay_ms: drains the buffer, adds the chunk, sleeps if needed. */
static inline void arrive(struct emu *m, struct place at, int level, double delay_ms,
                          double copy_ms, struct emu_result *out)
{
    const struct emu_world *w = m->world;
    const struct video *video = w->video;
    int64_t bytes = video_chunk(video, m->chunk)[level];
    double stall_ms = positive(delay_ms - m->buffer_ms);
    double buffer_ms = positive(m->buffer_ms - delay_ms);
    buffer_ms += video->chunk_s * 1000.0;

    double sleep_ms = 0.0, limit_ms = w->cfg.buffer_max_s * 1000.0;
    if (buffer_ms > limit_ms) {
        double quantum_ms = w->cfg.drain_s * 1000.0;
        sleep_ms = ceil((buffer_ms - limit_ms) / quantum_ms) * quantum_ms;
        buffer_ms -= sleep_ms;
        sleep_ms = sleep_through(&at, w, sleep_ms);
    }

    m->row = at.row;
    m->clock_s = at.clock_s;
    m->buffer_ms = buffer_ms;
    m->chunk++;

    out->delay_ms = delay_ms;
    out->copy_ms = copy_ms;
    out->level = level;
    out->sleep_ms = sleep_ms;
    out->buffer_s = buffer_ms / 1000.0;
    out->rebuffer_s = stall_ms / 1000.0;
    out->bytes = bytes;
    out->remain = video->chunks - m->chunk;
    out->end = out->remain == 0;
    if (out->end) {
        m->chunk = 0;
        m->buffer_ms = 0.0;
    }
}

/* RTT included, noise applied. */
static inline double emu_fetch(struct place *at, const struct emu *m, int level,
                               double noise)
{
    const struct emu_world *w = m->world;
    assert(level >= 0 && level < w->video->levels);
    int64_t bytes = video_chunk(w->video, m->chunk)[level];
    double delay_ms = download(at, w, (double)bytes) * 1000.0;
    delay_ms += w->cfg.rtt_s * 1000.0;
    return delay_ms * noise;
}

void emu_step(struct emu *m, int level, double noise, struct emu_result *out)
{
    struct place at = {m->row, m->clock_s};
    double delay_ms = emu_fetch(&at, m, level, noise);
    arrive(m, at, level, delay_ms, delay_ms, out);
}

void emu_step_watched(struct emu *m, int level, double noise,
                      const struct emu_watch *watch, struct emu_result *out)
{
    struct place at = {m->row, m->clock_s};
    int wanted = level;
    double lost_s = watch_chunk(&at, m, &level, watch);
    double copy_ms = emu_fetch(&at, m, level, noise), delay_ms = copy_ms;
    if (level != wanted) delay_ms += (lost_s + m->world->cfg.rtt_s) * 1000.0 * noise;
    arrive(m, at, level, delay_ms, copy_ms, out);
}
