/* inject.h - plasticity noise, added after each optimiser step.
 *
 *   w <- w + scale * eps,   eps ~ N(0, 1) for every parameter
 *
 * Source: PA-MoE Eq. 11 with scale = learning rate * gamma, on the experts that were
 * chosen. It is added to the weights after the Adam step, because Adam would rescale noise in the
 * gradient.
 *
 * inject_noise takes one number from r for any n and derives the draws from it (nn/simd/kern.h). The
 * noise changes every parameter at every step, so a draw must be cheaper than the parameter's share of
 * the gradient.
 *
 * inject_normal draws one number at a time, by a ziggurat (Marsaglia and Tsang 2000, 128
 * layers), for scalar recursions.
 *
 * Threads: struct inject is read-only after inject_init. */
#ifndef LEARN_INJECT_H
#define LEARN_INJECT_H

#include "base/rng.h"

#include <stddef.h>

#define INJECT_LAYERS 128

struct inject {
    double edge[INJECT_LAYERS + 1]; /* right edges, widest first; the last is 0 */
    double ratio[INJECT_LAYERS]; /* edge[i + 1] / edge[i]: below it a draw is accepted */
};

void inject_init(struct inject *z);
double inject_normal(const struct inject *z, struct rng *r);
void inject_noise(float *w, size_t n, double scale, struct rng *r);

#endif
