/* env.h - the interface of environments, implemented by abr/train/abr_env.c.
 *
 * An environment writes an observation (obs_dim floats), a mask of legal actions and a tag, which
 * names the reward function (advantages may be normalised per tag). It may also write a privileged
 * observation (priv_dim floats): data that only a simulator has, for the critic during training and
 * never for the actor. A step takes an action and gives a reward.
 *
 * done: the episode has ended and its value is 0. truncated: it was cut, and its value is bootstrapped
 * from the final observation. After either the caller resets.
 *
 * peek: the result of step for an action, random draws included, without changing the environment.
 * NULL if not possible.
 *
 * state_*: everything that later steps depend on, as bytes of a fixed size. Another environment of the
 * same kind with this state continues exactly as the first. Resumed training needs it. state_size 0:
 * not possible.
 *
 * Determinism: the randomness depends only on the (seed, id) of the environment and on its actions.
 * Threads: one environment belongs to one thread at a time. */
#ifndef LEARN_ENV_H
#define LEARN_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env_spec {
    int obs_dim, priv_dim, actions, tags;
};

struct env_out {
    float *obs;  /* (obs_dim), written */
    float *priv; /* (priv_dim), written; NULL when priv_dim is 0 */
    uint32_t mask;
    int tag; /* 0 .. tags-1 */
    float reward;
    bool done, truncated;
};

struct env {
    void *self;
    struct env_spec spec;
    void (*reset)(void *self, struct env_out *out); /* obs, priv, mask, tag */
    void (*step)(void *self, int action, struct env_out *out);
    void (*peek)(const void *self, int action, struct env_out *out);
    int (*advise)(void *self); /* the action of a known algorithm; NULL: none */
    size_t state_size;
    void (*state_get)(const void *self, void *out);
    void (*state_put)(void *self, const void *in);
    void (*free)(void *self);
};

#endif
