/* env.h - what the learner asks of a world: the interface that abr/abr_env.c implements.
 *
 * An environment writes an observation (obs_dim floats), optionally a privileged
 * observation (priv_dim floats; what only a simulator can know, seen by the training-time
 * critic and never by the actor), a mask of legal actions and a tag (which reward
 * function is in force: advantages may be normalised per tag). It is stepped with an
 * action and gives a reward.
 *
 * done: the episode is over and its value is 0. truncated: it was cut, so the value of
 * the final observation is bootstrapped. After either the caller resets.
 *
 * peek: what step would give for an action, random draws included; the environment stays as it
 * is. NULL if the environment cannot do that.
 *
 * state_*: everything that the next steps depend on, as bytes of a fixed size. Another environment
 * of the same kind that takes them goes on exactly as the first would. Resumed training needs it;
 * state_size 0: not possible.
 *
 * Determinism: an environment's randomness depends only on the (seed, id) it was made
 * with and on the actions it got. Threads: one environment belongs to one thread at a
 * time. */
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
    int (*advise)(void *self); /* what a known algorithm would do now; NULL: none */
    size_t state_size;
    void (*state_get)(const void *self, void *out);
    void (*state_put)(void *self, const void *in);
    void (*free)(void *self);
};

#endif
