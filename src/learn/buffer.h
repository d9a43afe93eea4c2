/* buffer.h - whole trajectories in flat arrays, collected for the next update.
 *
 * It stores the steps of closed trajectories one after another, then the values, advantages and
 * targets (learn/gae.h) of all steps, as the batch that PPO reads. A truncated trajectory keeps its
 * last observation for its value.
 *
 * Errors: ERR_MEMORY, ERR_FULL. Ownership: arrays of buffer_batch are borrowed until the next
 * buffer_add or buffer_clear. Threads: not shared. No allocation after buffer_new. */
#ifndef LEARN_BUFFER_H
#define LEARN_BUFFER_H

#include "learn/online.h"

#define BUFFER_ROWS 256 /* most observations in one call of value */

struct buffer;

struct buffer *buffer_new(int capacity, int obs_dim, struct err *e);
void buffer_free(struct buffer *b);

/* 0, or ERR_FULL: *t was not added. */
int buffer_add(struct buffer *b, const struct online_trajectory *t);
int buffer_steps(const struct buffer *b);
/* The steps of one source weigh at most `most` steps together; source 0 is unknown and not bounded. Returns
 * the number of sources that were bounded. */
int buffer_weigh(struct buffer *b, int most);
/* After buffer_weigh: the source with the largest weighted sum of squared advantages, of those with at
 * most half of the steps; 0: none. buffer_exclude gives the steps of a source the weight 0. */
uint64_t buffer_suspect(const struct buffer *b);
void buffer_exclude(struct buffer *b, uint64_t source);
/* Room for the rows of buffer_join. */
int buffer_join_init(struct buffer *b, int actions, struct err *e)
    __attribute__((warn_unused_result));
/* Adds rows that have their advantages already, after buffer_bound; they are part of the next
 * buffer_batch only. q, prob and shown may be NULL. ERR_FULL: no room. */
int buffer_join(struct buffer *b, const struct ppo_batch *rows)
    __attribute__((warn_unused_result));
void buffer_clear(struct buffer *b);

/* Computes advantages and targets of all steps. value: V of n <= BUFFER_ROWS observations
 * (n, obs_dim), in reward units. */
void buffer_advantages(struct buffer *b,
                       void (*value)(void *ctx, float *v, const float *obs, int n),
                       void *ctx, double gamma, double lambda);
/* Limits the weight of single samples (learn/bound.h); after buffer_advantages. Returns the number
 * that were cut. */
int buffer_bound(struct buffer *b, double sigmas);
/* The number of steps of this client. */
int buffer_client(const struct buffer *b, uint64_t client);
/* After buffer_advantages, with at least one step. */
void buffer_batch(struct ppo_batch *out, const struct buffer *b);

#endif
