/* adam.h - the Adam step over a range of a flat block of parameters.
 *
 *   g = scale * grad + weight_decay * theta    (L2, inside the moments: torch.optim.Adam)
 *   m = b1 m + (1 - b1) g,   v = b2 v + (1 - b2) g^2
 *   theta -= lr * m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
 *   theta += noise * eps_i,   eps_i ~ N(0, 1) determined by key (nn/simd/kern.h: noise)
 *
 * scale folds gradient clipping or averaging into the same pass, and noise would otherwise be a
 * second pass.
 *
 * The caller keeps m and v (0 at first) and the step number t = 1, 2, ... of each range. An expert
 * without samples can be left out: its moments and its t then do not change.
 *
 * Source: Kingma and Ba 2015, Algorithm 1.
 * Ownership: all memory is the caller's; the four arrays do not overlap.
 * Threads: pure functions; different threads may step disjoint ranges. */
#ifndef NN_ADAM_H
#define NN_ADAM_H

#include <stddef.h>
#include <stdint.h>

struct adam_cfg {
    double lr, beta1, beta2, eps, weight_decay;
    double noise; /* 0 = none */
    uint64_t key;
};

/* lr 3e-4, betas 0.9 and 0.999, eps 1e-8, no decay, no noise. */
struct adam_cfg adam_cfg_default(void);

void adam_step(float *theta, float *m, float *v, const float *grad, size_t n,
               const struct adam_cfg *cfg, int64_t t, float scale);

/* Sum of squares in double, for the gradient norm. NaN and infinity pass through. */
double adam_sumsq(const float *grad, size_t n);

#endif
