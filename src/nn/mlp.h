/* mlp.h - a multilayer perceptron as views into a flat block of parameters.
 *
 *   h_0 = relu(W_0 x + b_0), ..., h_{L-1} = relu(W_{L-1} h_{L-2} + b_{L-1})   the trunk
 *   y = W_L h_{L-1} + b_L                                                      the head
 *
 * Layout of theta: W_0, b_0, ..., W_L, b_L, each W (fan_out, fan_in) row-major; the trunk is a prefix.
 * A gradient has the same layout.
 *
 * Shapes: x (n, in), y (n, out), h[l] (n, hidden) for l < layers.
 * Ownership: all memory is the caller's.
 * Threads: pure functions. */
#ifndef NN_MLP_H
#define NN_MLP_H

#include "base/rng.h"

#include <stddef.h>

#define MLP_LAYERS_MAX 3 /* hidden layers */

struct mlp_cfg {
    int in, hidden, layers, out;
};

/* Layer l of 0 .. layers; the last is the head. Offsets in floats. */
struct mlp_layer {
    size_t w, b;
    int in, out;
};

struct mlp_layer mlp_layer(const struct mlp_cfg *cfg, int l);
size_t mlp_size(const struct mlp_cfg *cfg);
size_t mlp_trunk_size(const struct mlp_cfg *cfg);

/* Orthogonal trunk (gain sqrt 2, which keeps the variance through ReLU), orthogonal head
 * with head_gain, biases 0. */
void mlp_init(float *theta, const struct mlp_cfg *cfg, float head_gain, struct rng *r);

/* Weights and biases of every layer U(-1/sqrt(in), 1/sqrt(in)), as PyTorch's Linear starts. */
void mlp_init_uniform(float *theta, const struct mlp_cfg *cfg, struct rng *r);

void mlp_forward(float *y, float *const *h, const struct mlp_cfg *cfg, const float *theta,
                 const float *x, int n);

/* Overwrites grad. d0, d1: scratch of n * hidden floats each. x, h as in the forward pass.
 */
void mlp_backward(float *grad, float *d0, float *d1, const struct mlp_cfg *cfg,
                  const float *theta, const float *x, float *const *h, const float *dy,
                  int n);

#endif
