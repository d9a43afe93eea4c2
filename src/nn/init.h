/* init.h - initial weights.
 *
 * Orthogonal: the Q of the QR decomposition of a Gaussian matrix, whose R has a positive diagonal,
 * times gain. W W^T = gain^2 I when rows <= cols, else W^T W = gain^2 I. Computed in place by
 * Gram-Schmidt with two projections per vector and sums in double, exact to float rounding.
 *
 * Uniform: U(-bound, bound).
 *
 * Source of the orthogonal weights: Saxe et al. 2014.
 * Threads: pure functions (of the stream). */
#ifndef NN_INIT_H
#define NN_INIT_H

#include "base/rng.h"

#include <stddef.h>

void init_orthogonal(float *w, int rows, int cols, float gain, struct rng *r);
void init_normal(float *w, size_t n, float std, struct rng *r);
void init_uniform(float *w, size_t n, float bound, struct rng *r);

#endif
