/* classgauss.h - a class of feature vectors remembered as one Gaussian, and drawn from again.
 *
 *   mean, covariance of n features (n - 1) + 1e-3 I;   draw: mean + L z,  L L^T = covariance
 *
 * Source: NoRGa (lab/gates/residual.h), Appendix D: G_c and its uninstructed twin stand for the data of old
 * classes, which may not be kept. The ridge is ours: features of a layer norm sum to 0, so their
 * covariance is singular.
 *
 * Shapes: x, out (n, dim). n >= 2. Threads: pure functions. */
#ifndef LAB_CLASSGAUSS_H
#define LAB_CLASSGAUSS_H

#include "base/rng.h"

#define CLASSGAUSS_DIM 64 /* at most */

struct classgauss {
    int dim;
    float mean[CLASSGAUSS_DIM];
    float root[CLASSGAUSS_DIM * CLASSGAUSS_DIM]; /* L, lower triangle, rows of dim */
};

void classgauss_fit(struct classgauss *g, const float *x, int n, int dim);
void classgauss_draw(float *out, const struct classgauss *g, int n, struct rng *r);

#endif
