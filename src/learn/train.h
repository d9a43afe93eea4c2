/* train.h - the training loop: rollouts and updates for a number of steps.
 *
 * Learning rate, entropy coefficient and the weight of imitation (linear) move from their start
 * (ppo_cfg) to their end during the steps. train_iterate makes one rollout and one update, so the
 * caller can show progress, save or stop after any iteration.
 *
 * Privileged critic (learn/priv_critic.h): it gives the advantages. The policy's own critic learns the
 * same returns, as online learning has no other. The privileged critic is part of the training state
 * only.
 *
 * A latched gate (policy/gate.h) gets no router noise; flags and latches are part of the state.
 *
 * Resuming: train_state_put into a loop of the same configuration, environments and policy weights
 * continues bit for bit as without the interruption.
 *
 * Errors: ERR_NUMERIC if an update was not finite; ERR_CORRUPT for a state of another configuration.
 * Ownership: the policy is borrowed and written. Threads: not shared; results do not depend on
 * rollout.threads or ppo.threads. */
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
    double imitate_end;         /* from ppo.imitate; both need rollout.teachers */
    bool privileged;
    int priv_hidden, priv_layers;
    uint64_t seed;
};

#define TRAIN_PROBE 1000 /* states of the first rollout whose routes are compared */

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
