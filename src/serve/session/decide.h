/* decide.h - from a view to a verdict: observation, weights, and a repeatable draw.
 *
 * The draw is a pure function of (seed or secret, session key, chunk). So an answer does not depend on
 * the worker, and is the same after a restart and in process.
 *
 * Threads: a struct decider belongs to one thread; deciding allocates nothing. */
#ifndef SERVE_DECIDE_H
#define SERVE_DECIDE_H

#include "base/siphash.h"
#include "abr/emulator/feat.h"
#include "policy/packed.h"
#include "serve/session/track.h"

struct decider {
    enum feat_layout layout;
    float obs[FEAT_DIM_MAX];
};

/* The observation layout of a policy. ERR_INVALID: the policy was not made for video. */
int decide_layout(enum feat_layout *out, const struct policy_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

int decide_init(struct decider *d, const struct policy_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* Whether the policy can decide for a ladder with this number of levels. With FEAT_LEVELS actions it can
 * for any ladder (abr/deciders/window.h). */
bool decide_serves(const struct policy_cfg *cfg, int levels);

/* Uniform in [0, 1), keyed by a secret (base/siphash.h): nobody can predict a draw from session keys and
 * many answers. counter: the chunk; UINT64_MAX: whether the session explores. */
double decide_secret_draw(const uint8_t secret[SIPHASH_KEY], uint64_t key,
                          uint64_t counter);
/* Without a secret: true if the session with this key explores. */
bool decide_explores(uint64_t seed, uint64_t key, double share);
/* Without a secret: uniform in [0, 1) for one chunk of one session. */
double decide_draw(uint64_t seed, uint64_t key, int chunk);

/* u < 0: the best action, by the policy's own forecast if it has one (abr/deciders/forecast_own.h). Sessions
 * that explore have the shipped forecast, so that the learner's replay gives the same observation. False if
 * the weights' output is not finite: then the lowest level, not sampled, expert -1. */
bool decide(struct verdict *out, const struct packed *s, struct decider *d,
            const struct view *v, double u);
/* The best action as it is served to a viewer when nothing was seen of others: with a ceiling's caution
 * (abr/deciders/caution.h). For exams. */
bool decide_cautious(struct verdict *out, const struct packed *s, struct decider *d,
                     const struct view *v);

#endif
