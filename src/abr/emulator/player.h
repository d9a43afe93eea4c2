/* player.h - one emulated viewer: an emulator and the view that it fills.
 *
 * Updates the view (history, buffer, last level, next sizes) after every chunk and computes what the
 * viewer experienced. Policies, training, evaluation and `abrd emulate` all drive viewers through this
 * module, so they measure the same.
 *
 * Ownership: no allocation.
 * Threads: not shared, one per thread. */
#ifndef ABR_PLAYER_H
#define ABR_PLAYER_H

#include "abr/emulator/emu.h"
#include "abr/emulator/view.h"

struct player {
    struct emu emu;
    struct view view;      /* of the next decision */
    struct qoe_parts last; /* of the last chunk */
    struct qoe_level now,
        before; /* the last chunk and the one before it, as they were seen */
    double points[VIEW_LEVELS]; /* quality of the last chunk at each level */
    struct emu_result result;   /* of the last chunk */
};

/* first_level >= 0: chunk 0 is fetched at that level during the start, as in Pensieve's test code
 * (level 1), and the view is that before chunk 1. Otherwise the policy chooses chunk 0. */
void player_start(struct player *p, const struct emu_world *world, int start_row,
                  const struct qoe *qoe, int first_level);

/* Fetches view.chunk at `level`. With cfg.abandon it may arrive at another level (result.level). View,
 * last and reward are then of that level, with the time of both copies. True for the last chunk: then
 * view.chunk equals view.chunks, next_bytes shows chunk 0 (as Pensieve's simulator does), view.buffer_s
 * is what remained, and the next call must be player_start. */
bool player_step(struct player *p, int level, double noise);

/* The last chunk, as a viewer with other weights would have felt it, and its range for such a viewer
 * on a link that carries carried_kbps (qoe.h). */
struct qoe_parts player_felt(const struct player *p, const struct qoe *k);
struct qoe_range player_range(const struct player *p, const struct qoe *k,
                              double carried_kbps);

#endif
