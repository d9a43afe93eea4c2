/* rollout_priv.h - the actions that a rollout did not take, tried on the side. */
#ifndef RL_ROLLOUT_PRIV_H
#define RL_ROLLOUT_PRIV_H

#include "base/err.h"
#include "learn/env.h"

#include <stdbool.h>

/* Where the tried actions of one block's environments lead, until their values are known.
 * Rows are in the order of the trials; at[i] is the place in q that row i belongs to. */
struct rollout_peeks {
    int n;
    size_t wide;     /* floats of a row of obs, the critic's input */
    bool privileged; /* a row goes on with the privileged observation */
    float *obs, *value;
    float *priv; /* where it goes otherwise: nobody reads it */
    int *tag;
    size_t *at;
};

/* Room for every action of `envs` environments. */
int rollout_peeks_init(struct rollout_peeks *p, const struct env_spec *spec, int envs,
                       bool privileged, struct err *e);
void rollout_peeks_release(struct rollout_peeks *p);

/* Tries the action `taken` and those of probability >= least. q[at ..]: their rewards, NaN for
 * the others; where the episode goes on the next observation is kept. */
void rollout_peek(struct rollout_peeks *p, float *q, size_t at, const struct env *env,
                  const float *prob, uint32_t mask, int taken, int tag, double least);

/* q += gamma * value for the rows kept, and forgets them. */
void rollout_peeks_add(struct rollout_peeks *p, float *q, double gamma);

#endif
