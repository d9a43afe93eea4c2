#include "policy/nucb.h"

#include "support/suites.h"

#include "base/rng.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 64 }; /* parameters of the networks below, at most */

static struct nucb_cfg small(enum nucb_cov cov)
{
    struct nucb_cfg c = nucb_cfg_default(3, 2);
    c.width = 4;
    c.depth = 3;
    c.cov = cov;
    return c;
}

/* ---- the plain twin: Eq. 3 and 4 in double, the gradient by differences ---- */

/* psi' f without b */
static double plain(const struct nucb_cfg *c, const float *theta, const float *x,
                    const float *psi)
{
    double h[16] = {0}, next[16], norm = 0;
    for (int k = 0; k < c->dim; k++)
        norm += (double)x[k] * (double)x[k];
    for (int k = 0; k < c->dim; k++)
        h[k] = (double)x[k] / sqrt(norm);
    int in = c->dim;
    double f = 0;
    for (int l = 0; l < c->depth; l++) {
        bool last = l == c->depth - 1;
        int out = last ? c->tasks : c->width;
        for (int j = 0; j < out; j++) {
            next[j] = 0;
            for (int k = 0; k < in; k++)
                next[j] += (double)*theta++ * h[k];
            if (last) f += (double)psi[j] * sqrt(c->width) * next[j];
            if (!last && !(next[j] > 0)) next[j] = 0;
        }
        memcpy(h, next, sizeof *h * (size_t)out);
        in = out;
    }
    return f;
}

static void plain_gradient(double *g, const struct nucb_cfg *c, const float *theta,
                           const float *x, const float *psi)
{
    float moved[SMALL];
    size_t p = nucb_params(c);
    memcpy(moved, theta, sizeof *theta * p);
    for (size_t i = 0; i < p; i++) {
        float was = moved[i], up = was + 0x1p-10f, down = was - 0x1p-10f;
        moved[i] = up;
        double high = plain(c, moved, x, psi);
        moved[i] = down;
        double low = plain(c, moved, x, psi);
        moved[i] = was;
        g[i] = (high - low) / ((double)up - (double)down);
    }
}

/* y of Z y = g by elimination; Z (p, p) is used up. */
static double solved(double *z, const double *g, size_t p, bool diagonal)
{
    double y[SMALL], sum = 0;
    if (diagonal) {
        for (size_t i = 0; i < p; i++)
            sum += g[i] * g[i] / z[i * p + i];
        return sum;
    }
    memcpy(y, g, sizeof *y * p);
    for (size_t i = 0; i < p; i++)
        for (size_t r = i + 1; r < p; r++) {
            double by = z[r * p + i] / z[i * p + i];
            for (size_t j = i; j < p; j++)
                z[r * p + j] -= by * z[i * p + j];
            y[r] -= by * y[i];
        }
    for (size_t i = p; i-- > 0;) {
        for (size_t j = i + 1; j < p; j++)
            y[i] -= z[i * p + j] * y[j];
        y[i] /= z[i * p + i];
    }
    for (size_t i = 0; i < p; i++)
        sum += g[i] * y[i];
    return sum;
}

static void on_simplex(float *x, int n, struct rng *r)
{
    double sum = 0, drawn[NUCB_DIM_MAX];
    for (int k = 0; k < n; k++)
        sum += drawn[k] = rng_exponential(r, 1);
    for (int k = 0; k < n; k++)
        x[k] = (float)(drawn[k] / sum);
}

static void widths(enum nucb_cov cov)
{
    struct nucb_cfg c = small(cov);
    c.steps = 0; /* theta stays, so that Z is a sum over one network */
    c.lambda = 0.5;
    struct nucb *b = nucb_new(&c, 1, NULL);
    size_t p = nucb_params(&c);
    ck_assert_int_eq(p, 3 * 4 + 4 * 4 + 4 * 2);
    struct rng r;
    rng_init(&r, 2, 0);
    for (size_t i = 0; i < p; i++)
        nucb_theta(b)[i] += 0.2f * (float)rng_normal(&r);

    double *z = calloc(p * p, sizeof *z), *copy = calloc(p * p, sizeof *z), g[SMALL];
    for (size_t i = 0; i < p; i++)
        z[i * p + i] = c.lambda;
    const float zero[2] = {0};
    for (int t = 0; t < 30; t++) {
        float x[3], psi[2];
        on_simplex(x, 3, &r);
        on_simplex(psi, 2, &r);
        plain_gradient(g, &c, nucb_theta(b), x, psi);

        struct nucb_score s;
        const float *at = x;
        nucb_score(&s, b, &at, 1, psi);
        memcpy(copy, z, sizeof *z * p * p);
        double want = c.gamma * sqrt(solved(copy, g, p, cov == NUCB_DIAGONAL) / c.width);
        ck_assert_double_eq_tol(s.width, want, 2e-4 * want);
        ck_assert_double_eq_tol(s.mean, plain(&c, nucb_theta(b), x, psi), 1e-5);

        ck_assert_int_eq(nucb_learn(b, x, psi, zero, NULL), 0);
        for (size_t i = 0; i < p; i++)
            for (size_t j = 0; j < p; j++)
                z[i * p + j] += g[i] * g[j] / c.width;
    }
    free(z);
    free(copy);
    nucb_free(b);
}

START_TEST(the_diagonal_against_the_plain_twin)
{
    widths(NUCB_DIAGONAL);
}
END_TEST

START_TEST(all_of_z_against_the_plain_twin)
{
    widths(NUCB_FULL);
}
END_TEST

START_TEST(many_candidates_at_once)
{
    enum { N = 150 }; /* more than one pass takes */
    struct nucb_cfg c = nucb_cfg_default(5, 3);
    struct nucb *b = nucb_new(&c, 3, NULL);
    struct rng r;
    rng_init(&r, 4, 0);
    float x[N][5], psi[3] = {.2f, .3f, .5f}, reward[3] = {1, 0, .5f};
    const float *at[N];
    for (int i = 0; i < N; i++) {
        on_simplex(x[i], 5, &r);
        at[i] = x[i];
    }
    ck_assert_int_eq(nucb_learn(b, x[7], psi, reward, NULL), 0);
    struct nucb_score all[N], one;
    nucb_score(all, b, at, N, psi);
    for (int i = 0; i < N; i++) {
        nucb_score(&one, b, &at[i], 1, psi);
        ck_assert_double_eq_tol(all[i].mean, one.mean, 1e-5);
        ck_assert_double_eq_tol(all[i].width, one.width, 1e-5);
    }
    nucb_free(b);
}
END_TEST

START_TEST(knowledge_narrows_where_it_was_looked)
{
    struct nucb_cfg c = nucb_cfg_default(4, 1);
    c.lambda = .1; /* a diagonal sees few of the parameters' common causes */
    struct nucb *b = nucb_new(&c, 5, NULL);
    const float here[4] = {1, 0, 0, 0}, there[4] = {0, 0, .5f, .5f}, psi[1] = {1};
    const float *at[2] = {here, there};
    struct nucb_score before[2], after[2];
    nucb_score(before, b, at, 2, psi);
    const float reward[1] = {.5f};
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(nucb_learn(b, here, psi, reward, NULL), 0);
    nucb_score(after, b, at, 2, psi);
    ck_assert_double_lt(after[0].width, .6 * before[0].width);
    ck_assert_double_gt(after[1].width / before[1].width,
                        after[0].width / before[0].width);
    nucb_free(b);
}
END_TEST

/* ---- learning ---- */

START_TEST(a_new_network_says_the_mean)
{
    struct nucb_cfg c = nucb_cfg_default(4, 2);
    c.steps = 0;
    struct nucb *b = nucb_new(&c, 6, NULL);
    const float x[4] = {.1f, .2f, .3f, .4f}, psi[2] = {.5f, .5f};
    float out[2];
    nucb_predict(out, b, x);
    ck_assert_double_eq_tol((double)out[0], 0, 1e-6);
    ck_assert_int_eq(nucb_learn(b, x, psi, (float[]){1, 5}, NULL), 0);
    ck_assert_int_eq(nucb_learn(b, x, psi, (float[]){2, 9}, (float[]){3, 0}), 0);
    nucb_predict(out, b, (float[]){1, 0, 0, 0});
    ck_assert_double_eq_tol((double)out[0], (1 + 3 * 2) / 4.0, 1e-6);
    ck_assert_double_eq_tol((double)out[1], 5, 1e-6);
    nucb_free(b);
}
END_TEST

START_TEST(one_step_is_the_gradient_of_the_loss)
{
    /* two rewards of one place, so that the base is known and every batch is the same up to
     * which of the two it holds; the step is linear in the residual */
    struct nucb_cfg c = small(NUCB_DIAGONAL);
    c.steps = 1, c.batch = 1, c.eta = 0.01, c.lambda = 0.25, c.history = 1;
    struct nucb *b = nucb_new(&c, 7, NULL);
    size_t p = nucb_params(&c);
    float first[SMALL], before[SMALL];
    memcpy(first, nucb_theta(b), sizeof *first * p);
    struct rng r;
    rng_init(&r, 8, 0);
    for (size_t i = 0; i < p; i++)
        before[i] = nucb_theta(b)[i] += 0.2f * (float)rng_normal(&r);

    const float x[3] = {.2f, .5f, .3f}, reward[2] = {.9f, -.4f}, trust[2] = {1, .5f};
    const float psi[2] = {.5f, .5f};
    ck_assert_int_eq(nucb_learn(b, x, psi, reward, trust), 0);

    /* with one record, b is the reward itself: the residual is the network's output */
    double step[SMALL] = {0}, g[SMALL];
    for (int v = 0; v < 2; v++) {
        float of[2] = {0};
        of[v] = 1;
        plain_gradient(g, &c, before, x, of);
        double residual = plain(&c, before, x, of);
        for (size_t i = 0; i < p; i++)
            step[i] += (double)trust[v] * residual * g[i];
    }
    for (size_t i = 0; i < p; i++) {
        double want = (double)before[i] - c.eta / c.width * step[i] -
                      c.eta * c.lambda * ((double)before[i] - (double)first[i]);
        ck_assert_double_eq_tol((double)nucb_theta(b)[i], want, 1e-5);
    }
    nucb_free(b);
}
END_TEST

static double hill(const float *x, int task)
{
    static const double top[2][4] = {{.6, .2, .1, .1}, {.1, .1, .3, .5}};
    double d = 0;
    for (int k = 0; k < 4; k++)
        d += pow((double)x[k] - top[task][k], 2);
    return 1 - d;
}

START_TEST(it_learns_two_hills)
{
    struct nucb_cfg c = nucb_cfg_default(4, 2);
    struct nucb *b = nucb_new(&c, 9, NULL);
    struct rng r;
    rng_init(&r, 10, 0);
    const float psi[2] = {.5f, .5f};
    for (int t = 0; t < 600; t++) {
        float x[4];
        on_simplex(x, 4, &r);
        float reward[2] = {(float)(hill(x, 0) + .05 * rng_normal(&r)),
                           (float)(hill(x, 1) + .05 * rng_normal(&r))};
        /* sometimes a task has no sample */
        float trust[2] = {1, t % 3 ? 1.0f : 0.0f};
        if (trust[1] == 0.0f) reward[1] = NAN;
        ck_assert_int_eq(nucb_learn(b, x, psi, reward, trust), 0);
    }
    ck_assert_int_eq(nucb_count(b), 600);
    double wrong = 0, spread = 0;
    for (int t = 0; t < 200; t++) {
        float x[4], out[2];
        on_simplex(x, 4, &r);
        nucb_predict(out, b, x);
        for (int v = 0; v < 2; v++) {
            wrong += pow((double)out[v] - hill(x, v), 2);
            spread += pow(.75 - hill(x, v), 2);
        }
    }
    ck_assert_double_lt(wrong, .12 * spread);
    nucb_free(b);
}
END_TEST

/* A task that is forgotten says what a new network says, and is as unsure. */
START_TEST(a_task_that_is_forgotten_begins_anew)
{
    for (int cov = NUCB_DIAGONAL; cov <= NUCB_FULL; cov++) {
        struct nucb_cfg c = small((enum nucb_cov)cov);
        struct nucb *b = nucb_new(&c, 9, NULL);
        struct rng r;
        rng_init(&r, 10, 0);
        const float psi[2] = {.5f, .5f}, other[2] = {1, 0}, gone[2] = {0, 1};
        float x[3] = {.2f, .3f, .5f}, before[2], after[2];
        const float *at = x;
        struct nucb_score was[2], now[2];
        for (int t = 0; t < 60; t++) {
            float y[3], reward[2] = {.3f, .9f};
            on_simplex(y, 3, &r);
            ck_assert_int_eq(nucb_learn(b, y, psi, reward, NULL), 0);
        }
        nucb_predict(before, b, x);
        nucb_score(&was[0], b, &at, 1, other);
        nucb_score(&was[1], b, &at, 1, gone);
        ck_assert_double_gt((double)before[1], .8);
        nucb_forget(b, 1);
        nucb_predict(after, b, x);
        ck_assert_float_eq(after[0], before[0]);
        ck_assert_float_lt(fabsf(after[1]), .2f);
        nucb_score(&now[0], b, &at, 1, other);
        nucb_score(&now[1], b, &at, 1, gone);
        ck_assert_double_eq_tol(now[0].mean, was[0].mean, 1e-9);
        ck_assert_double_gt(now[1].width, was[1].width);
        /* what is learned of the other one does not bring it back */
        float reward[2] = {.3f, NAN};
        const float trust[2] = {1, 0};
        for (int t = 0; t < 60; t++)
            ck_assert_int_eq(nucb_learn(b, x, other, reward, trust), 0);
        nucb_predict(after, b, x);
        ck_assert_float_lt(fabsf(after[1]), .2f);
        nucb_free(b);
    }
}
END_TEST

START_TEST(rewards_that_are_no_numbers)
{
    struct nucb_cfg c = small(NUCB_DIAGONAL);
    struct nucb *b = nucb_new(&c, 11, NULL);
    const float x[3] = {1, 0, 0}, psi[2] = {.5f, .5f};
    ck_assert_int_eq(nucb_learn(b, x, psi, (float[]){NAN, 0}, NULL), ERR_NUMERIC);
    ck_assert_int_eq(nucb_learn(b, x, psi, (float[]){0, 0}, (float[]){1, INFINITY}),
                     ERR_NUMERIC);
    ck_assert_int_eq(nucb_count(b), 0);
    /* no task had a sample: nothing to remember */
    ck_assert_int_eq(nucb_learn(b, x, psi, (float[]){NAN, NAN}, (float[]){0, 0}), 0);
    ck_assert_int_eq(nucb_count(b), 0);
    nucb_free(b);
}
END_TEST

START_TEST(steps_that_blow_up_are_taken_back)
{
    struct nucb_cfg c = small(NUCB_DIAGONAL);
    struct nucb *b = nucb_new(&c, 12, NULL);
    const float psi[2] = {.5f, .5f};
    ck_assert_int_eq(nucb_learn(b, (float[]){1, 0, 0}, psi, (float[]){1, 0}, NULL), 0);
    size_t bytes = nucb_state_size(&c);
    void *state = malloc(bytes);
    nucb_state_get(b, state);
    nucb_free(b);

    c.eta = 1e30;
    b = nucb_new(&c, 12, NULL);
    ck_assert_int_eq(nucb_state_put(b, state, NULL), 0);
    float before[SMALL];
    bytes = sizeof *before * nucb_params(&c);
    memcpy(before, nucb_theta(b), bytes);
    int rc = nucb_learn(b, (float[]){0, 1, 0}, psi, (float[]){0, 1}, NULL);
    ck_assert_int_eq(rc, ERR_NUMERIC);
    free(state);
    ck_assert_mem_eq(before, nucb_theta(b), bytes);
    nucb_free(b);
}
END_TEST

/* ---- state and limits ---- */

static void some_rounds(struct nucb *b, int n, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0);
    for (int t = 0; t < n; t++) {
        float x[3], psi[2], reward[2] = {(float)rng_uniform(&r), (float)rng_uniform(&r)};
        on_simplex(x, 3, &r);
        on_simplex(psi, 2, &r);
        ck_assert_int_eq(nucb_learn(b, x, psi, reward, NULL), 0);
    }
}

START_TEST(a_state_goes_on_where_it_was)
{
    for (int cov = 0; cov < 2; cov++) {
        struct nucb_cfg c = small(cov ? NUCB_FULL : NUCB_DIAGONAL);
        c.history = 10;
        struct nucb *a = nucb_new(&c, 13, NULL), *b = nucb_new(&c, 14, NULL);
        size_t n = nucb_state_size(&c);
        void *x = malloc(n), *y = malloc(n);
        some_rounds(a, 25, 15);
        nucb_state_get(a, x);
        ck_assert_int_eq(nucb_state_put(b, x, NULL), 0);
        some_rounds(a, 5, 16);
        some_rounds(b, 5, 16);
        nucb_state_get(a, x);
        nucb_state_get(b, y);
        ck_assert_mem_eq(x, y, n);

        /* a NaN among the weights, the last number of the state */
        memset((char *)x + n - 8, 0xff, 8);
        ck_assert_int_eq(nucb_state_put(b, x, NULL), ERR_CORRUPT);
        memset(x, 0xff, 8); /* count below 0 */
        ck_assert_int_eq(nucb_state_put(b, x, NULL), ERR_CORRUPT);
        nucb_state_get(b, x);
        ck_assert_mem_eq(x, y, n);
        free(x);
        free(y);
        nucb_free(a);
        nucb_free(b);
    }
}
END_TEST

START_TEST(limits_of_the_configuration)
{
    struct nucb_cfg good = nucb_cfg_default(4, 4), c;
    ck_assert_int_eq(nucb_cfg_check(&good, NULL), 0);
#define BAD(member, value)                                   \
    do {                                                     \
        struct err e = {0};                                  \
        c = good;                                            \
        c.member = (value);                                  \
        ck_assert_int_eq(nucb_cfg_check(&c, &e), ERR_RANGE); \
        ck_assert_str_eq(e.field, #member);                  \
    } while (0)
    BAD(dim, 0);
    BAD(dim, NUCB_DIM_MAX + 1);
    BAD(tasks, 0);
    BAD(tasks, NUCB_TASKS_MAX + 1);
    BAD(width, 3);
    BAD(width, 0);
    BAD(width, NUCB_WIDTH_MAX + 2);
    BAD(depth, 1);
    BAD(depth, 5);
    BAD(history, 0);
    BAD(steps, -1);
    BAD(batch, 0);
    BAD(batch, 65);
    BAD(lambda, 0);
    BAD(gamma, -1);
    BAD(eta, (double)NAN);
    BAD(cov, 2);
#undef BAD
    c = good;
    c.cov = NUCB_FULL;
    c.width = 300;
    ck_assert_int_eq(nucb_cfg_check(&c, NULL), ERR_RANGE);
    ck_assert_ptr_null(nucb_new(&c, 1, NULL));
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return nucb_new(ctx, 1, e);
}

static void drop(void *made)
{
    nucb_free(made);
}

START_TEST(without_memory)
{
    struct nucb_cfg c = small(NUCB_FULL);
    ck_assert_int_eq(alloc_each_fails(make, drop, &c), 1 + 13 + 4 + 3);
}
END_TEST

SUITE(policy_nucb, the_diagonal_against_the_plain_twin, all_of_z_against_the_plain_twin,
      many_candidates_at_once, knowledge_narrows_where_it_was_looked,
      a_new_network_says_the_mean, one_step_is_the_gradient_of_the_loss,
      it_learns_two_hills, a_task_that_is_forgotten_begins_anew,
      rewards_that_are_no_numbers, steps_that_blow_up_are_taken_back,
      a_state_goes_on_where_it_was, limits_of_the_configuration, without_memory);
