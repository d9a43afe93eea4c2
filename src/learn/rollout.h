/* rollout.h - many environments stepped with one policy: the steps PPO learns from.
 *
 * Environments form fixed blocks; the policy decides for all environments of a block at once.
 * Threads take whole blocks, so the steps do not depend on the number of threads.
 *
 * Every environment draws its actions (and router noise) from its own stream. The steps
 * of environment i are rows i*steps .. of the arrays, in time order. A trajectory that an
 * episode's limit or the rollout's end cuts is bootstrapped with the critic.
 *
 * With cfg.peek the environments say what the other likely actions would have given (env.h:
 * peek). The batch has that as one-step advantages (ppo.h: q). With cfg.teachers the batch has what
 * the teachers would do in the states visited (ppo.h: shown). With cfg.advice it has what the
 * environment advises: that action gets this probability, and the others share the rest.
 *
 * Ownership: rollout takes the environments and frees them. The arrays of rollout_batch
 * are borrowed until the next rollout_collect. Threads: not shared. */
#ifndef LEARN_ROLLOUT_H
#define LEARN_ROLLOUT_H

#include "learn/env.h"
#include "learn/ppo.h"
#include "learn/teach.h"

struct rollout_cfg {
    int envs, steps, block; /* environments, steps of each per collect, per block */
    int threads;
    double router_noise; /* std of z */
    double peek;         /* actions at least so likely are tried as well, 0 = none */
    double advice;       /* 0 = not asked for; not with teachers */
    uint64_t seed;
    struct teachers teachers; /* borrowed; n = 0: none */
};

#define ROLLOUT_TAGS 24

/* What was earned per tag since the last collect began. */
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

/* Router noise from now on, of what acts and of the critic: cfg.router_noise or 0. */
void rollout_set_router_noise(struct rollout *r, double actor, double critic);

/* Steps every environment cfg.steps times, then values and advantages. */
void rollout_collect(struct rollout *r, double gamma, double lambda,
                     struct rollout_stats *stats);
void rollout_batch(const struct rollout *r, struct ppo_batch *out);

/* 0 when the environments cannot be saved. */
size_t rollout_state_size(const struct rollout *r);
void rollout_state_get(const struct rollout *r, void *out);
void rollout_state_put(struct rollout *r, const void *in);

#endif
