/* emu.h - a player on a trace-driven link, one chunk at a time.
 *
 * Equals Pensieve's simulator (Mao et al., SIGCOMM 2017) bit for bit with the default
 * configuration: bytes are taken from the trace slot by slot at mbps*1e6/8*payload per
 * second, one RTT is charged per chunk, the buffer drains while the chunk arrives and gains
 * chunk_s, and above buffer_max_s the player sleeps in quanta of drain_s. Quirks kept (see
 * test/golden): the sleep that is reported is the remainder in the last slot while the buffer
 * falls by the full amount; the first chunk's whole download counts as stall; at the
 * trace's end the clock wraps to row 1.
 * Units inside: milliseconds, as in the original, since bit-exactness hangs on the order of
 * the operations; build with -ffp-contract=off.
 *
 * `const struct emu_world` is shared by any threads; `struct emu` belongs to one. emu_step
 * allocates nothing. */
#ifndef ABR_EMU_H
#define ABR_EMU_H

#include "abr/trace.h"
#include "abr/video.h"

#include <stdbool.h>

enum emu_wrap {
    EMU_WRAP_ZERO,  /* last time = 0 after the wrap: Pensieve */
    EMU_WRAP_FIRST, /* last time = time_s[0]: the PA-MoE authors' environment */
    EMU_WRAP_NONE,  /* the trace ends: its last row goes on for ever */
};

struct emu_cfg {
    double rtt_s;        /* .08 */
    double payload;      /* .95 */
    double buffer_max_s; /* 60 */
    double drain_s;      /* .5 */
    double bandwidth_x;  /* 1; the PA-MoE authors' environment doubles the bandwidth */
    enum emu_wrap wrap;
};

struct emu_cfg emu_cfg_default(void);

struct emu_world {
    const struct video *video; /* borrowed for the world's life */
    const struct trace *trace; /* likewise */
    struct emu_cfg cfg;
};

struct emu {
    const struct emu_world *world;
    int row;          /* trace row that the clock is in */
    double last_ms;   /* clock within the trace [s in the original's sense; see emu.c] */
    double buffer_ms;
    int chunk;        /* next chunk to fetch */
};

struct emu_result {
    double delay_ms;  /* download, RTT included, noise applied */
    double sleep_ms;
    double buffer_s;  /* after the chunk and after the sleep */
    double rebuffer_s;
    int64_t bytes;
    bool end;         /* that was the video's last chunk */
    int remain;       /* chunks left */
};

/* Start at trace row start_row (Pensieve: 1 in the deterministic environment; drawn
 * from 1 .. n-1 in the training one). */
void emu_start(struct emu *m, const struct emu_world *world, int start_row);

/* Fetches the next chunk at `level`; noise multiplies the delay (1 = none). Stepping past
 * the end begins the video anew with an empty buffer, on the same trace position. */
void emu_step(struct emu *m, int level, double noise, struct emu_result *out);

#endif
