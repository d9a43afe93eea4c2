/* decide.h - from a view to a verdict: observation, weights, and a draw that can be
 * repeated.
 *
 * The draw is a pure function of (seed, session key, chunk), so an answer does not depend
 * on the worker that gave it, and is the same after a restart and in process.
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
    float obs[FEAT_FULL_DIM];
};

/* Which layout a policy with this observation reads, or ERR_INVALID: not made for video.
 */
int decide_layout(enum feat_layout *out, const struct policy_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

int decide_init(struct decider *d, const struct policy_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* Uniform in [0, 1) by a secret (base/siphash.h): who knows keys and many answers foretells no other
 * draw. counter: the chunk; UINT64_MAX: does the session explore? Without a secret the two below. */
double decide_secret_draw(const uint8_t secret[SIPHASH_KEY], uint64_t key,
                          uint64_t counter);
/* Does the session with this key explore? */
bool decide_explores(uint64_t seed, uint64_t key, double share);
/* Uniform in [0, 1) for one chunk of one session. */
double decide_draw(uint64_t seed, uint64_t key, int chunk);

/* u < 0: the best action. Weights whose output is not finite give the lowest level, not
 * sampled and by no expert (-1), and false. */
bool decide(struct verdict *out, const struct packed *s, struct decider *d,
            const struct view *v, double u);

#endif
