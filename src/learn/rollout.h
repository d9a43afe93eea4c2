/* rollout.h - steps many environments with one policy: the data of PPO.
 *
 * Environments form fixed blocks. The policy decides for all environments of a block at once. Threads
 * take whole blocks, so the steps do not depend on the number of threads.
 *
 * Every environment draws its actions (and router noise) from its own stream. The steps of environment
 * i are rows i*steps .. of the arrays, in time order. A trajectory that is cut by the episode's limit
 * or the rollout's end is bootstrapped with the critic.
 *
 * cfg.peek adds advantages of other likely actions to the batch (ppo.h: q). They are those of one step
 * (env.h: peek), or of cfg.branch steps: then each tried action is followed by the policy's best actions in
 * a copy of the environment, with the same random draws for all of them,
 *   q(s,a) = sum_{h < branch} gamma^h r_h + gamma^branch V(s_branch) - V(s)
 * If only one action is tried, it is not followed, since there is nothing to compare it with.
 * The luck that all actions share cancels. q replaces the lambda-return.
 * cfg.teachers adds the teachers' probabilities in the visited states (ppo.h: shown). cfg.advice adds
 * the environment's advice: the advised action gets this probability, the others share the rest.
 *
 * Ownership: environments are taken. The arrays of rollout_batch are borrowed until the next
 * rollout_collect. Threads: not shared. */
#ifndef LEARN_ROLLOUT_H
#define LEARN_ROLLOUT_H

#include "learn/env.h"
#include "learn/ppo.h"
#include "learn/teach.h"

struct rollout_cfg {
    int envs, steps, block; /* environments, steps of each per collect, per block */
    int threads;
    double router_noise; /* std of z */
    double peek;         /* actions at least this likely are tried, too; 0: none */
    int branch;    /* steps that each tried action is followed for; at most 1: one */
    double advice; /* 0: none; not with teachers */
    uint64_t seed;
    struct teachers teachers; /* borrowed; n = 0: none */
};

#define ROLLOUT_TAGS 40

/* Rewards per tag in the last rollout_collect. */
struct rollout_stats {
    double reward[ROLLOUT_TAGS]; /* mean per step */
    int steps[ROLLOUT_TAGS];
    int episodes;
};

struct rollout;

/* make returns the environment number `id`, or a struct with self NULL and e filled. All
 * have the same spec. priv_critic: the critic that gives the values, NULL = the
 * policy's own. */
struct rollout *rollout_new(const struct rollout_cfg *cfg, const struct policy *policy,
                            const struct priv_critic *priv_critic,
                            struct env (*make)(void *ctx, uint64_t id, struct err *e),
                            void *ctx, struct err *e);
void rollout_free(struct rollout *r);

/* Sets the router noise of actor and critic: cfg.router_noise or 0. */
void rollout_set_router_noise(struct rollout *r, double actor, double critic);

/* Steps every environment cfg.steps times, then values and advantages. */
void rollout_collect(struct rollout *r, double gamma, double lambda,
                     struct rollout_stats *stats);
void rollout_batch(const struct rollout *r, struct ppo_batch *out);

/* 0: the environments have no state. */
size_t rollout_state_size(const struct rollout *r);
void rollout_state_get(const struct rollout *r, void *out);
void rollout_state_put(struct rollout *r, const void *in);

#endif
