/* shift_dormant.h - how many fewer dormant units PA-MoE has, reading by reading.
 *
 * Eq. 41 of the paper names neither the threshold nor the data, its Figs. 3 and 11 show policy
 * and value networks, layers and experts. So the ratio of PA-MoE's dormant share to MoE's is told
 * for each of them (preset paper, no hints, last fifth of training):
 *   thresholds    0, .025, .1, .5 on the states that reach an expert, mean over experts, layers
 *   layers        each by itself
 *   the busiest   the expert that the most states reach, by itself
 *   all states    every expert asked about every state
 *   networks      policy, value
 *   weight decay  both trained with that of the authors' code, which the paper does not have
 *
 * Threads: as report.h says. */
#ifndef LAB_SHIFT_DORMANT_H
#define LAB_SHIFT_DORMANT_H

#include "report/report.h"
#include "lab/shift/shift_stat.h"

/* One table; nothing when the plan lacks moe or pamoe. */
void shift_dormant(struct report *r, const struct shift_plan *p);

#endif
