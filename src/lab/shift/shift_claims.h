/* shift_claims.h - what the report says of the paper: claims, dormant units, the authors' code, checks.
 *
 * Claims, the first table. What the published curves say was read off the paper's own figures (two
 * seeds): mean of the curve MLP 1.98, PA-MoE 1.79, SMoE 1.47, MoE 1.39; PA-MoE over MoE 1.29 to 1.73 by
 * the part of the time points that is kept. Our numbers are without hints; ratios and differences are
 * paired by seed, 95 % intervals by the bootstrap over seeds. Claims about a preset that was not run are
 * left out, as are checks. A verdict needs at least SHIFT_SEEDS_NEEDED seeds; with fewer all are
 * REPORT_UNTESTED, and of the checks only the exact one is made.
 *
 * Checks. Preset paper, last fifth, policy network (the one that Eq. 11 adds noise to): dormant share of
 * PA-MoE at most half of MoE's (threshold 0.025), effective rank at least 1.4 times, the best noise of the
 * sweep not at an end. Preset code: a router gradient of exactly 0, and those on the authors' code.
 *
 * Dormant units. Eq. 41 names neither the threshold nor the data, and Figs. 3 and 11 show policy and value
 * networks, layers and experts. So the ratio of PA-MoE's dormant share to MoE's is reported for each
 * (preset paper, no hints, last fifth): the thresholds 0, 0.025, 0.1, 0.5 on the states that reach an
 * expert; each layer; the expert that most states reach; every expert shown every state; both networks;
 * and both trained with the weight decay of the authors' code, which the paper does not have.
 *
 * The authors' code was run once each with moe and pamoe, as preset code has it (profile coefficient 6,
 * learning rate 1e-4), and once each as it is shipped (7, 1e-3, half the steps). Compared with ours is the
 * mean QoE per chunk of a profile's segments, from the second round of profiles on, without hints; ours
 * are moe and pamoe together, as theirs were one of either. A policy freezes near one bitrate, which
 * decides its QoE, so there are two readings:
 *   spread  their value lies between the lowest and the highest of our runs. Of 6 values of the same
 *           distribution 0.57 lie outside of 20 runs on average (2 / 21 each), and three or more in 2 %
 *           of the cases: the check asks for 4 inside.
 *   frozen  the mean of those of our runs that froze at 1850 or 2850 kbit/s, as all of theirs did, lies
 *           between the lowest and the highest of their segments.
 *
 * Threads: as report.h says. */
#ifndef LAB_SHIFT_CLAIMS_H
#define LAB_SHIFT_CLAIMS_H

#include "lab/shift/shift_stat.h"
#include "report/report.h"

/* The claims, the tables on the authors' code when preset code was run, and the checks. */
void shift_claims(struct report *r, const struct shift_plan *p);

/* One table; nothing when the plan lacks moe or pamoe of preset paper. */
void shift_claims_dormant(struct report *r, const struct shift_plan *p);

#endif
