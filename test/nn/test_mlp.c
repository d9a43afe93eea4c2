#include "nn/mlp.h"

#include "support/suites.h"

#include <math.h>
#include <stdlib.h>

enum { N = 6, HIDDEN = 8, WIDEST = 8 };

static double twin_loss(const struct mlp_cfg *c, const double *theta, const float *x,
                        const float *dy)
{
    double loss = 0;
    for (int i = 0; i < N; i++) {
        double a[2][WIDEST];
        const double *t = theta;
        int in = c->in;
        for (int k = 0; k < in; k++)
            a[0][k] = (double)x[i * in + k];
        for (int l = 0; l <= c->layers; l++) {
            int out = l < c->layers ? c->hidden : c->out;
            for (int j = 0; j < out; j++) {
                double sum = t[in * out + j];
                for (int k = 0; k < in; k++)
                    sum += t[j * in + k] * a[l % 2][k];
                a[(l + 1) % 2][j] = l < c->layers ? fmax(sum, 0) : sum;
            }
            t += in * out + out;
            in = out;
        }
        for (int j = 0; j < c->out; j++)
            loss += a[(c->layers + 1) % 2][j] * (double)dy[i * c->out + j];
    }
    return loss;
}

TEST(value_and_gradient_equal_the_twin)
{
    struct mlp_cfg c = {.in = 5, .hidden = HIDDEN, .layers = _i + 1, .out = 3};
    size_t n = mlp_size(&c);
    float *theta = calloc(n, sizeof *theta), *grad = calloc(n, sizeof *grad);
    double *wide = calloc(n, sizeof *wide);
    struct rng r;
    rng_init(&r, 8, (uint64_t)_i + 1);
    mlp_init(theta, &c, 1.0f, &r);
    for (size_t i = 0; i < n; i++)
        wide[i] = theta[i] += 0.2f * (float)rng_normal(&r);

    float x[N * 5], y[N * 3], dy[N * 3], act[3][N * HIDDEN], d0[N * HIDDEN],
        d1[N * HIDDEN];
    float *h[] = {act[0], act[1], act[2]};
    for (int i = 0; i < N * 5; i++)
        x[i] = (float)rng_normal(&r);
    for (int i = 0; i < N * 3; i++)
        dy[i] = (float)rng_normal(&r);

    mlp_forward(y, h, &c, theta, x, N);
    double loss = 0;
    for (int i = 0; i < N * 3; i++)
        loss += (double)y[i] * (double)dy[i];
    ck_assert_double_eq_tol(loss, twin_loss(&c, wide, x, dy), 1e-4);

    mlp_backward(grad, d0, d1, &c, theta, x, h, dy, N);
    for (size_t i = 0; i < n; i++) {
        double at = wide[i];
        wide[i] = at + 1e-6;
        double up = twin_loss(&c, wide, x, dy);
        wide[i] = at - 1e-6;
        double slope = (up - twin_loss(&c, wide, x, dy)) / 2e-6;
        wide[i] = at;
        ck_assert_double_eq_tol((double)grad[i], slope, 1e-4 * (1 + fabs(slope)));
    }
    free(theta), free(grad), free(wide);
}

TEST(layers_tile_the_block)
{
    struct mlp_cfg c = {.in = 5, .hidden = 8, .layers = 2, .out = 3};
    static const struct mlp_layer want[] = {
        {0, 40, 5, 8}, {48, 112, 8, 8}, {120, 144, 8, 3}};
    for (int l = 0; l < 3; l++) {
        struct mlp_layer v = mlp_layer(&c, l);
        ck_assert_uint_eq(v.w, want[l].w);
        ck_assert_uint_eq(v.b, want[l].b);
        ck_assert_int_eq(v.in, want[l].in);
        ck_assert_int_eq(v.out, want[l].out);
    }
    ck_assert_uint_eq(mlp_trunk_size(&c), 120);
    ck_assert_uint_eq(mlp_size(&c), 147);
}

SUITE(nn_mlp, TIMES(value_and_gradient_equal_the_twin, 3), layers_tile_the_block);
