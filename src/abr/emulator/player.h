/* player.h - one emulated viewer: the emulator on one side, a view on the other.
 *
 * Keeps the view (history, buffer, last level, next sizes) in step with the emulator, and
 * adds up what the viewer experienced. Policies, training, evaluation and `abrd emulate`
 * all drive viewers through this module, so that they measure the same thing.
 *
 * Threads: not shared, one per thread; no allocation. */
#ifndef ABR_PLAYER_H
#define ABR_PLAYER_H

#include "abr/emulator/emu.h"
#include "abr/emulator/view.h"

struct player {
    struct emu emu;
    struct view view;         /* what the next decision may know */
    struct qoe_parts last;    /* of the last chunk */
    struct emu_result result; /* likewise */
};

/* first_chunk < 0: nothing fetched yet, the policy chooses chunk 0. Otherwise chunk 0 is
 * fetched at that level during the start, as the peers' test code does (level 1), and the
 * view stands before chunk 1. */
void player_start(struct player *p, const struct emu_world *world, int start_row,
                  const struct qoe *qoe, int first_level);

/* Fetches view.chunk at `level`; with cfg.abandon it may come at another (result.level), which the
 * view, last and the reward are then of, with the time of both copies as the chunk's. True when that was the last chunk: then view.chunk equals
 * view.chunks, next_bytes shows chunk 0 (as Pensieve's simulator does), view.buffer_s what
 * was left, and the next call must be player_start. */
bool player_step(struct player *p, int level, double noise);

#endif
