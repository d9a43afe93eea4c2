/* toy_env.h - the smallest environment that can be learned, for tests of the learner.
 *
 * A context 0 .. 2 is shown one-hot (and a fourth entry of 1); the action that names it
 * earns `scale`, any other 0. Action 3 exists but is masked. Even ids end after 7 steps,
 * odd ids are cut there. Tag: 1 for context 2, else 0. Privileged: the context as a
 * number, and how many steps are left. Advice: the action that earns. */
#ifndef TEST_TOY_ENV_H
#define TEST_TOY_ENV_H

#include "learn/env.h"

#include "base/err.h"
#include "base/rng.h"
#include "policy/policy.h"
#include "learn/online.h"

#define TOY_OBS 4
#define TOY_PRIV 2
#define TOY_ACTIONS 4
#define TOY_LONGEST 7 /* steps of an episode */

/* ctx: const float * scale, or NULL for 1; the signature that rollout_new takes */
struct env toy_env_make(void *ctx, uint64_t id, struct err *e);

/* A viewer of this world, who plays one episode after the other. */
struct toy_viewer {
    struct env env;
    struct rng rng;
    float obs[(TOY_LONGEST + 1) * TOY_OBS], logp[TOY_LONGEST], reward[TOY_LONGEST];
    uint32_t mask[TOY_LONGEST];
    int action[TOY_LONGEST];
};

void toy_viewer_init(struct toy_viewer *v, uint64_t id);
void toy_viewer_release(struct toy_viewer *v);

/* u: uniform, what is sampled with; 0 or a failure, which fails the test */
typedef int toy_decide(void *ctx, struct policy_choice *out, const float *obs,
                       uint32_t mask, double u);

/* One episode, good until the next; what it was decided by has that version. */
struct online_trajectory toy_watch(struct toy_viewer *v, toy_decide *decide, void *ctx,
                                   uint64_t version);
double toy_sum(const struct online_trajectory *t); /* of its rewards */

#endif
