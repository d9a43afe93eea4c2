/* exam.h - how good are these weights? The same small emulated test each time.
 *
 * score = mean over profiles, traces and chunks of reward / feat_reward_scale, greedy, on 2
 * generated traces of every kind in gen_kinds and the default video, for the four built-in
 * profiles. Deterministic: the same weights score the same. The learner keeps its last
 * good weights when a new set scores clearly worse.
 *
 * The exam of a grown profile is the same emulation for that profile alone.
 *
 * Measured: 5 ms on one core with the shipped policy. Threads: not shared; no allocation after
 * exam_new. */
#ifndef SERVE_EXAM_H
#define SERVE_EXAM_H

#include "abr/emulator/qoe.h"
#include "base/err.h"
#include "policy/graft.h"

struct exam;

struct exam *exam_new(const struct policy_cfg *cfg, struct err *e);
void exam_free(struct exam *x);

/* NaN when the weights give something that is not finite. */
double exam_score(struct exam *x, const struct policy *p);

/* For the profile that values `qoe` and experts that grow on `base`, both copied. */
struct exam *exam_new_added(const struct policy *base, const struct graft_cfg *cfg,
                            const struct qoe *qoe, struct err *e);
/* g NULL: the frozen policy alone. */
double exam_score_added(struct exam *x, const struct graft *g);
/* Up to max observations (max, obs_dim) that are met in it; their number. Of a grown profile's exam
 * the first that the frozen policy meets; of the common one some of all profiles and traces, as
 * the weights of the last score meet them. */
int exam_observe(struct exam *x, float *obs, int max);

#endif
