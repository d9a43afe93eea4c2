/* buffer.h - whole trajectories, flattened, until there are enough to learn from.
 *
 * What learn/online keeps between two updates: the steps of closed trajectories one after the
 * other, then values, advantages and targets (learn/gae.h) of all of them, as the batch
 * that PPO reads. The observation behind a trajectory that was cut is kept for its value.
 *
 * Errors: ERR_MEMORY, ERR_FULL. Ownership: arrays of buffer_batch are borrowed until the next
 * buffer_add or buffer_clear. Threads: not shared. No allocation after buffer_new. */
#ifndef LEARN_BUFFER_H
#define LEARN_BUFFER_H

#include "learn/online.h"

#define BUFFER_ROWS 256 /* observations valued at once, at most */

struct buffer;

struct buffer *buffer_new(int capacity, int obs_dim, struct err *e);
void buffer_free(struct buffer *b);

/* 0, or ERR_FULL: not taken. */
int buffer_add(struct buffer *b, const struct online_trajectory *t);
int buffer_steps(const struct buffer *b);
void buffer_clear(struct buffer *b);

/* Advantages and targets of all steps. value: V of n <= BUFFER_ROWS observations (n, obs_dim),
 * in reward units. */
void buffer_advantages(struct buffer *b,
                       void (*value)(void *ctx, float *v, const float *obs, int n),
                       void *ctx, double gamma, double lambda);
/* Bounds the weight of single samples (learn/bound.h); after buffer_advantages. Returns how many were
 * cut. */
int buffer_bound(struct buffer *b, double sigmas);
/* Steps of this client. */
int buffer_client(const struct buffer *b, uint64_t client);
/* Of a buffer that is settled and not empty. */
void buffer_batch(struct ppo_batch *out, const struct buffer *b);

#endif
