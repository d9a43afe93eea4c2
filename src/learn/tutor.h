/* tutor.h - a privileged critic, which sees more than the actor, for training alone.
 *
 *   V(s, x, tag) = std_tag y_tag(s, x) + mean_tag
 *
 * s the observation, x what only a simulator knows (env.h: priv), y one output per tag. Each
 * tag has its own running mean and deviation of returns, so that small and large rewards weigh
 * alike (after PopArt, van Hasselt et al. 2016, without its correction of the head).
 *
 * Source: the asymmetric actor-critic of Pinto et al., RSS 2018.
 * Ownership: owns its network. Threads: const struct tutor is shared read-only. */
#ifndef LEARN_TUTOR_H
#define LEARN_TUTOR_H

#include "policy/mix.h"

#define TUTOR_TAGS 24
#define TUTOR_HORIZON 200.0 /* batches after which a moment forgets */

/* Running first and second moment: an even average at first, then one that forgets. */
struct tutor_scale {
    double batches, mean, square;
};

struct tutor {
    int obs_dim, priv_dim, tags;
    struct mix *mix; /* (obs_dim + priv_dim) -> tags */
    struct tutor_scale scale[TUTOR_TAGS];
};

struct tutor_cfg {
    int obs_dim, priv_dim, tags, hidden, layers;
};

struct tutor *tutor_new(const struct tutor_cfg *cfg, uint64_t seed, struct err *e);
void tutor_free(struct tutor *t);

float tutor_mean(const struct tutor *t, int tag);
float tutor_std(const struct tutor *t, int tag);

/* Takes the returns of n steps into the moments of their tags. */
void tutor_observe(struct tutor *t, const float *returns, const int *tag, int n);

/* One batch more in a running moment; a no-op for n = 0. */
void tutor_scale_add(struct tutor_scale *s, double sum, double square, int n);
double tutor_scale_std(const struct tutor_scale *s);

#endif
