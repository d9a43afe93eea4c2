#include "lab/gates/encoder.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    SIDE = 4,
    PATCH = 2,
    D = 4,
    HEADS = 2,
    BLOCKS = 2,
    HIDDEN = 5,
    T = 4,
    L = 2,
    N = 3
};

static const struct encoder_cfg CFG = {SIDE, PATCH, D, HEADS, BLOCKS, HIDDEN};

enum {
    PARAMS =
        D * 4 + D + T * D + BLOCKS * (4 * D * D + HIDDEN * D + HIDDEN + D * HIDDEN + D),
    VECTORS = 2 * BLOCKS * L * D
};

struct set {
    float theta[PARAMS], vectors[VECTORS], images[N * SIDE * SIDE], c[N * D];
    double alpha[BLOCKS], tau[BLOCKS];
    enum residual_kind gate;
};

static struct set draw(enum residual_kind gate)
{
    struct set s = {.alpha = {1.2, .6}, .tau = {.8, 1.1}, .gate = gate};
    struct rng r;
    rng_init(&r, 5, 6);
    encoder_init(s.theta, &CFG, &r);
    /* so that no offset is 0 and no product is small */
    for (int i = 0; i < PARAMS; i++)
        s.theta[i] += (float)(.3 * rng_normal(&r));
    float *const rest[3] = {s.vectors, s.images, s.c};
    const int n[3] = {VECTORS, N * SIDE * SIDE, N * D};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < n[k]; i++)
            rest[k][i] = (float)rng_normal(&r);
    return s;
}

static struct encoder_prompt prompt_of(const struct set *s)
{
    struct encoder_prompt p = {.length = L, .vectors = s->vectors};
    for (int i = 0; i < BLOCKS; i++)
        p.gate[i] = (struct residual){s->gate, s->alpha[i], s->tau[i]};
    return p;
}

/* ---- the same by plain loops in double */

static void affine(double *y, const float *w, const float *b, const double *x, int in,
                   int out)
{
    for (int o = 0; o < out; o++) {
        y[o] = b ? (double)b[o] : 0;
        for (int k = 0; k < in; k++)
            y[o] += (double)w[o * in + k] * x[k];
    }
}

static void norm(double *y, const double *x)
{
    double mean = 0, var = 0;
    for (int k = 0; k < D; k++)
        mean += x[k] / D;
    for (int k = 0; k < D; k++)
        var += (x[k] - mean) * (x[k] - mean) / D;
    for (int k = 0; k < D; k++)
        y[k] = (x[k] - mean) / sqrt(var + 1e-5);
}

/* added to z: the attention of all tokens over prefix and tokens */
static void attend(double z[T][D], const float *w, const struct encoder_prompt *p,
                   int block)
{
    double x[T][D], q[T][D], k[L + T][D], v[L + T][D], mixed[T][D];
    int prefix = p ? p->length : 0;
    const float *own = p ? p->vectors + 2 * block * L * D : NULL;
    for (int j = 0; j < prefix; j++) {
        double key[D], value[D];
        for (int i = 0; i < D; i++) {
            key[i] = (double)own[j * D + i];
            value[i] = (double)own[(L + j) * D + i];
        }
        affine(k[j], w + D * D, NULL, key, D, D);
        affine(v[j], w + 2 * D * D, NULL, value, D, D);
    }
    for (int j = 0; j < T; j++) {
        norm(x[j], z[j]);
        affine(q[j], w, NULL, x[j], D, D);
        affine(k[prefix + j], w + D * D, NULL, x[j], D, D);
        affine(v[prefix + j], w + 2 * D * D, NULL, x[j], D, D);
    }
    int each = D / HEADS;
    for (int i = 0; i < T; i++)
        for (int h = 0; h < HEADS; h++) {
            double total = 0, sum[D] = {0};
            for (int j = 0; j < prefix + T; j++) {
                double s = 0;
                for (int c = h * each; c < (h + 1) * each; c++)
                    s += q[i][c] * k[j][c] / sqrt(each);
                if (j < prefix) s = residual_score(&p->gate[block], s).score;
                total += exp(s);
                for (int c = h * each; c < (h + 1) * each; c++)
                    sum[c] += exp(s) * v[j][c];
            }
            for (int c = h * each; c < (h + 1) * each; c++)
                mixed[i][c] = sum[c] / total;
        }
    for (int i = 0; i < T; i++) {
        double y[D];
        affine(y, w + 3 * D * D, NULL, mixed[i], D, D);
        for (int c = 0; c < D; c++)
            z[i][c] += y[c];
    }
}

static void perceive(double z[T][D], const float *w1, const float *b1, const float *w2,
                     const float *b2)
{
    for (int i = 0; i < T; i++) {
        double x[D], h[HIDDEN], y[D];
        norm(x, z[i]);
        affine(h, w1, b1, x, D, HIDDEN);
        for (int k = 0; k < HIDDEN; k++)
            h[k] = fmax(h[k], 0);
        affine(y, w2, b2, h, HIDDEN, D);
        for (int c = 0; c < D; c++)
            z[i][c] += y[c];
    }
}

static void plain(double f[D], const struct set *s, int image,
                  const struct encoder_prompt *p)
{
    const float *pixels = s->images + image * SIDE * SIDE, *at = s->theta;
    const float *offset = at + D * 4, *position = offset + D;
    double z[T][D];
    for (int i = 0; i < T; i++) {
        double patch[4];
        for (int k = 0; k < 4; k++)
            patch[k] =
                (double)pixels[(i / 2 * PATCH + k / 2) * SIDE + i % 2 * PATCH + k % 2];
        affine(z[i], at, offset, patch, 4, D);
        for (int c = 0; c < D; c++)
            z[i][c] += (double)position[i * D + c];
    }
    at = position + T * D;
    for (int b = 0; b < BLOCKS; b++) {
        attend(z, at, p, b);
        const float *w1 = at + 4 * D * D, *b1 = w1 + HIDDEN * D, *w2 = b1 + HIDDEN;
        perceive(z, w1, b1, w2, w2 + D * HIDDEN);
        at = w2 + D * HIDDEN + D;
    }
    double mean[D] = {0};
    for (int i = 0; i < T; i++)
        for (int c = 0; c < D; c++)
            mean[c] += z[i][c] / T;
    norm(f, mean);
}

static double objective(const struct set *s, bool prompted)
{
    struct encoder_prompt p = prompt_of(s);
    double sum = 0;
    for (int b = 0; b < N; b++) {
        double f[D];
        plain(f, s, b, prompted ? &p : NULL);
        for (int c = 0; c < D; c++)
            sum += (double)s->c[b * D + c] * f[c];
    }
    return sum;
}

TEST(features_are_those_of_plain_loops)
{
    ck_assert_uint_eq(encoder_params(&CFG), PARAMS);
    ck_assert_uint_eq(encoder_prompt_floats(&CFG, L), VECTORS);
    struct encoder *m = encoder_new(&CFG, N, L, NULL);
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++) {
        struct set s = draw((enum residual_kind)gate);
        struct encoder_prompt p = prompt_of(&s);
        for (int prompted = 0; prompted < 2; prompted++) {
            float f[N * D];
            encoder_forward(m, f, s.theta, s.images, N, prompted ? &p : NULL);
            for (int b = 0; b < N; b++) {
                double want[D];
                plain(want, &s, b, prompted ? &p : NULL);
                for (int c = 0; c < D; c++)
                    ck_assert_double_eq_tol((double)f[b * D + c], want[c], 1e-5);
            }
        }
    }
    encoder_free(m);
}

static void check_range(const float *grad, float *at, int n, const struct set *s,
                        bool prompted)
{
    for (int i = 0; i < n; i++) {
        float was = at[i], h = 1.0f / 4096;
        at[i] = was + h;
        double up = objective(s, prompted), high = (double)at[i];
        at[i] = was - h;
        double down = objective(s, prompted), low = (double)at[i];
        at[i] = was;
        double slope = (up - down) / (high - low);
        ck_assert_double_eq_tol((double)grad[i], slope, 1e-4 + 1e-3 * fabs(slope));
    }
}

TEST(gradients_are_those_of_differences)
{
    struct set s = draw((enum residual_kind)_i);
    struct encoder_prompt p = prompt_of(&s);
    struct encoder *m = encoder_new(&CFG, N, L, NULL);
    float f[N * D], theta[PARAMS], vectors[VECTORS], alone[VECTORS];
    double alpha[BLOCKS], tau[BLOCKS];
    encoder_forward(m, f, s.theta, s.images, N, &p);
    encoder_backward(m, &(struct encoder_grad){theta, vectors, alpha, tau}, s.c);
    check_range(theta, s.theta, PARAMS, &s, true);
    check_range(vectors, s.vectors, VECTORS, &s, true);
    double *const factor[2] = {s.alpha, s.tau}, *const got[2] = {alpha, tau};
    for (int k = 0; k < 2; k++)
        for (int b = 0; b < BLOCKS; b++) {
            double was = factor[k][b];
            factor[k][b] = was + 1e-4;
            double up = objective(&s, true);
            factor[k][b] = was - 1e-4;
            double down = objective(&s, true);
            factor[k][b] = was;
            ck_assert_double_eq_tol(got[k][b], (up - down) / 2e-4, 1e-4);
        }
    /* of a frozen encoder: the prompt's alone */
    encoder_forward(m, f, s.theta, s.images, N, &p);
    encoder_backward(m, &(struct encoder_grad){.vectors = alone}, s.c);
    for (int i = 0; i < VECTORS; i++)
        ck_assert_double_eq_tol((double)alone[i], (double)vectors[i], 1e-6);

    encoder_forward(m, f, s.theta, s.images, N, NULL);
    encoder_backward(m, &(struct encoder_grad){.theta = theta}, s.c);
    check_range(theta, s.theta, PARAMS, &s, false);
    encoder_free(m);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return encoder_new(&CFG, N, L, e);
}

static void destroy(void *made)
{
    encoder_free(made);
}

TEST(without_memory_it_says_so)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, NULL), 1 + BLOCKS);
}

/* 1 2 3 6: mean 3, variance 3.5; 4 4 4 4: nothing but the 1e-5 */
TEST(rows_by_hand)
{
    const float x[8] = {1, 2, 3, 6, 4, 4, 4, 4};
    float y[8], root[2];
    encoder_norm(y, root, x, 2, 4);
    double r = 1 / sqrt(3.5 + 1e-5);
    ck_assert_double_eq_tol((double)root[0], r, 1e-7);
    ck_assert_double_eq_tol((double)root[1], 1 / sqrt(1e-5), 1e-2);
    for (int k = 0; k < 4; k++) {
        ck_assert_double_eq_tol((double)y[k], ((double)x[k] - 3) * r, 1e-6);
        ck_assert_double_eq((double)y[4 + k], 0);
    }
}

static double norm_objective(const float *x, const float *c)
{
    double mean = 0, var = 0, sum = 0;
    for (int k = 0; k < 5; k++)
        mean += (double)x[k] / 5;
    for (int k = 0; k < 5; k++)
        var += ((double)x[k] - mean) * ((double)x[k] - mean) / 5;
    for (int k = 0; k < 5; k++)
        sum += (double)c[k] * ((double)x[k] - mean) / sqrt(var + 1e-5);
    return sum;
}

TEST(the_gradient_of_a_norm)
{
    float x[5] = {.3f, -1, 2, .5f, .1f}, y[5], root[1], dx[5];
    const float c[5] = {1, -.5f, .25f, 2, -1};
    encoder_norm(y, root, x, 1, 5);
    encoder_norm_backward(dx, c, y, root, 1, 5);
    for (int k = 0; k < 5; k++) {
        float was = x[k], h = 1.0f / 1024;
        x[k] = was + h;
        double up = norm_objective(x, c), high = (double)x[k];
        x[k] = was - h;
        double down = norm_objective(x, c), low = (double)x[k];
        x[k] = was;
        ck_assert_double_eq_tol((double)dx[k], (up - down) / (high - low), 1e-5);
    }
}

SUITE(lab_gates_encoder, features_are_those_of_plain_loops,
      TIMES(gradients_are_those_of_differences, RESIDUAL_KINDS),
      without_memory_it_says_so, rows_by_hand, the_gradient_of_a_norm);
