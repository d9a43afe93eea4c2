/* task.h - linear tasks of continual learning: truths, feature signals, a round's data.
 *
 *   y = X^T w_n,  X = [beta v_n, x_2, ..., x_s],  x_i ~ N(0, sigma_t^2 I_d),  v_n = scale w_n
 *   w <- w + X (X^T X)^-1 (y - X^T w) = w + P (w_n - w),  P the projector on span X
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", the data steps 1-4
 * and the expert's update; the same in the mobile-edge part (Definition 1, Lemma 2, p for d).
 * Truths: a cluster's centre has elements N(0, sigma0^2), sigma0 a standard deviation; a member
 * adds elements N(0, (within sigma0^2)^2), as members shall differ by O(sigma0^2).
 * Where the source is silent: beta ~ Unif(0, 1]. The signal is always the first column, since neither
 * the gate's sum of samples nor the projector depends on their order.
 *
 * P is applied through an orthonormal basis of X (modified Gram-Schmidt, repeated where much cancels),
 * so a short beta v_n loses no precision. Without signal all s columns are Gaussian, as the closed
 * forms of exact.h assume.
 *
 * Shapes: vectors (d), basis (s, d) by rows. Threads: pure functions of their streams. */
#ifndef LAB_TASK_H
#define LAB_TASK_H

#include "base/rng.h"

#include <stdbool.h>

#define TASK_DIM 16  /* d at most */
#define TASK_POOL 16 /* truths at most */

struct task_cfg {
    int d, s;            /* dimension, samples per round; 1 <= s < d */
    int tasks, clusters; /* truths of the pool, spread evenly over the clusters */
    double sigma0;       /* standard deviation of a centre's elements */
    double within;  /* members: standard deviation within * sigma0^2 around the centre */
    double sigma_t; /* standard deviation of the Gaussian samples */
    double scale;   /* v = scale * w */
    bool signal;    /* is beta v one of the samples? */
};

struct task_pool {
    double w[TASK_POOL][TASK_DIM];
    int cluster[TASK_POOL];
};

void task_pool_draw(struct task_pool *p, const struct task_cfg *c, struct rng *r);

/* One member of a cluster around `centre`, for pools without an end. */
void task_member(double *w, const double *centre, const struct task_cfg *c,
                 struct rng *r);

struct task_data {
    double sum[TASK_DIM];             /* sum of the samples: what the gate sees */
    double basis[TASK_DIM][TASK_DIM]; /* orthonormal, s rows: what the expert sees */
};

void task_draw(struct task_data *x, const struct task_cfg *c, const double *truth,
               struct rng *r);

/* The minimum-norm update of w towards `truth`; returns ||w_t - w_(t-1)||_2. */
double task_learn(double *w, const struct task_cfg *c, const struct task_data *x,
                  const double *truth);

double task_dot(const double *a, const double *b, int d);
double task_distance2(const double *a, const double *b, int d); /* ||a - b||_2^2 */

#endif
