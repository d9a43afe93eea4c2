/* guard.h - which levels a decision may take: all, or those that a short buffer can bear.
 *
 * A viewer to whom stalls are the worst, behind a buffer that holds little, is offered the levels
 * k that leave a second of media in the buffer when the link carries nine tenths of what it
 * carried last:
 *
 *   8e-3 S_k <= .9 C (B - 1)
 *
 * S_k size of the next chunk at level k [bytes], C throughput of the last chunk [kbit/s], B media
 * in the buffer [s]; level 0 always. That is when mu_stall is at least five times each of the
 * other weights, the player holds at most 12 s and a chunk was measured; else all levels are
 * offered. The four constants were chosen on training traces alone (deploy/policy/README.md).
 *
 * Policies are trained without it (feat_mask). Where a distribution is drawn from and where the
 * draw is learned from, the offer is the same: it is a function of the view alone.
 *
 * Threads: pure function. */
#ifndef ABR_GUARD_H
#define ABR_GUARD_H

#include <stdint.h>

#include "abr/emulator/view.h"

/* Bit k set: level k may be taken. Never without level 0. */
uint32_t guard_levels(const struct view *v);

/* For who takes the best level and does not explore: the same, but when nothing of the link was
 * measured yet the one level that first_level.h begins with. Who explores chooses it himself, so that a
 * daemon can learn what its viewers' links are like. */
uint32_t guard_greedy(const struct view *v);

#endif
