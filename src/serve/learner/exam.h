/* exam.h - the exam of weights: a small fixed emulation.
 *
 * score = mean over profiles, traces and chunks of reward / feat_reward_scale, greedy and with a ceiling's
 * caution (decide_cautious), on 2 generated traces of every kind in gen_kinds and the default video. The
 * profiles are the built-in ones, or the profile of added experts. Deterministic: the same weights have
 * the same score.
 * A learner keeps its last good weights if new ones score clearly worse.
 *
 * Measured: 5 ms on one core with the shipped policy. Threads: not shared; no allocation after
 * exam_new. */
#ifndef SERVE_EXAM_H
#define SERVE_EXAM_H

#include "abr/emulator/qoe.h"
#include "base/err.h"
#include "policy/policy.h"

struct exam;

/* For policies of this configuration, with their added experts or without them. */
struct exam *exam_new(const struct policy_cfg *cfg, struct err *e);
/* The same for one profile. */
struct exam *exam_new_profile(const struct policy_cfg *cfg, const struct qoe *qoe,
                              struct err *e);
void exam_free(struct exam *x);

/* NaN: the weights give a value that is not finite. */
double exam_score(struct exam *x, const struct policy *p);

/* Up to max observations (max, obs_dim) of the emulation with the weights of the last score, evenly
 * from all profiles and traces; returns their number. */
int exam_observe(struct exam *x, float *obs, int max);

#endif
