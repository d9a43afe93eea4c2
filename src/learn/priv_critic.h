/* priv_critic.h - a privileged critic, with inputs that the actor does not have; used only in training.
 *
 *   V(s, x, tag) = std_tag y_tag(s, x) + mean_tag
 *
 * s the observation, x data that only a simulator has (env.h: priv), y one output per tag. Each tag has
 * its own running mean and deviation of returns, so small and large rewards have equal weight (after
 * PopArt, van Hasselt et al. 2016, without its correction of the head).
 *
 * Source: the asymmetric actor-critic of Pinto et al., RSS 2018.
 * Ownership: owns its network. Threads: const struct priv_critic is shared read-only. */
#ifndef LEARN_PRIV_CRITIC_H
#define LEARN_PRIV_CRITIC_H

#include "policy/mix.h"

#define PRIV_CRITIC_TAGS 40
#define PRIV_CRITIC_HORIZON 200.0 /* time constant of the moments, in batches */

/* Running first and second moment: a plain mean at first, then an exponential one. */
struct priv_critic_scale {
    double batches, mean, square;
};

struct priv_critic {
    int obs_dim, priv_dim, tags;
    struct mix *mix; /* (obs_dim + priv_dim) -> tags */
    struct priv_critic_scale scale[PRIV_CRITIC_TAGS];
};

struct priv_critic_cfg {
    int obs_dim, priv_dim, tags, hidden, layers;
};

struct priv_critic *priv_critic_new(const struct priv_critic_cfg *cfg, uint64_t seed,
                                    struct err *e);
void priv_critic_free(struct priv_critic *t);

float priv_critic_mean(const struct priv_critic *t, int tag);
float priv_critic_std(const struct priv_critic *t, int tag);

/* Adds the returns of n steps to the moments of their tags. */
void priv_critic_observe(struct priv_critic *t, const float *returns, const int *tag,
                         int n);

/* Adds a batch; nothing if n = 0. */
void priv_critic_scale_add(struct priv_critic_scale *s, double sum, double square, int n);
double priv_critic_scale_std(const struct priv_critic_scale *s);

#endif
