/* New experts against a twin in plain double loops that computes Eq. 11 as it is printed: one
 * softmax over the scores of all experts, and every expert's output. */
#include "policy/norga.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 9, IN = 6, HIDDEN = 5, OUT = 4, FROZEN = 3, NEW = 2, SIGMAS = 4 };

static struct norga_cfg shape_of(int sigma)
{
    return (struct norga_cfg){IN, HIDDEN, 2, OUT, NEW, (enum norga_sigma)sigma};
}

static void twin_expert(double *y, int layers, const double *t, const float *x)
{
    double h[2][HIDDEN];
    int in = IN;
    for (int l = 0; l <= layers; l++) {
        int out = l < layers ? HIDDEN : OUT;
        double *to = l < layers ? h[l & 1] : y;
        for (int j = 0; j < out; j++) {
            double sum = t[out * in + j];
            for (int i = 0; i < in; i++)
                sum += t[j * in + i] * (l ? h[(l - 1) & 1][i] : (double)x[i]);
            to[j] = l < layers && sum < 0 ? 0 : sum;
        }
        t += out * in + out;
        in = out;
    }
}

static double twin_sigma(double v, int sigma)
{
    if (sigma == NORGA_TANH) return tanh(v);
    if (sigma == NORGA_SIGMOID) return 1 / (1 + exp(-v));
    if (sigma == NORGA_GELU) return v * .5 * (1 + erf(v / sqrt(2)));
    return 0;
}

/* t_j of one row */
static void twin_scores(double *t, const struct norga_cfg *c, const double *theta,
                        const float *x)
{
    const double *w = theta + 2, *b = w + NEW * IN;
    for (int j = 0; j < NEW; j++) {
        double s = 0;
        for (int i = 0; i < IN; i++)
            s += w[j * IN + i] * (double)x[i];
        t[j] = s + theta[0] * twin_sigma(theta[1] * s, c->sigma) + b[j];
    }
}

/* y (ROWS, OUT) of the new experts alone */
static void twin_forward(double *y, const struct norga_cfg *c, const double *theta,
                         const float *x)
{
    for (int i = 0; i < ROWS; i++) {
        double t[NEW], all = 1, d[OUT];
        twin_scores(t, c, theta, x + i * IN);
        for (int j = 0; j < NEW; j++)
            all += exp(t[j]);
        for (int k = 0; k < OUT; k++)
            y[i * OUT + k] = 0;
        for (int j = 0; j < NEW; j++) {
            twin_expert(d, c->layers, theta + norga_expert(c, j).at, x + i * IN);
            for (int k = 0; k < OUT; k++)
                y[i * OUT + k] += exp(t[j]) / all * d[k];
        }
    }
}

struct bed {
    struct norga *g;
    struct norga_ws *ws;
    float x[ROWS * IN], y[ROWS * OUT], dy[ROWS * OUT], gate[ROWS * NEW], *grad;
    double *theta, twin_y[ROWS * OUT];
};

static void fill(float *x, size_t n, double scale, struct rng *r)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * rng_normal(r));
}

static void bed_make(struct bed *b, int sigma)
{
    struct rng r;
    rng_init(&r, 3, (uint64_t)sigma);
    struct norga_cfg c = shape_of(sigma);
    *b = (struct bed){.g = norga_new(&c, NULL), .ws = norga_ws_new(&c, ROWS + 2, NULL)};
    ck_assert(b->g && b->ws);
    fill(b->g->theta, b->g->n, .5, &r);
    fill(b->x, ROWS * IN, 1, &r);
    fill(b->dy, ROWS * OUT, 1, &r);
    b->grad = calloc(b->g->n, sizeof(float));
    b->theta = calloc(b->g->n, sizeof(double));
    for (size_t i = 0; i < b->g->n; i++)
        b->theta[i] = (double)b->g->theta[i];
}

static void bed_free(struct bed *b)
{
    norga_ws_free(b->ws);
    norga_free(b->g);
    free(b->grad), free(b->theta);
}

static double twin_loss(struct bed *b)
{
    double loss = 0;
    twin_forward(b->twin_y, &b->g->cfg, b->theta, b->x);
    for (int i = 0; i < ROWS * OUT; i++)
        loss += (double)b->dy[i] * b->twin_y[i];
    return loss;
}

START_TEST(values_and_gradients_equal_the_twin)
{
    struct bed b;
    bed_make(&b, _i);
    norga_forward(b.y, b.gate, b.g, b.ws, b.x, ROWS);
    twin_loss(&b);
    for (int i = 0; i < ROWS * OUT; i++)
        ck_assert_double_eq_tol((double)b.y[i], b.twin_y[i], 1e-5);

    for (size_t i = 0; i < b.g->n; i++)
        b.grad[i] = NAN; /* all of it is written */
    norga_backward(b.grad, b.g, b.ws, b.dy);
    double largest = 0;
    for (size_t i = 0; i < b.g->n; i++) {
        double was = b.theta[i], h = 1e-5;
        b.theta[i] = was + h;
        double up = twin_loss(&b);
        b.theta[i] = was - h;
        double slope = (up - twin_loss(&b)) / (2 * h);
        b.theta[i] = was;
        ck_assert_msg(fabs((double)b.grad[i] - slope) < 2e-4 * fmax(1, fabs(slope)),
                      "gradient %zu: %g, not %g", i, (double)b.grad[i], slope);
        largest = fmax(largest, fabs(slope));
    }
    ck_assert_double_gt(largest, .1);
    bool shape = b.grad[0] != 0.0f && b.grad[1] != 0.0f;
    ck_assert(shape == (_i != NORGA_LINEAR));
    bed_free(&b);
}
END_TEST

/* sum_k pi_k E_k + sum_j q_j f_j with pi, q = softmax of [ln p, t] and f_j = y0 + D_j */
START_TEST(frozen_and_new_are_one_mixture_as_printed)
{
    struct bed b;
    bed_make(&b, NORGA_TANH);
    struct rng r;
    rng_init(&r, 5, 0);
    struct mix_cfg mc = {IN, HIDDEN, 2, OUT, FROZEN, _i ? MIX_TOP1 : MIX_DENSE, {0}};
    struct mix *m = mix_new(&mc, NULL);
    struct mix_ws *ws = mix_ws_new(&mc, ROWS, NULL);
    fill(m->theta, m->n, .7, &r);
    float y0[ROWS * OUT], p[ROWS * FROZEN];
    int chosen[ROWS];
    mix_forward(y0, chosen, p, m, ws, b.x, NULL, ROWS);
    norga_forward(b.y, b.gate, b.g, b.ws, b.x, ROWS);

    double theta[1024];
    ck_assert_uint_le(m->n, 1024);
    for (size_t i = 0; i < m->n; i++)
        theta[i] = (double)m->theta[i];
    for (int i = 0; i < ROWS; i++) {
        double t[NEW], all = 0, e[OUT], sum[OUT] = {0};
        twin_scores(t, &b.g->cfg, b.theta, b.x + i * IN);
        for (int k = 0; k < FROZEN; k++)
            all += exp(log((double)p[i * FROZEN + k]));
        for (int j = 0; j < NEW; j++)
            all += exp(t[j]);
        for (int k = 0; k < FROZEN; k++) {
            if (_i && k != chosen[i]) continue;
            twin_expert(e, 2, theta + mix_expert(&mc, k).at, b.x + i * IN);
            for (int a = 0; a < OUT; a++)
                sum[a] += (double)p[i * FROZEN + k] / all * e[a];
        }
        for (int j = 0; j < NEW; j++) {
            ck_assert_double_eq_tol((double)b.gate[i * NEW + j], exp(t[j]) / all, 1e-6);
            twin_expert(e, 2, b.theta + norga_expert(&b.g->cfg, j).at, b.x + i * IN);
            for (int a = 0; a < OUT; a++)
                sum[a] += exp(t[j]) / all * ((double)y0[i * OUT + a] + e[a]);
        }
        for (int a = 0; a < OUT; a++)
            ck_assert_double_eq_tol((double)(y0[i * OUT + a] + b.y[i * OUT + a]), sum[a],
                                    1e-5);
    }
    mix_ws_free(ws);
    mix_free(m);
    bed_free(&b);
}
END_TEST

START_TEST(the_start_adds_nothing_and_shares_evenly)
{
    struct bed b;
    bed_make(&b, NORGA_GELU);
    struct rng r;
    rng_init(&r, 5, 0);
    struct mix_cfg mc = {IN, HIDDEN, 2, OUT, FROZEN, MIX_TOP1, {0}};
    struct mix *m = mix_new(&mc, NULL);
    mix_init(m, 1, &r);
    int from[NEW] = {2, 0};
    norga_init(b.g, m, from, &r);
    for (int j = 0; j < NEW; j++) {
        struct mix_range trunk = mix_trunk(&mc, from[j]);
        const float *d = b.g->theta + norga_expert(&b.g->cfg, j).at;
        ck_assert_int_eq(memcmp(d, m->theta + trunk.at, trunk.n * sizeof(float)), 0);
    }
    norga_forward(b.y, b.gate, b.g, b.ws, b.x, ROWS);
    for (int i = 0; i < ROWS * OUT; i++)
        ck_assert(b.y[i] == 0.0f);
    for (int i = 0; i < ROWS; i++) /* scores N(0, .01^2 |x|^2), twice that with sigma */
        for (int j = 0; j < NEW; j++)
            ck_assert_double_eq_tol((double)b.gate[i * NEW + j], .25, .05);
    mix_free(m);
    bed_free(&b);
}
END_TEST

/* worked by hand: tanh, s = .5, a = 2, tau = 3: t = .5 + 2 tanh(1.5) */
START_TEST(a_score_by_hand)
{
    struct norga_score d = norga_score(.5f, 2, 3, NORGA_TANH);
    double th = tanh(1.5), slope = 1 - th * th;
    ck_assert_double_eq_tol((double)d.t, .5 + 2 * th, 1e-6); /* 2.3103 */
    ck_assert_double_eq_tol((double)d.by_s, 1 + 6 * slope, 1e-5);
    ck_assert_double_eq_tol((double)d.by_a, th, 1e-6);
    ck_assert_double_eq_tol((double)d.by_tau, 2 * .5 * slope, 1e-6);
    ck_assert(norga_score(-.7f, 2, 3, NORGA_LINEAR).t == -.7f);
    ck_assert_double_eq_tol((double)norga_score(1, 1, 1, NORGA_SIGMOID).t, 1.7310586,
                            1e-6);
    ck_assert_double_eq_tol((double)norga_score(1, 1, 1, NORGA_GELU).t, 1.8413447, 1e-6);

    /* far out the share is 0 or 1 and nothing overflows */
    float t[2] = {200, -200}, q[2];
    ck_assert_double_eq_tol((double)norga_softmax(q, t, 2), 1, 1e-7);
    ck_assert(q[0] == 1.0f && q[1] == 0.0f);
    t[0] = -200;
    ck_assert(norga_softmax(q, t, 2) == 0.0f);
    t[0] = t[1] = 0;
    ck_assert_double_eq_tol((double)norga_softmax(q, t, 2), 2.0 / 3, 1e-7);
}
END_TEST

START_TEST(ranges_tile_theta_and_a_row_is_the_row_of_a_batch)
{
    struct bed b;
    bed_make(&b, _i);
    const struct norga_cfg *c = &b.g->cfg;
    size_t at = 0;
    ck_assert_uint_eq(norga_shape(c).at, at);
    at += norga_shape(c).n;
    ck_assert_uint_eq(norga_scores(c).at, at);
    at += norga_scores(c).n;
    for (int j = 0; j < NEW; j++) {
        ck_assert_uint_eq(norga_expert(c, j).at, at);
        at += norga_expert(c, j).n;
    }
    ck_assert_uint_eq(at, b.g->n);

    norga_forward(b.y, NULL, b.g, b.ws, b.x, ROWS);
    for (int i = 0; i < ROWS; i++) {
        float y[OUT];
        norga_forward(y, NULL, b.g, b.ws, b.x + i * IN, 1);
        for (int k = 0; k < OUT; k++)
            ck_assert_double_eq_tol((double)y[k], (double)b.y[i * OUT + k], 1e-5);
    }
    alloc_watch();
    for (int n = 1; n <= ROWS; n++) {
        norga_forward(b.y, b.gate, b.g, b.ws, b.x, n);
        norga_backward(b.grad, b.g, b.ws, b.dy);
    }
    long calls = alloc_calls();
    ck_assert_int_eq(calls, 0);
    bed_free(&b);
}
END_TEST

START_TEST(words_and_limits)
{
    for (int i = 0; i < SIGMAS; i++) {
        enum norga_sigma back = NORGA_LINEAR;
        ck_assert_int_eq(
            norga_sigma_parse(&back, norga_sigma_word((enum norga_sigma)i), NULL), 0);
        ck_assert_int_eq((int)back, i);
    }
    enum norga_sigma kept = NORGA_GELU;
    struct err e = {0};
    ck_assert_int_eq(norga_sigma_parse(&kept, "relu", &e), ERR_INVALID);
    ck_assert_int_eq((int)kept, NORGA_GELU);
    ck_assert_str_eq(e.field, "gate");
    ck_assert_ptr_null(norga_sigma_word((enum norga_sigma)9));

    struct norga_cfg c = shape_of(NORGA_TANH);
    ck_assert_int_eq(norga_cfg_check(&c, NULL), 0);
    c.experts = NORGA_EXPERTS_MAX + 1;
    e = (struct err){0};
    ck_assert_ptr_null(norga_new(&c, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
    ck_assert_str_eq(e.field, "experts");
    c.experts = 1;
    c.sigma = (enum norga_sigma)7;
    e = (struct err){0};
    ck_assert_int_eq(norga_cfg_check(&c, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "sigma");
}
END_TEST

static void *make_norga(void *ctx, struct err *e)
{
    return norga_new(ctx, e);
}

static void *make_ws(void *ctx, struct err *e)
{
    return norga_ws_new(ctx, 3, e);
}

static void drop(void *made)
{
    norga_free(made);
}

static void drop_ws(void *made)
{
    norga_ws_free(made);
}

START_TEST(memory_runs_out)
{
    struct norga_cfg c = shape_of(NORGA_TANH);
    alloc_each_fails(make_norga, drop, &c);
    alloc_each_fails(make_ws, drop_ws, &c);
}
END_TEST

Suite *suite_policy_norga(void);
Suite *suite_policy_norga(void)
{
    Suite *s = suite_create("policy/norga");
    TCase *t = tcase_create("policy/norga");
    tcase_add_loop_test(t, values_and_gradients_equal_the_twin, 0, SIGMAS);
    tcase_add_loop_test(t, frozen_and_new_are_one_mixture_as_printed, 0, 2);
    tcase_add_test(t, the_start_adds_nothing_and_shares_evenly);
    tcase_add_test(t, a_score_by_hand);
    tcase_add_loop_test(t, ranges_tile_theta_and_a_row_is_the_row_of_a_batch, 0, SIGMAS);
    tcase_add_test(t, words_and_limits);
    tcase_add_test(t, memory_runs_out);
    suite_add_tcase(s, t);
    return s;
}
