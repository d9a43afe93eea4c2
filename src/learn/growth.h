/* growth.h - the learner of one grown profile: its trajectories in, better new experts out.
 *
 * PPO (ppo.h) on the parameters of a graft (policy/graft.h) and on nothing else:
 *
 *   L_actor  = -E[min(r A, clip(r, 1-eps, 1+eps) A)] - beta H,   r = pi/pi_old
 *   L_critic = value_coef E[(v - (R - V0) / ret_std)^2]
 *
 * pi, V0, v and ret_std as in graft.h: the frozen policy's part of every step is worked out once
 * per update. Gradients end at the new experts, so what the frozen policy decides elsewhere
 * cannot change (NoRGa, Sec. 3.2: only the prefixes are learnable). a and tau learn as long as
 * the graft says so (shape_learns).
 *
 * The rules are rl/online's: trajectories more than max_age versions of the graft old are
 * dropped; a batch that is full gives one update; weights that are not finite, or score more
 * than `tolerance` (learn/online.h) below the best kept, are rolled back with the optimiser and counted.
 *
 * Of struct online_cfg's ppo these are read: lr, critic_lr, beta1, beta2, eps, clip, entropy,
 * value_coef, gamma, lambda, max_grad_norm, target_kl, epochs, minibatch. Advantages are
 * normalised over the batch. There is no noise and no decay: new experts are young.
 *
 * State: optimiser, random streams and counters; not the graft, nor the buffered steps.
 *
 * Ownership: base is borrowed for the life of the growth, start is copied. Threads: not shared.
 * No allocation after growth_new. */
#ifndef RL_GROWTH_H
#define RL_GROWTH_H

#include "policy/graft.h"
#include "learn/online.h"

struct growth;

struct growth_stats {
    struct online_stats online;
    double share; /* mean share of the new experts over the last batch, in the actor */
};

/* start fits base. check: score of a graft on a fixed small set (higher is better), or NULL;
 * called once here, for the score of `start`, and after every update. */
struct growth *growth_new(const struct online_cfg *cfg, const struct policy *base,
                          const struct graft *start,
                          double (*check)(void *ctx, const struct graft *g), void *ctx,
                          struct err *e);
void growth_free(struct growth *g);

/* 0, or ERR_FULL (dropped, counted), ERR_CONFLICT (too old: dropped, counted). */
int growth_add(struct growth *g, const struct online_trajectory *t);
bool growth_ready(const struct growth *g);
/* 1: new weights, version raised; 0: not enough steps; ERR_NUMERIC: rolled back. */
int growth_update(struct growth *g);
/* Borrowed until the next growth_update. */
const struct graft *growth_graft(const struct growth *g);
void growth_stats(const struct growth *g, struct growth_stats *out);
/* a and tau stay as they are from now on. */
void growth_freeze_shape(struct growth *g);

/* Into a growth made from the same configuration and the graft saved with the state; scores as
 * online_state_put has them. */
size_t growth_state_size(const struct growth *g);
void growth_state_get(const struct growth *g, void *out);
int growth_state_put(struct growth *g, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
