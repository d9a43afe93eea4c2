/* emu.h - a player on a trace-driven link, one chunk at a time.
 *
 * Equals Pensieve's simulator bit for bit with the default configuration. Bytes are taken from the
 * trace slot by slot, mbps * 1e6 / 8 * payload per second. Each chunk costs one RTT. The buffer drains
 * while the chunk arrives and gains chunk_s. Above buffer_max_s the player sleeps in quanta of
 * drain_s.
 *
 * Quirks of the original (see test/golden): the reported sleep is the remainder in the last slot,
 * while the buffer falls by the full amount. The whole download of the first chunk counts as stall.
 * The trace's clock stands still during the RTT, and noise does not change it. At the trace's end the
 * clock wraps to row 1.
 *
 * Source: Mao et al., SIGCOMM 2017.
 * Units: milliseconds inside, as in the original, since bit-exactness depends on the order of the
 * operations. Compile with -ffp-contract=off.
 * Ownership: emu_step allocates nothing.
 * Threads: `const struct emu_world` is shared by any threads; `struct emu` belongs to one. */
#ifndef ABR_EMU_H
#define ABR_EMU_H

#include "abr/traces/trace.h"
#include "abr/manifests/video.h"

#include <stdbool.h>

enum emu_wrap {
    EMU_WRAP_ZERO,  /* last time = 0 after the wrap: Pensieve */
    EMU_WRAP_FIRST, /* last time = time_s[0]: the PA-MoE authors' environment */
    EMU_WRAP_NONE,  /* after the trace, its last positive throughput for ever */
};

struct emu_cfg {
    /* the default, then the limits */
    double rtt_s;        /* 0.08; 0 .. 10 */
    double payload;      /* 0.95; 0.01 .. 1 */
    double buffer_max_s; /* 60; one chunk .. an hour */
    double
        drain_s; /* 0.5; 0.001 .. one chunk, so that a sleep never empties the buffer */
    double bandwidth_x; /* 1; 0.001 .. 1000; the PA-MoE authors' environment doubles it */
    enum emu_wrap wrap;
    bool abandon; /* false; the player may abandon a chunk: player.h, abandon.h */
};

struct emu_cfg emu_cfg_default(void);

/* 0, or ERR_RANGE with the setting that is outside the limits for this video. Check a world made from
 * user input once, before any emu_start. */
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
        clock_s; /* now, on the scale of trace->time_s: Pensieve's last_mahimahi_time */
    double buffer_ms;
    int chunk; /* next chunk to fetch */
};

struct emu_result {
    double delay_ms; /* download, RTT included, noise applied */
    double
        copy_ms; /* the part of the copy that arrived; equals delay_ms unless one was abandoned */
    int level; /* of the copy that arrived */
    double sleep_ms;
    double buffer_s; /* after the chunk and after the sleep */
    double rebuffer_s;
    int64_t bytes;
    bool end;   /* the video's last chunk */
    int remain; /* chunks left */
};

/* Starts at trace row start_row. Pensieve uses 1 in the deterministic environment and draws from
 * 1 .. n-1 in training. */
void emu_start(struct emu *m, const struct emu_world *world, int start_row);

/* Fetches the next chunk at `level`. noise multiplies the delay (1 = none). After the last chunk the
 * video starts again with an empty buffer, at the same place of the trace. Always returns, since every
 * trace has some throughput (trace_check). */
void emu_step(struct emu *m, int level, double noise, struct emu_result *out);

/* A watch sees a chunk while it arrives and may choose another level. The bytes that arrived are then
 * discarded, and the chunk is fetched at that level, for another RTT, without a watch. */
struct emu_watch {
    double first_s;     /* first call: this long after the first byte (> 0), */
    double first_share; /* or when this share has arrived, if that is sooner; 1: never */
    double every_s;     /* between later calls; HUGE_VAL: none */
    /* bytes: that arrived; elapsed_s: since the request; buffer_s: media in the buffer now */
    int (*level)(void *ctx, int level, double bytes, double elapsed_s, double buffer_s);
    void *ctx;
};

/* emu_step with a watch. */
void emu_step_watched(struct emu *m, int level, double noise,
                      const struct emu_watch *watch, struct emu_result *out);

#endif
