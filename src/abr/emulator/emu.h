/* emu.h - a player on a trace-driven link, one chunk at a time.
 *
 * Equals Pensieve's simulator (Mao et al., SIGCOMM 2017) bit for bit with the default
 * configuration: bytes are taken from the trace slot by slot at mbps*1e6/8*payload per
 * second, one RTT is charged per chunk, the buffer drains while the chunk arrives and gains
 * chunk_s, and above buffer_max_s the player sleeps in quanta of drain_s. Quirks kept (see
 * test/golden): the sleep that is reported is the remainder in the last slot while the buffer
 * falls by the full amount; the first chunk's whole download counts as stall; the trace's
 * clock stands still during the RTT and is not touched by noise; at the trace's end the
 * clock wraps to row 1.
 * Units inside: milliseconds, as in the original, since bit-exactness hangs on the order of
 * the operations; build with -ffp-contract=off.
 *
 * `const struct emu_world` is shared by any threads; `struct emu` belongs to one. emu_step
 * allocates nothing. */
#ifndef ABR_EMU_H
#define ABR_EMU_H

#include "abr/traces/trace.h"
#include "abr/manifests/video.h"

#include <stdbool.h>

enum emu_wrap {
    EMU_WRAP_ZERO,  /* last time = 0 after the wrap: Pensieve */
    EMU_WRAP_FIRST, /* last time = time_s[0]: the PA-MoE authors' environment */
    EMU_WRAP_NONE,  /* after the trace its last positive throughput holds for ever */
};

struct emu_cfg {
    double rtt_s;        /* .08; 0 .. 10 */
    double payload;      /* .95; .01 .. 1 */
    double buffer_max_s; /* 60; from one chunk to an hour */
    double drain_s; /* .5; .001 .. one chunk, so that a sleep never empties the buffer */
    double bandwidth_x; /* 1; .001 .. 1000; the PA-MoE authors' environment doubles it */
    enum emu_wrap wrap;
    bool
        abandon; /* false; the player may abandon a chunk on its way: player.h, abandon.h */
};

struct emu_cfg emu_cfg_default(void);

/* 0, or ERR_RANGE naming the setting that is outside the limits above for this video. A
 * world made from what a user typed is checked once, before any emu_start. */
int emu_check(const struct emu_cfg *cfg, const struct video *video, struct err *e)
    __attribute__((warn_unused_result));

struct emu_world {
    const struct video *video; /* borrowed for the world's life */
    const struct trace *trace; /* likewise */
    struct emu_cfg cfg;
};

struct emu {
    const struct emu_world *world;
    int row; /* trace row that the clock is in, 1 .. n-1; n: after the trace's end */
    double
        clock_s; /* now, on the scale of trace->time_s; the original's last_mahimahi_time */
    double buffer_ms;
    int chunk; /* next chunk to fetch */
};

struct emu_result {
    double delay_ms; /* download, RTT included, noise applied */
    double copy_ms;  /* of it that of the copy that came: all, when none was abandoned */
    int level;       /* of that copy */
    double sleep_ms;
    double buffer_s; /* after the chunk and after the sleep */
    double rebuffer_s;
    int64_t bytes;
    bool end;   /* that was the video's last chunk */
    int remain; /* chunks left */
};

/* Start at trace row start_row (Pensieve: 1 in the deterministic environment; drawn
 * from 1 .. n-1 in the training one). */
void emu_start(struct emu *m, const struct emu_world *world, int start_row);

/* Fetches the next chunk at `level`; noise multiplies the delay (1 = none). Behind the last
 * chunk the video begins anew with an empty buffer, on the same trace position. Always comes
 * back: every trace has some throughput (see trace_check). */
void emu_step(struct emu *m, int level, double noise, struct emu_result *out);

/* Who looks at a chunk while it arrives and may want it at another level: then what came is thrown
 * away, and the chunk is fetched at that level, for another RTT, unwatched. */
struct emu_watch {
    double first_s;     /* after the first byte; > 0 */
    double first_share; /* or, if that is sooner, when this part has come; 1: never */
    double every_s;     /* then; HUGE_VAL: once */
    /* bytes that came, seconds since the request, media in the buffer now */
    int (*level)(void *ctx, int level, double bytes, double elapsed_s, double buffer_s);
    void *ctx;
};

/* emu_step with a watch. */
void emu_step_watched(struct emu *m, int level, double noise,
                      const struct emu_watch *watch, struct emu_result *out);

#endif
