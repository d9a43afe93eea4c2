/* exam.h - how good are these weights? The same small emulated test each time.
 *
 * score = mean over profiles, traces and chunks of reward / feat_reward_scale, greedy, on 2
 * generated traces of every kind in gen_kinds and the default video, for the four built-in
 * profiles. Deterministic: the same weights score the same. The learner keeps its last
 * good weights when a new set scores clearly worse.
 *
 * Measured: 5 ms on one core with the shipped policy. Threads: not shared; no allocation after exam_new. */
#ifndef SERVE_EXAM_H
#define SERVE_EXAM_H

#include "base/err.h"
#include "moe/policy.h"

struct exam;

struct exam *exam_new(const struct policy_cfg *cfg, struct err *e);
void exam_free(struct exam *x);

/* NaN when the weights give something that is not finite. */
double exam_score(struct exam *x, const struct policy *p);

#endif
