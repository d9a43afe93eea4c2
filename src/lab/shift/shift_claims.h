/* shift_claims.h - the first table of the report: the paper claim by claim, and the checks.
 *
 * What the published curves say was read off the paper's own figures (two seeds): mean of the
 * curve MLP 1.98, PA-MoE 1.79, SMoE 1.47, MoE 1.39; PA-MoE over MoE 1.29 to 1.73 by the
 * part of the time points that is kept. Our figures are without hints; ratios and differences
 * are paired by seed, 95 % intervals by the bootstrap over seeds.
 *
 * A verdict needs at least 5 seeds; with fewer all are REPORT_UNTESTED, and of the checks only the
 * exact one is made. Claims about a preset that was not run are left out, as are checks.
 *
 * Checks (preset paper, last fifth, policy network: the one that Eq. 11 adds noise to): dormant
 * share of PA-MoE at most half of MoE's (threshold .025), effective rank at least 1.4 times, the
 * best noise of the sweep not at an end. Preset code: those of
 * lab/shift/shift_authors.h, and a router gradient of exactly 0.
 *
 * Threads: as report.h says. */
#ifndef LAB_SHIFT_CLAIMS_H
#define LAB_SHIFT_CLAIMS_H

#include "report/report.h"
#include "lab/shift/shift_stat.h"

void shift_claims(struct report *r, const struct shift_plan *p);

/* Verdict on "at least `claimed`" where `even` says that there is no effect: as claimed, the
 * same direction but less, or not. claimed < even: "at most". */
enum report_verdict shift_verdict(struct stats_interval ours, double claimed, double even,
                                  int seeds);

#endif
