/* guard.h - the levels that a decision may take.
 *
 * A profile may have a ceiling of its stalls (qoe.h: stall_ratio_max). Then levels are withheld whose
 * chunk would outlast the buffer on a link that disappoints:
 *
 *   8e-3 S_k / c > B,   c = n_1 exp(- margin)
 *
 * S_k size of the next chunk at level k [bytes], B media in the buffer [s], n_1 a low quantile of
 * the forecast [kbit/s] (forecast.h: one download in 6 is slower). margin is that of the view. It
 * is 0 as shipped. A daemon that sees more or fewer slower downloads than one in 6 changes it (caution.h).
 *
 * Without a ceiling the guard acts for viewers to whom stalls matter most and whose player holds
 * little: mu_stall is at least five times each of the other weights, the player holds at most 12 s, and
 * a chunk was measured. They are offered the levels k that leave a second of media in the buffer when
 * the link carries nine tenths of what it carried last:
 *
 *   8e-3 S_k <= 0.9 C (B - 1)
 *
 * C throughput of the last chunk [kbit/s]. Level 0 is always offered. The constants were chosen on
 * training traces alone (deploy/policy/README.md).
 *
 * A level is drawn and learned from under the same offer, since the offer is a function of the view
 * alone. Sessions that explore have margin 0, so that the learner's replay gives the same offer.
 *
 * Threads: pure function. */
#ifndef ABR_GUARD_H
#define ABR_GUARD_H

#include <stdint.h>

#include "abr/emulator/view.h"

#define GUARD_QUANTILE 1

/* Bit k set: level k may be taken. Never without level 0. */
uint32_t guard_levels(const struct view *v);

/* For sessions that do not explore: the same, but the one level of first_level.h when nothing of the
 * link was measured. A session that explores draws its first level, so that a daemon can learn what
 * the links of its viewers are like. */
uint32_t guard_greedy(const struct view *v);

#endif
