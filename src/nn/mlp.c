#include "nn/mlp.h"

#include "nn/init.h"
#include "nn/linear.h"

#include <assert.h>
#include <math.h>
#include <string.h>

struct mlp_layer mlp_layer(const struct mlp_cfg *cfg, int l)
{
    assert(l >= 0 && l <= cfg->layers && cfg->layers <= MLP_LAYERS_MAX);
    struct mlp_layer v = {0};
    size_t at = 0;
    for (int i = 0; i <= l; i++) {
        v.in = i == 0 ? cfg->in : cfg->hidden;
        v.out = i == cfg->layers ? cfg->out : cfg->hidden;
        v.w = at;
        v.b = v.w + (size_t)v.in * (size_t)v.out;
        at = v.b + (size_t)v.out;
    }
    return v;
}

size_t mlp_size(const struct mlp_cfg *cfg)
{
    struct mlp_layer head = mlp_layer(cfg, cfg->layers);
    return head.b + (size_t)head.out;
}

size_t mlp_trunk_size(const struct mlp_cfg *cfg)
{
    return mlp_layer(cfg, cfg->layers).w;
}

void mlp_init(float *theta, const struct mlp_cfg *cfg, float head_gain, struct rng *r)
{
    for (int l = 0; l <= cfg->layers; l++) {
        struct mlp_layer v = mlp_layer(cfg, l);
        init_orthogonal(theta + v.w, v.out, v.in,
                        l < cfg->layers ? sqrtf(2.0f) : head_gain, r);
        memset(theta + v.b, 0, sizeof *theta * (size_t)v.out);
    }
}

void mlp_init_uniform(float *theta, const struct mlp_cfg *cfg, struct rng *r)
{
    for (int l = 0; l <= cfg->layers; l++) {
        struct mlp_layer v = mlp_layer(cfg, l);
        size_t n = (size_t)(v.in + 1) * (size_t)v.out; /* the biases lie behind */
        init_uniform(theta + v.w, n, 1.0f / sqrtf((float)v.in), r);
    }
}

void mlp_forward(float *y, float *const *h, const struct mlp_cfg *cfg, const float *theta,
                 const float *x, int n)
{
    for (int l = 0; l <= cfg->layers; l++) {
        struct mlp_layer v = mlp_layer(cfg, l);
        const float *from = l ? h[l - 1] : x, *w = theta + v.w, *b = theta + v.b;
        if (l < cfg->layers)
            linear_forward_relu(h[l], from, w, b, n, v.in, v.out);
        else
            linear_forward(y, from, w, b, n, v.in, v.out);
    }
}

void mlp_backward(float *grad, float *d0, float *d1, const struct mlp_cfg *cfg,
                  const float *theta, const float *x, float *const *h, const float *dy,
                  int n)
{
    const float *d = dy;
    for (int l = cfg->layers; l >= 0; l--) {
        struct mlp_layer v = mlp_layer(cfg, l);
        float *below = d == d0 ? d1 : d0, *dw = grad + v.w, *db = grad + v.b;
        if (l == 0) {
            linear_backward(dw, db, NULL, d, x, theta + v.w, n, v.in, v.out);
        } else {
            linear_backward_relu(dw, db, below, d, h[l - 1], theta + v.w, n, v.in, v.out);
        }
        d = below;
    }
}
