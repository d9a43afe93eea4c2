/* The mixture against a twin written as plain double loops, which shares no code with it:
 * values directly, gradients as central differences of the twin's loss. */
#include "policy/mix.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 7 };

static void twin_expert(double *y, const struct mix_cfg *c, const double *t,
                        const float *x)
{
    double h[2][32];
    int in = c->in;
    for (int l = 0; l <= c->layers; l++) {
        int out = l < c->layers ? c->hidden : c->out;
        double *to = l < c->layers ? h[l & 1] : y;
        for (int j = 0; j < out; j++) {
            double sum = t[out * in + j];
            for (int i = 0; i < in; i++)
                sum += t[j * in + i] * (l ? h[(l - 1) & 1][i] : (double)x[i]);
            to[j] = l < c->layers && sum < 0 ? 0 : sum;
        }
        t += out * in + out;
        in = out;
    }
}

/* y (ROWS, out); returns the gate's own losses */
static double twin_forward(double *y, int *chosen, const struct mix_cfg *c,
                           const double *theta, const float *x, const float *z,
                           double balance, const float *cost)
{
    int experts = c->experts;
    double share[8] = {0}, mean[8] = {0}, sum = 0, costs = 0;
    for (int i = 0; i < ROWS; i++) {
        const float *row = x + i * c->in;
        double g[8] = {0}, p[8] = {0}, total = 0, best = -INFINITY;
        chosen[i] = 0;
        for (int k = 0; k < experts && c->route != MIX_SINGLE; k++) {
            g[k] = theta[experts * c->in + k];
            for (int j = 0; j < c->in; j++)
                g[k] += theta[k * c->in + j] * (double)row[j];
            bool top1 = c->route == MIX_TOP1 || c->route == MIX_TOP1_UNSCALED;
            double noisy = g[k] + (z && top1 ? (double)z[i * experts + k] : 0);
            if (noisy > best) best = noisy, chosen[i] = k;
        }
        for (int k = 0; k < experts; k++)
            total += p[k] = exp(g[k]);
        for (int k = 0; k < experts; k++)
            mean[k] += (p[k] /= total) / ROWS;
        share[chosen[i]] += 1.0 / ROWS;

        for (int j = 0; j < c->out; j++)
            y[i * c->out + j] = 0;
        for (int k = 0; k < experts; k++) {
            bool dense = c->route == MIX_DENSE || c->route == MIX_DENSE_PROBS;
            double e[32], w = dense                  ? p[k]
                              : k != chosen[i]       ? 0
                              : c->route == MIX_TOP1 ? p[k]
                                                     : 1;
            twin_expert(e, c, theta + mix_expert(c, k).at, row);
            double norm = c->route == MIX_DENSE_PROBS ? 0 : 1;
            for (int j = 0; j < c->out && c->route == MIX_DENSE_PROBS; j++)
                norm += e[j] = exp(e[j]);
            for (int j = 0; j < c->out; j++)
                y[i * c->out + j] += w * e[j] / norm;
        }
        for (int j = 0; j < c->out && c->route == MIX_DENSE_PROBS; j++)
            y[i * c->out + j] = log(y[i * c->out + j]);
    }
    for (int k = 0; k < experts; k++)
        sum += share[k] * mean[k];
    for (int k = 0; cost && k < experts; k++)
        costs += (double)cost[k] * mean[k];
    return c->route == MIX_SINGLE ? 0 : balance * experts * sum + costs;
}

/* a mixture with its batch, and the same weights in double */
struct bed {
    struct mix *m;
    struct mix_ws *ws;
    float *x, *z, *y, *dy, *grad, gate[ROWS * 8];
    double *theta, *twin_y;
    int chosen[ROWS], twin_chosen[ROWS], used[8];
    float balance;
    const float *cost;
};

static void bed_make(struct bed *b, struct mix_cfg c, bool noise, float balance)
{
    struct rng r;
    rng_init(&r, 7, (uint64_t)c.route);
    *b = (struct bed){.m = mix_new(&c, NULL), .ws = mix_ws_new(&c, ROWS + 3, NULL)};
    ck_assert(b->m && b->ws);
    mix_init(b->m, 0.7f, &r);
    /* far from the tidy start: biases, and gates that differ */
    for (size_t i = 0; i < b->m->n; i++)
        b->m->theta[i] += 0.2f * (float)rng_normal(&r);

    b->balance = balance;
    b->x = calloc((size_t)(ROWS * c.in), sizeof(float));
    b->z = noise ? calloc((size_t)(ROWS * c.experts), sizeof(float)) : NULL;
    b->y = calloc((size_t)(ROWS * c.out), sizeof(float));
    b->dy = calloc((size_t)(ROWS * c.out), sizeof(float));
    b->grad = calloc(b->m->n, sizeof(float));
    b->theta = calloc(b->m->n, sizeof(double));
    b->twin_y = calloc((size_t)(ROWS * c.out), sizeof(double));
    for (int i = 0; i < ROWS * c.in; i++)
        b->x[i] = (float)rng_normal(&r);
    for (int i = 0; noise && i < ROWS * c.experts; i++)
        b->z[i] = 2.0f * (float)rng_normal(&r);
    for (int i = 0; i < ROWS * c.out; i++)
        b->dy[i] = (float)rng_normal(&r);
    for (size_t i = 0; i < b->m->n; i++)
        b->theta[i] = b->m->theta[i];
}

static void bed_free(struct bed *b)
{
    mix_ws_free(b->ws);
    mix_free(b->m);
    free(b->x), free(b->z), free(b->y), free(b->dy), free(b->grad);
    free(b->theta), free(b->twin_y);
}

/* L = sum dy * y + the gate's own, with dy held fixed */
static double twin_loss(struct bed *b)
{
    const struct mix_cfg *c = &b->m->cfg;
    double loss = twin_forward(b->twin_y, b->twin_chosen, c, b->theta, b->x, b->z,
                               (double)b->balance, b->cost);
    for (int i = 0; i < ROWS * c->out; i++)
        loss += (double)b->dy[i] * b->twin_y[i];
    return loss;
}

static double worst_gradient_error(struct bed *b)
{
    const double step = 1e-6;
    double worst = 0;
    for (size_t i = 0; i < b->m->n; i++) {
        double at = b->theta[i];
        b->theta[i] = at + step;
        double up = twin_loss(b);
        b->theta[i] = at - step;
        double slope = (up - twin_loss(b)) / (2 * step);
        b->theta[i] = at;
        double error = fabs((double)b->grad[i] - slope) / (1 + fabs(slope));
        if (!(error <= worst)) worst = error;
    }
    return worst;
}

static void compare(struct mix_cfg c, bool noise, float balance)
{
    struct bed b;
    bed_make(&b, c, noise, balance);
    mix_forward(b.y, b.chosen, b.gate, b.m, b.ws, b.x, b.z, ROWS);
    double twin_balance = twin_forward(b.twin_y, b.twin_chosen, &c, b.theta, b.x, b.z,
                                       (double)balance, NULL);
    for (int i = 0; i < ROWS * c.out; i++)
        ck_assert_double_eq_tol((double)b.y[i], b.twin_y[i], 2e-5);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(b.chosen[i], b.twin_chosen[i]);

    float loss = mix_backward(b.grad, b.used, b.m, b.ws, b.dy, balance);
    ck_assert_double_eq_tol((double)loss, twin_balance, 1e-6);
    ck_assert_double_lt(worst_gradient_error(&b), 1e-4);

    /* the check can fail */
    b.grad[b.m->n / 2] += 1e-2f;
    ck_assert_double_gt(worst_gradient_error(&b), 1e-3);
    bed_free(&b);
}

static struct mix_cfg cfg_of(enum mix_route route)
{
    return (struct mix_cfg){.in = 5,
                            .hidden = 9,
                            .layers = 2,
                            .out = 4,
                            .experts = route == MIX_SINGLE ? 1 : 3,
                            .route = route};
}

enum { ROUTE_COUNT = 5 };
static const enum mix_route ROUTES[ROUTE_COUNT] = {MIX_SINGLE, MIX_DENSE, MIX_TOP1,
                                                   MIX_TOP1_UNSCALED, MIX_DENSE_PROBS};

START_TEST(values_and_gradients_equal_the_twin)
{
    struct mix_cfg c = cfg_of(ROUTES[_i]);
    compare(c, false, 0.0f);
    compare(c, false, 0.5f);
    compare(c, true, 0.5f);
    for (c.layers = 1; c.layers <= 3; c.layers++)
        compare(c, false, 0.0f);
}
END_TEST

START_TEST(few_outputs_and_many_experts)
{
    struct mix_cfg c = cfg_of(ROUTES[_i]);
    c.out = c.route == MIX_DENSE_PROBS ? 2 : 1;
    compare(c, false, 0.1f);
    if (c.route == MIX_SINGLE) return;
    c.experts = 8; /* more than reached: some have no rows */
    compare(c, true, 0.1f);
    c.experts = 1;
    compare(c, false, 0.1f);
}
END_TEST

/* What it costs to use an expert: the gradient by the scores is p_m (c_m - sum_k p_k c_k). */
START_TEST(costs_reach_the_gate_alone)
{
    static const float cost[8] = {0.7f, 0.0f, 1.3f, 0.2f, 0.4f, 0.1f, 0.9f, 0.6f};
    struct bed b;
    bed_make(&b, cfg_of(ROUTES[_i]), false, 0.2f);
    b.cost = cost;
    struct mix_gate_losses losses = {.balance = 0.2f, .cost = cost};
    mix_forward(b.y, b.chosen, b.gate, b.m, b.ws, b.x, NULL, ROWS);
    float loss = mix_backward_gate(b.grad, b.used, b.m, b.ws, b.dy, &losses);
    double want = twin_forward(b.twin_y, b.twin_chosen, &b.m->cfg, b.theta, b.x, NULL,
                               (double)b.balance, cost);
    ck_assert_double_eq_tol((double)loss, want, 1e-6);
    ck_assert_double_lt(worst_gradient_error(&b), 1e-4);

    /* without them only the router's gradient is another */
    struct mix_range router = mix_router(&b.m->cfg);
    float *before = malloc(b.m->n * sizeof *before);
    memcpy(before, b.grad, b.m->n * sizeof *before);
    losses.cost = NULL;
    mix_backward_gate(b.grad, NULL, b.m, b.ws, b.dy, &losses);
    ck_assert_mem_eq(b.grad + router.n, before + router.n,
                     (b.m->n - router.n) * sizeof *before);
    if (router.n) ck_assert_mem_ne(b.grad, before, router.n * sizeof *before);
    free(before);
    bed_free(&b);
}
END_TEST

START_TEST(a_still_gate_gets_no_gradient_and_the_experts_theirs)
{
    static const float cost[8] = {1, 2, 3};
    struct bed b;
    bed_make(&b, cfg_of(ROUTES[_i]), false, 0.0f);
    struct mix_range router = mix_router(&b.m->cfg);
    float *all = malloc(b.m->n * sizeof *all);
    mix_forward(b.y, NULL, NULL, b.m, b.ws, b.x, NULL, ROWS);
    mix_backward(all, NULL, b.m, b.ws, b.dy, 0.5f);
    memset(b.grad, 0x7f, b.m->n * sizeof *b.grad);
    struct mix_gate_losses still = {.balance = 0.5f, .cost = cost, .still = true};
    ck_assert(mix_backward_gate(b.grad, NULL, b.m, b.ws, b.dy, &still) == 0.0f);
    for (size_t i = 0; i < router.n; i++)
        ck_assert(b.grad[i] == 0.0f);
    ck_assert_mem_eq(b.grad + router.n, all + router.n,
                     (b.m->n - router.n) * sizeof *all);
    free(all);
    bed_free(&b);
}
END_TEST

static double router_norm(enum mix_route route, float balance)
{
    struct bed b;
    bed_make(&b, cfg_of(route), false, balance);
    mix_forward(b.y, NULL, NULL, b.m, b.ws, b.x, NULL, ROWS);
    mix_backward(b.grad, NULL, b.m, b.ws, b.dy, balance);
    struct mix_range router = mix_router(&b.m->cfg);
    double sum = 0;
    for (size_t i = 0; i < router.n; i++)
        sum += fabs((double)b.grad[router.at + i]);
    bed_free(&b);
    return sum;
}

START_TEST(router_learns_unless_unscaled)
{
    ck_assert_double_gt(router_norm(MIX_TOP1, 0.0f), 0.1);
    ck_assert_double_gt(router_norm(MIX_DENSE, 0.0f), 0.1);
    ck_assert_double_gt(router_norm(MIX_DENSE_PROBS, 0.0f), 0.1);
    ck_assert_double_eq(router_norm(MIX_TOP1_UNSCALED, 0.0f), 0.0);
    ck_assert_double_gt(router_norm(MIX_TOP1_UNSCALED, 1.0f), 1e-3);
}
END_TEST

START_TEST(backward_writes_all_and_unused_experts_get_nothing)
{
    struct bed b;
    struct mix_cfg c = cfg_of(MIX_TOP1);
    c.experts = 8;
    bed_make(&b, c, false, 0.0f);
    mix_forward(b.y, b.chosen, NULL, b.m, b.ws, b.x, NULL, ROWS);
    float *again = malloc(b.m->n * sizeof *again);
    memset(again, 0x7f, b.m->n * sizeof *again);
    mix_backward(b.grad, b.used, b.m, b.ws, b.dy, 0.0f);
    mix_backward(again, NULL, b.m, b.ws, b.dy, 0.0f);
    ck_assert_mem_eq(again, b.grad, b.m->n * sizeof *again);

    int total = 0, idle = 0;
    for (int k = 0; k < c.experts; k++) {
        int rows = 0;
        for (int i = 0; i < ROWS; i++)
            rows += b.chosen[i] == k;
        ck_assert_int_eq(b.used[k], rows);
        total += rows;

        int hidden_rows = -1;
        const float *h = mix_hidden(b.ws, k, 1, &hidden_rows);
        ck_assert_int_eq(hidden_rows, rows);
        ck_assert((h == NULL) == (rows == 0));
        if (rows) continue;
        idle++;
        struct mix_range e = mix_expert(&c, k);
        for (size_t i = 0; i < e.n; i++)
            ck_assert(b.grad[e.at + i] == 0.0f);
    }
    ck_assert_int_eq(total, ROWS);
    ck_assert_int_gt(idle, 0);
    free(again);
    bed_free(&b);
}
END_TEST

START_TEST(one_row_is_the_row_of_a_batch)
{
    struct bed b;
    bed_make(&b, cfg_of(ROUTES[_i]), false, 0.0f);
    struct mix_cfg c = b.m->cfg;
    mix_forward(b.y, b.chosen, b.gate, b.m, b.ws, b.x, NULL, ROWS);
    for (int i = 0; i < ROWS; i++) {
        float y[8], gate[8];
        int chosen = -1;
        mix_forward(y, &chosen, gate, b.m, b.ws, b.x + i * c.in, NULL, 1);
        ck_assert_int_eq(chosen, b.chosen[i]);
        for (int j = 0; j < c.out; j++)
            ck_assert_double_eq_tol((double)y[j], (double)b.y[i * c.out + j], 1e-5);
        for (int k = 0; k < c.experts; k++)
            ck_assert_double_eq_tol((double)gate[k], (double)b.gate[i * c.experts + k],
                                    1e-6);
    }
    bed_free(&b);
}
END_TEST

START_TEST(noise_decides_who_is_reached_not_by_how_much)
{
    struct bed b;
    struct mix_cfg c = cfg_of(MIX_TOP1);
    bed_make(&b, c, false, 0.0f);
    float z[ROWS * 3] = {0}, gate[ROWS * 3];
    mix_forward(b.y, NULL, b.gate, b.m, b.ws, b.x, NULL, ROWS);
    for (int i = 0; i < ROWS; i++)
        z[i * 3 + i % 3] = 1e6f;
    mix_forward(b.y, b.chosen, gate, b.m, b.ws, b.x, z, ROWS);
    for (int i = 0; i < ROWS; i++)
        ck_assert_int_eq(b.chosen[i], i % 3);
    ck_assert_mem_eq(gate, b.gate, sizeof gate);
    bed_free(&b);
}
END_TEST

START_TEST(hidden_activations_are_the_experts_own)
{
    struct bed b;
    bed_make(&b, cfg_of(MIX_DENSE), false, 0.0f);
    int rows = 0;
    ck_assert_ptr_null(mix_hidden(b.ws, 0, 0, &rows)); /* before any forward */
    mix_forward(b.y, NULL, NULL, b.m, b.ws, b.x, NULL, ROWS);
    const float *theta = b.m->theta + mix_expert(&b.m->cfg, 2).at;
    const float *h = mix_hidden(b.ws, 2, 0, &rows);
    ck_assert_int_eq(rows, ROWS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < 9; j++) {
            double sum = (double)theta[5 * 9 + j];
            for (int k = 0; k < 5; k++)
                sum += (double)theta[j * 5 + k] * (double)b.x[i * 5 + k];
            ck_assert_double_eq_tol((double)h[i * 9 + j], sum > 0 ? sum : 0, 1e-5);
        }
    bed_free(&b);
}
END_TEST

START_TEST(ranges_tile_theta)
{
    struct mix_cfg c = cfg_of(ROUTES[_i]);
    size_t at = mix_router(&c).n;
    ck_assert_uint_eq(at, c.route == MIX_SINGLE ? 0 : 3 * 5 + 3);
    for (int k = 0; k < c.experts; k++) {
        struct mix_range e = mix_expert(&c, k), trunk = mix_trunk(&c, k);
        ck_assert_uint_eq(e.at, at);
        ck_assert_uint_eq(e.n, 5 * 9 + 9 + 9 * 9 + 9 + 9 * 4 + 4);
        ck_assert_uint_eq(trunk.at, e.at);
        ck_assert_uint_eq(trunk.n, e.n - (9 * 4 + 4));
        at += e.n;
    }
    ck_assert_uint_eq(mix_size(&c), at);
}
END_TEST

START_TEST(start_is_reproducible_and_nearly_even)
{
    struct mix_cfg c = cfg_of(MIX_TOP1);
    struct mix *a = mix_new(&c, NULL), *b = mix_new(&c, NULL);
    struct rng r;
    rng_init(&r, 3, 0);
    mix_init(a, 1.0f, &r);
    rng_init(&r, 3, 0);
    mix_init(b, 1.0f, &r);
    ck_assert_mem_eq(a->theta, b->theta, sizeof(float) * a->n);
    for (size_t i = 0; i < mix_router(&c).n; i++)
        ck_assert_double_lt(fabs((double)a->theta[i]), 0.06);
    ck_assert(memcmp(a->theta + mix_expert(&c, 0).at, a->theta + mix_expert(&c, 1).at,
                     sizeof(float) * 9) != 0);
    mix_free(a);
    mix_free(b);
}
END_TEST

START_TEST(bad_shapes_are_named)
{
    static const struct {
        struct mix_cfg c;
        const char *field;
    } bad[] = {
        {{0, 9, 2, 4, 3, MIX_TOP1, {0}}, "in"},
        {{5000, 9, 2, 4, 3, MIX_TOP1, {0}}, "in"},
        {{5, 0, 2, 4, 3, MIX_TOP1, {0}}, "hidden"},
        {{5, 9, 0, 4, 3, MIX_TOP1, {0}}, "layers"},
        {{5, 9, 4, 4, 3, MIX_TOP1, {0}}, "layers"},
        {{5, 9, 2, -1, 3, MIX_TOP1, {0}}, "out"},
        {{5, 9, 2, 4, 65, MIX_TOP1, {0}}, "experts"},
        {{5, 9, 2, 4, 3, MIX_SINGLE, {0}}, "experts"},
        {{5, 9, 2, 4, 3, (enum mix_route)9, {0}}, "route"},
        {{5, 9, 2, 1, 3, MIX_DENSE_PROBS, {0}}, "route"}, /* always ln 1 */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_ptr_null(mix_new(&bad[i].c, &e));
        ck_assert_int_eq(e.code, ERR_RANGE);
        ck_assert_str_eq(e.field, bad[i].field);
        ck_assert_ptr_null(mix_ws_new(&bad[i].c, 1, NULL));
    }
}
END_TEST

/* Outputs move by gain times their entries, gradients do not move. */
START_TEST(a_prior_is_added)
{
    enum { IN = 9, OUT = 3, N = 5 };
    struct mix_cfg plain = {IN, 8, 2, OUT, 3, MIX_TOP1, {0}}, c = plain;
    c.prior = (struct mix_prior){2, 3, 4};
    struct mix *m[] = {mix_new(&plain, NULL), mix_new(&c, NULL)};
    struct rng r;
    float x[N * IN], y[2][N * OUT], dy[N * OUT], *grad[2];
    for (int k = 0; k < 2; k++) {
        rng_init(&r, 5, 0);
        mix_init(m[k], 1, &r);
        grad[k] = calloc(m[k]->n, sizeof **grad);
    }
    for (int i = 0; i < N * IN; i++)
        x[i] = (float)rng_normal(&r);
    for (int i = 0; i < N * OUT; i++)
        dy[i] = (float)rng_normal(&r);
    for (int k = 0; k < 2; k++) {
        struct mix_ws *ws = mix_ws_new(&m[k]->cfg, N, NULL);
        mix_forward(y[k], NULL, NULL, m[k], ws, x, NULL, N);
        mix_backward(grad[k], NULL, m[k], ws, dy, 0);
        mix_ws_free(ws);
    }
    for (int i = 0; i < N; i++)
        for (int a = 0; a < OUT; a++)
            ck_assert_float_eq_tol(y[1][i * OUT + a],
                                   y[0][i * OUT + a] + 4 * x[i * IN + 2 + 3 * a], 1e-5f);
    ck_assert_mem_eq(grad[0], grad[1], m[0]->n * sizeof **grad);
    for (int k = 0; k < 2; k++) {
        mix_free(m[k]);
        free(grad[k]);
    }
}
END_TEST

START_TEST(routes_have_words)
{
    for (int i = 0; i < ROUTE_COUNT; i++) {
        enum mix_route back = (enum mix_route)9;
        ck_assert_int_eq(mix_route_parse(&back, mix_route_word(ROUTES[i]), NULL), 0);
        ck_assert_int_eq(back, ROUTES[i]);
    }
    struct err e = {0};
    enum mix_route kept = MIX_DENSE;
    ck_assert_int_eq(mix_route_parse(&kept, "dense_probs", NULL), 0);
    ck_assert_int_eq(kept, MIX_DENSE_PROBS);
    ck_assert_int_eq(mix_route_parse(&kept, "dense_probs_", NULL), ERR_INVALID);
    ck_assert_int_eq(mix_route_parse(&kept, "dense", NULL), 0);
    ck_assert_int_eq(mix_route_parse(&kept, "top2", &e), ERR_INVALID);
    ck_assert_int_eq(kept, MIX_DENSE);
    ck_assert_ptr_nonnull(strstr(e.detail, "'top2'"));
    ck_assert_ptr_null(mix_route_word((enum mix_route)9));
}
END_TEST

static void *make_mix(void *ctx, struct err *e)
{
    return mix_new(ctx, e);
}

static void *make_ws(void *ctx, struct err *e)
{
    return mix_ws_new(ctx, 16, e);
}

static void free_mix(void *m)
{
    mix_free(m);
}

static void free_ws(void *ws)
{
    mix_ws_free(ws);
}

START_TEST(memory_is_got_at_the_start_only)
{
    struct bed b;
    bed_make(&b, cfg_of(ROUTES[_i]), true, 0.0f);
    ck_assert_int_eq(alloc_each_fails(make_mix, free_mix, &b.m->cfg), 2);
    ck_assert_int_eq(alloc_each_fails(make_ws, free_ws, &b.m->cfg), 3);

    alloc_watch();
    for (int n = 1; n <= ROWS; n += ROWS - 1) {
        mix_forward(b.y, b.chosen, b.gate, b.m, b.ws, b.x, b.z, n);
        mix_backward(b.grad, b.used, b.m, b.ws, b.dy, 0.1f);
    }
    long calls = alloc_calls(); /* before an assertion makes its own */
    ck_assert_int_eq(calls, 0);
    bed_free(&b);
}
END_TEST

Suite *suite_policy_mix(void);
Suite *suite_policy_mix(void)
{
    Suite *s = suite_create("policy/mix");
    TCase *t = tcase_create("policy/mix");
    tcase_add_loop_test(t, values_and_gradients_equal_the_twin, 0, ROUTE_COUNT);
    tcase_add_loop_test(t, few_outputs_and_many_experts, 0, ROUTE_COUNT);
    tcase_add_loop_test(t, costs_reach_the_gate_alone, 0, ROUTE_COUNT);
    tcase_add_loop_test(t, a_still_gate_gets_no_gradient_and_the_experts_theirs, 0,
                        ROUTE_COUNT);
    tcase_add_test(t, router_learns_unless_unscaled);
    tcase_add_test(t, backward_writes_all_and_unused_experts_get_nothing);
    tcase_add_loop_test(t, one_row_is_the_row_of_a_batch, 0, ROUTE_COUNT);
    tcase_add_test(t, noise_decides_who_is_reached_not_by_how_much);
    tcase_add_test(t, hidden_activations_are_the_experts_own);
    tcase_add_loop_test(t, ranges_tile_theta, 0, ROUTE_COUNT);
    tcase_add_test(t, start_is_reproducible_and_nearly_even);
    tcase_add_test(t, a_prior_is_added);
    tcase_add_test(t, bad_shapes_are_named);
    tcase_add_test(t, routes_have_words);
    tcase_add_loop_test(t, memory_is_got_at_the_start_only, 0, ROUTE_COUNT);
    suite_add_tcase(s, t);
    return s;
}
