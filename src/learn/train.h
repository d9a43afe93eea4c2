/* train.h - the training loop: rollouts and updates until the steps are used up.
 *
 * Learning rate and entropy coefficient move from their start (ppo_cfg) to their end as
 * the steps are used up, and so does the weight of imitation, in a straight line. One call
 * to train_iterate is one rollout and one update, so the caller can show progress, save, or
 * stop between any two.
 *
 * Privileged critic (learn/priv_critic.h): advantages come from a critic that also sees the environment's
 * privileged observation. The policy's own critic learns the same returns, as online learning has
 * no other. The privileged critic is part of the training state only.
 *
 * Gates that latch (policy/gate.h) get no router noise from then on; flags and latches are part
 * of the state.
 *
 * Resuming: train_state_put into a loop of the same configuration, environments and
 * policy weights goes on bit for bit as if it had not been interrupted.
 *
 * Ownership: the policy is borrowed and written. Errors: ERR_NUMERIC when an update was not
 * finite; ERR_CORRUPT for a state of another configuration. Threads: not shared; results do
 * not depend on rollout.threads or ppo.threads. */
#ifndef LEARN_TRAIN_H
#define LEARN_TRAIN_H

#include "learn/rollout.h"

enum train_schedule { TRAIN_CONSTANT, TRAIN_LINEAR, TRAIN_GEOMETRIC };

struct train_cfg {
    struct ppo_cfg ppo;
    struct rollout_cfg rollout; /* seed is taken from below */
    int64_t steps;
    enum train_schedule schedule;
    double lr_end, entropy_end; /* critic_lr falls by the same share as lr */
    double imitate_end; /* from ppo.imitate; without rollout.teachers neither counts */
    bool privileged;
    int priv_hidden, priv_layers;
    uint64_t seed;
};

#define TRAIN_PROBE 1000 /* states of the first rollout whose routes are watched */

struct train_row {
    int64_t iteration, steps; /* after this iteration */
    double
        rerouted[2]; /* share of the probe's states that the update sent to another expert
                         * of actor and critic */
    double lr, entropy;
    struct ppo_stats ppo;
    struct rollout_stats rollout;
};

struct train;

struct train *train_new(const struct train_cfg *cfg, struct policy *policy,
                        struct env (*make)(void *ctx, uint64_t id, struct err *e),
                        void *ctx, struct err *e);
void train_free(struct train *t);

bool train_done(const struct train *t);
int64_t train_steps(const struct train *t);
int train_iterate(struct train *t, struct train_row *row)
    __attribute__((warn_unused_result));

const struct gate *train_gate(const struct train *t, enum ppo_which which);

/* Size depends only on the configuration. */
size_t train_state_size(const struct train *t);
void train_state_get(const struct train *t, void *out);
int train_state_put(struct train *t, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
