#include "policy/identity.h"

#include "support/suites.h"

#include "base/rng.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Three classes of unit Gaussians in 6 dimensions, scales and offsets far from standard, priors
 * .5, .3, .2: the posterior is known, and so is the best there is. */
enum { DIM = 6, CLASSES = 3 };
static const double PRIOR[CLASSES] = {.5, .3, .2};
static const double CENTRE[CLASSES][DIM] = {
    {0, 0, 0, 0, 0, 0}, {1.5, .5, 0, 0, 0, 0}, {0, -1, 1.5, 0, 0, 0}};
static const double SCALE[DIM] = {1, 100, .01, 1, 5, 1};
static const double OFFSET[DIM] = {0, 1000, -3, 0, 2, 7};

static int draw(float *x, struct rng *r, const double *prior)
{
    double u = rng_uniform(r);
    int y = u < prior[0] ? 0 : u < prior[0] + prior[1] ? 1 : 2;
    for (int j = 0; j < DIM; j++)
        x[j] = (float)(OFFSET[j] + SCALE[j] * (CENTRE[y][j] + rng_normal(r)));
    return y;
}

static int bayes(double *p, const float *x)
{
    double sum = 0;
    int best = 0;
    for (int v = 0; v < CLASSES; v++) {
        double d2 = 0;
        for (int j = 0; j < DIM; j++) {
            double d = ((double)x[j] - OFFSET[j]) / SCALE[j] - CENTRE[v][j];
            d2 += d * d;
        }
        sum += p[v] = PRIOR[v] * exp(-d2 / 2);
        if (p[v] > p[best]) best = v;
    }
    for (int v = 0; v < CLASSES; v++)
        p[v] /= sum;
    return best;
}

static struct identity *make(int dim, int classes)
{
    struct identity_cfg cfg = identity_cfg_default(dim, classes);
    struct err e = {0};
    struct identity *h = identity_new(&cfg, &e);
    ck_assert_msg(h != NULL, "%s", e.detail);
    return h;
}

static void learn(struct identity *h, const float *x, int y)
{
    ck_assert_int_eq(identity_learn(h, x, y, NULL), 0);
}

static struct identity *taught(int examples)
{
    struct identity *h = make(DIM, CLASSES);
    struct rng r;
    rng_init(&r, 1, 0);
    float x[DIM];
    for (int i = 0; i < examples; i++) {
        int y = draw(x, &r, PRIOR);
        learn(h, x, y);
    }
    return h;
}

START_TEST(it_comes_close_to_the_best_there_is)
{
    struct identity *h = taught(8000);
    struct rng r;
    rng_init(&r, 2, 0);
    float x[DIM];
    int ours = 0, best = 0;
    double off = 0;
    enum { N = 10000 };
    for (int i = 0; i < N; i++) {
        int y = draw(x, &r, PRIOR);
        double p[CLASSES], q[CLASSES];
        ours += identity_guess(p, h, x) == y;
        best += bayes(q, x) == y;
        for (int v = 0; v < CLASSES; v++)
            off += fabs(p[v] - q[v]) / (CLASSES * N);
    }
    /* guessing the most frequent class would be right in half the cases */
    ck_assert_int_gt(best, (int)(.7 * N));
    ck_assert_msg(best - ours < .01 * N, "%d of %d right, at best %d", ours, N, best);
    ck_assert_msg(off < .03, "probabilities are off by %g", off);

    struct identity_stats s;
    identity_stats(&s, h);
    ck_assert_uint_eq(s.examples, 8000);
    ck_assert_uint_eq(s.seen[0] + s.seen[1] + s.seen[2], 8000);
    ck_assert_double_eq_tol(s.accuracy, (double)best / N, .04);
    ck_assert_double_lt(s.calibration, .05);
    ck_assert_double_gt(s.log_loss, 0);
    identity_free(h);
}
END_TEST

/* Classes one after the other, each seen only in its own time. */
static double after_a_sequence(int rehearsed)
{
    struct identity_cfg cfg = identity_cfg_default(DIM, CLASSES);
    cfg.rehearse = rehearsed;
    struct identity *h = identity_new(&cfg, NULL);
    struct rng r;
    rng_init(&r, 3, 0);
    float x[DIM];
    for (int v = 0; v < CLASSES; v++) {
        double only[CLASSES] = {v == 0, v == 1, v == 2};
        for (int i = 0; i < 1000; i++)
            learn(h, x, draw(x, &r, only));
    }
    static const double equal[CLASSES] = {1. / 3, 1. / 3, 1. / 3};
    int right = 0;
    for (int i = 0; i < 3000; i++)
        right += draw(x, &r, equal) == identity_guess(NULL, h, x);
    identity_free(h);
    return right / 3000.0;
}

START_TEST(rehearsal_keeps_what_came_first)
{
    double with = after_a_sequence(1), without = after_a_sequence(0);
    ck_assert_msg(with > .7 && with > without + .03, "with %g, without %g", with,
                  without);
}
END_TEST

START_TEST(one_example_by_hand)
{
    struct identity_cfg cfg = identity_cfg_default(1, 2);
    cfg.rehearse = 0;
    cfg.l2 = 0;
    struct identity *h = identity_new(&cfg, NULL);
    double p[2], z[2];
    ck_assert_int_eq(identity_guess(p, h, (float[]){3}), 0);
    ck_assert_double_eq(p[0], .5);

    /* no spread yet, so the bias alone learns: gradient p - y = (.5, -.5), and
     * b = -+ .05 * .5 / sqrt(1 + .25) */
    learn(h, (float[]){3}, 1);
    double b = .05 * .5 / sqrt(1.25);
    ck_assert_int_eq(identity_scores(z, h, (float[]){3}), 0);
    ck_assert_double_eq_tol(z[0], -b, 1e-6);
    ck_assert_double_eq_tol(z[1], b, 1e-6);

    /* 3 and 5: mean 4, deviation 1, so 5 is u = 1; class 0 */
    learn(h, (float[]){5}, 0);
    double p0 = 1 / (1 + exp(2 * b)), g = p0 - 1;
    double w = -.05 * g / sqrt(1 + g * g), b0 = -b - .05 * g / sqrt(1.25 + g * g);
    ck_assert_int_eq(identity_scores(z, h, (float[]){5}), 0);
    struct identity_stats s;
    identity_stats(&s, h);
    ck_assert_double_eq_tol(z[0] * s.temperature, b0 + w, 1e-6);
    ck_assert_int_eq(identity_scores(z, h, (float[]){3}), 0);
    ck_assert_double_eq_tol(z[0] * s.temperature, b0 - w, 1e-6);
    /* 1000 is far out: clipped to u = 5 */
    ck_assert_int_eq(identity_scores(z, h, (float[]){1000}), 0);
    ck_assert_double_eq_tol(z[0] * s.temperature, b0 + 5 * w, 1e-6);
    identity_free(h);
}
END_TEST

START_TEST(posteriors_by_hand)
{
    struct identity *h = taught(2000);
    struct identity_stats st;
    identity_stats(&st, h);
    double entropy = 0, s[CLASSES], p[CLASSES], q[CLASSES], want[CLASSES], sum = 0;
    double prior[CLASSES];
    float x[DIM];
    struct rng r;
    rng_init(&r, 4, 0);
    draw(x, &r, PRIOR);
    for (int v = 0; v < CLASSES; v++) {
        s[v] = ((double)st.seen[v] + 1) / ((double)st.examples + CLASSES);
        entropy -= s[v] * log(s[v]);
        prior[v] = (v + 1) / (CLASSES * (CLASSES + 1) / 2.0);
    }
    double k = 1 - st.log_loss / entropy;
    ck_assert(k > 0 && k < 1);
    ck_assert_double_eq_tol(identity_skill(h), k, 1e-12);
    identity_guess(p, h, x);
    for (int v = 0; v < CLASSES; v++)
        sum += want[v] = prior[v] * pow(p[v] / s[v], k);
    memcpy(q, prior, sizeof q);
    int best = identity_posterior(q, h, x, q); /* in place */
    for (int v = 0; v < CLASSES; v++) {
        ck_assert_double_eq_tol(q[v], want[v] / sum, 1e-12);
        ck_assert_double_le(q[v], q[best]);
    }
    x[0] = NAN;
    identity_posterior(q, h, x, prior);
    for (int v = 0; v < CLASSES; v++)
        ck_assert_double_eq_tol(q[v], prior[v], 1e-12);
    identity_free(h);
}
END_TEST

/* Inputs that have nothing to do with the class. */
START_TEST(what_tells_nothing_changes_nothing)
{
    struct identity_cfg cfg = identity_cfg_default(DIM, CLASSES);
    struct identity *h = identity_new(&cfg, NULL);
    ck_assert_double_eq(identity_skill(h), 0);
    struct rng r;
    rng_init(&r, 9, 0);
    float x[DIM];
    for (int i = 0; i < 1500; i++) {
        for (int j = 0; j < DIM; j++)
            x[j] = (float)rng_normal(&r);
        learn(h, x, (int)rng_below(&r, CLASSES));
    }
    double q[CLASSES], prior[CLASSES] = {0}, p[CLASSES];
    prior[0] = .7;
    prior[1] = .3;
    identity_posterior(q, h, x, prior);
    identity_guess(p, h, x);
    ck_assert_double_lt(identity_skill(h), .01);
    ck_assert_double_eq_tol(q[0], .7, .01);
    identity_free(h);
}
END_TEST

START_TEST(growing_leaves_the_older_scores_alone)
{
    struct identity *h = taught(2000);
    float x[DIM];
    struct rng r;
    rng_init(&r, 4, 0);
    double before[50][CLASSES], p_before[50][CLASSES], xs[50][DIM];
    for (int i = 0; i < 50; i++) {
        draw(x, &r, PRIOR);
        for (int j = 0; j < DIM; j++)
            xs[i][j] = (double)x[j];
        ck_assert_int_eq(identity_scores(before[i], h, x), 0);
        identity_guess(p_before[i], h, x);
    }
    ck_assert_int_eq(identity_grow(h, NULL), CLASSES);
    ck_assert_int_eq(identity_classes(h), CLASSES + 1);
    for (int i = 0; i < 50; i++) {
        double z[CLASSES + 1], p[CLASSES + 1];
        for (int j = 0; j < DIM; j++)
            x[j] = (float)xs[i][j];
        ck_assert_int_eq(identity_scores(z, h, x), 0);
        ck_assert_mem_eq(z, before[i], sizeof before[i]);
        identity_guess(p, h, x);
        for (int v = 1; v < CLASSES; v++)
            ck_assert_double_eq_tol(p[v] / p[0], p_before[i][v] / p_before[i][0],
                                    1e-9 * p_before[i][v] / p_before[i][0]);
        ck_assert_double_lt(p[CLASSES], .2);
    }

    /* the newcomer is learned, far from all others */
    static const float far[DIM] = {-4, 1000, -3, 4, 2, 7};
    ck_assert_int_ne(identity_guess(NULL, h, far), CLASSES);
    for (int i = 0; i < 300; i++) {
        for (int j = 0; j < DIM; j++)
            x[j] = far[j] + (float)(.1 * SCALE[j] * rng_normal(&r));
        learn(h, x, CLASSES);
    }
    ck_assert_int_eq(identity_guess(NULL, h, far), CLASSES);

    struct err e = {0};
    for (int v = CLASSES + 1; v < 16; v++)
        ck_assert_int_eq(identity_grow(h, NULL), v);
    ck_assert_int_eq(identity_grow(h, &e), ERR_RANGE);
    ck_assert_str_ne(e.detail, "");
    identity_free(h);
}
END_TEST

START_TEST(a_class_that_is_forgotten_begins_anew)
{
    struct identity *h = taught(2000);
    struct identity_stats s;
    double before[50][CLASSES], z[CLASSES];
    float xs[50][DIM];
    struct rng r;
    rng_init(&r, 4, 0);
    for (int i = 0; i < 50; i++) {
        draw(xs[i], &r, PRIOR);
        ck_assert_int_eq(identity_scores(before[i], h, xs[i]), 0);
    }
    identity_forget(h, 1);
    identity_stats(&s, h);
    ck_assert_uint_eq(s.seen[1], 0);
    ck_assert_uint_eq(s.seen[0] + s.seen[2], s.examples);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(identity_scores(z, h, xs[i]), 0);
        for (int v = 0; v < CLASSES; v++)
            if (v != 1) ck_assert_double_eq_tol(z[v], before[i][v], 1e-6);
        ck_assert_double_eq(z[1], i ? before[49][1] : z[1]);
        before[49][1] = z[1]; /* the same whatever the input */
    }
    /* what is kept of it is a state, and it learns on */
    size_t n = identity_state_size(h);
    void *bytes = malloc(n);
    identity_state_get(h, bytes);
    ck_assert_int_eq(identity_state_put(h, bytes, n, NULL), 0);
    free(bytes);
    for (int i = 0; i < 300; i++)
        learn(h, xs[0], 1);
    ck_assert_int_eq(identity_guess(NULL, h, xs[0]), 1);
    identity_free(h);
}
END_TEST

/* Labels by chance, features without meaning: it must not become sure of anything. */
START_TEST(it_stays_unsure_where_there_is_nothing_to_know)
{
    struct identity *h = make(20, 2);
    struct rng r;
    rng_init(&r, 5, 0);
    float x[20];
    double sure = 0;
    for (int i = 0; i < 4000; i++) {
        for (int j = 0; j < 20; j++)
            x[j] = (float)rng_normal(&r);
        double p[2];
        int guess = identity_guess(p, h, x);
        if (i >= 2000) sure += p[guess] / 2000;
        learn(h, x, (int)rng_below(&r, 2));
    }
    struct identity_stats s;
    identity_stats(&s, h);
    ck_assert_double_lt(sure, .6);
    ck_assert_double_eq_tol(s.accuracy, .5, .06);
    ck_assert_double_lt(s.calibration, .08);
    identity_free(h);
}
END_TEST

START_TEST(a_copy_decides_alike_and_does_not_follow)
{
    struct identity *h = taught(500), *twin = make(DIM, CLASSES);
    identity_copy(twin, h);
    struct identity_stats s;
    identity_stats(&s, twin);
    ck_assert_uint_eq(s.examples, 500);
    ck_assert_uint_eq(s.seen[0] + s.seen[1] + s.seen[2], 500);
    float x[DIM];
    struct rng r;
    rng_init(&r, 6, 0);
    double a[CLASSES], b[CLASSES];
    draw(x, &r, PRIOR);
    identity_guess(a, h, x);
    identity_guess(b, twin, x);
    ck_assert_mem_eq(a, b, sizeof a);
    for (int i = 0; i < 100; i++)
        learn(h, x, 2);
    identity_guess(a, twin, x);
    ck_assert_mem_eq(a, b, sizeof a);
    identity_free(twin);
    identity_free(h);
}
END_TEST

START_TEST(a_state_goes_on_as_if_nothing_had_been)
{
    struct identity *a = taught(700), *b = make(DIM, CLASSES);
    ck_assert_int_eq(identity_grow(a, NULL), CLASSES);
    size_t n = identity_state_size(a);
    char *state = malloc(n), *other = malloc(n);
    identity_state_get(a, state);
    ck_assert_int_eq(identity_state_put(b, state, n, NULL), 0);
    ck_assert_int_eq(identity_classes(b), CLASSES + 1);
    struct rng r;
    rng_init(&r, 7, 0);
    float x[DIM];
    for (int i = 0; i < 300; i++) {
        int y = draw(x, &r, PRIOR);
        learn(a, x, y);
        learn(b, x, y);
    }
    identity_state_get(a, state);
    identity_state_get(b, other);
    /* all but what the configurations began with */
    ck_assert_mem_eq(state + sizeof(struct identity_cfg),
                     other + sizeof(struct identity_cfg),
                     n - sizeof(struct identity_cfg));
    free(other);
    free(state);
    identity_free(b);
    identity_free(a);
}
END_TEST

static void refused(struct identity *h, const char *state, size_t n)
{
    struct err e = {0};
    struct identity_stats s;
    ck_assert_int_eq(identity_state_put(h, state, n, &e), ERR_CORRUPT);
    ck_assert_str_ne(e.detail, "");
    identity_stats(&s, h);
    ck_assert_uint_eq(s.examples, 0);
}

START_TEST(another_state_is_refused)
{
    struct identity *a = taught(100), *b = make(DIM, CLASSES),
                    *wide = make(DIM + 1, CLASSES);
    size_t n = identity_state_size(a);
    char *state = malloc(n);
    identity_state_get(a, state);
    refused(b, state, n - 1);
    refused(wide, state, n);
    float nan_ = NAN;
    memcpy(state + n - sizeof nan_, &nan_, sizeof nan_);
    refused(b, state, n);
    identity_state_get(a, state);
    /* one example more than the classes have together */
    uint64_t more = 101;
    char *at = state + sizeof(struct identity_cfg) + 8;
    uint64_t was;
    memcpy(&was, at, sizeof was);
    ck_assert_uint_eq(was, 100);
    memcpy(at, &more, sizeof more);
    refused(b, state, n);
    free(state);
    identity_free(wide);
    identity_free(b);
    identity_free(a);
}
END_TEST

START_TEST(what_is_not_finite_teaches_nothing)
{
    struct identity *h = taught(100);
    float x[DIM] = {0, 0, NAN, 0, 0, 0};
    double p[CLASSES];
    struct err e = {0};
    size_t n = identity_state_size(h);
    char *before = malloc(n), *after = malloc(n);
    identity_state_get(h, before);
    ck_assert_int_eq(identity_learn(h, x, 1, &e), ERR_NUMERIC);
    identity_state_get(h, after);
    ck_assert_mem_eq(before, after, n);
    ck_assert_int_eq(identity_guess(p, h, x), 0);
    ck_assert_double_eq_tol(p[2], 1. / 3, 1e-15);
    free(after);
    free(before);
    identity_free(h);
}
END_TEST

START_TEST(a_configuration_has_limits)
{
    struct identity_cfg good = identity_cfg_default(4, 2), bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = good;
    bad[0].dim = 0;
    bad[1].classes = 0;
    bad[2].classes = 17;
    bad[3].classes_max = IDENTITY_CLASSES_MAX + 1;
    bad[4].rate = 0;
    bad[5].l2 = -1;
    bad[6].memory = -1;
    bad[7].rehearse = 65;
    bad[8].rate = NAN;
    for (int i = 0; i < 9; i++) {
        struct err e = {0};
        ck_assert_ptr_null(identity_new(&bad[i], &e));
        ck_assert_int_eq(e.code, ERR_RANGE);
        ck_assert_str_ne(e.field, "");
    }
}
END_TEST

START_TEST(learning_allocates_nothing)
{
    struct identity *h = make(DIM, CLASSES);
    float x[DIM] = {1, 2, 3, 4, 5, 6};
    int failed = 0;
    alloc_watch();
    for (int i = 0; i < 200; i++) {
        x[i % DIM] += 1;
        failed += identity_learn(h, x, i % CLASSES, NULL);
    }
    ck_assert_int_eq(alloc_calls(), 0);
    ck_assert_int_eq(failed, 0);
    identity_free(h);
}
END_TEST

static void *make_any(void *ctx, struct err *e)
{
    return identity_new(ctx, e);
}

static void destroy(void *h)
{
    identity_free(h);
}

START_TEST(every_failing_allocation_is_told)
{
    struct identity_cfg cfg = identity_cfg_default(4, 2);
    ck_assert_int_eq(alloc_each_fails(make_any, destroy, &cfg), 2);
}
END_TEST

SUITE(policy_identity, it_comes_close_to_the_best_there_is,
      rehearsal_keeps_what_came_first, one_example_by_hand, posteriors_by_hand,
      what_tells_nothing_changes_nothing, growing_leaves_the_older_scores_alone,
      a_class_that_is_forgotten_begins_anew,
      it_stays_unsure_where_there_is_nothing_to_know,
      a_copy_decides_alike_and_does_not_follow, a_state_goes_on_as_if_nothing_had_been,
      another_state_is_refused, what_is_not_finite_teaches_nothing,
      a_configuration_has_limits, learning_allocates_nothing,
      every_failing_allocation_is_told);
