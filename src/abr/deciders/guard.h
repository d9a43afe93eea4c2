/* guard.h - the levels that a decision may take: all, or those that a short buffer can bear.
 *
 * The guard acts for viewers to whom stalls matter most and whose player holds little: mu_stall is
 * at least five times each of the other weights, the player holds at most 12 s, and a chunk was
 * measured. They are offered the levels k that leave a second of media in the buffer when the link
 * carries nine tenths of what it carried last:
 *
 *   8e-3 S_k <= 0.9 C (B - 1)
 *
 * S_k size of the next chunk at level k [bytes], C throughput of the last chunk [kbit/s], B media
 * in the buffer [s]. Level 0 is always offered. Everybody else is offered all levels. The four
 * constants were chosen on training traces alone (deploy/policy/README.md).
 *
 * Policies are trained without the guard (feat_mask). A level is drawn and learned from under the
 * same offer, since the offer is a function of the view alone.
 *
 * Threads: pure function. */
#ifndef ABR_GUARD_H
#define ABR_GUARD_H

#include <stdint.h>

#include "abr/emulator/view.h"

/* Bit k set: level k may be taken. Never without level 0. */
uint32_t guard_levels(const struct view *v);

/* For sessions that do not explore: the same, but the one level of first_level.h when nothing of the
 * link was measured. A session that explores draws its first level, so that a daemon can learn what
 * the links of its viewers are like. */
uint32_t guard_greedy(const struct view *v);

#endif
