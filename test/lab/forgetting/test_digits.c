#include "lab/forgetting/digits.h"

#include "nn/mlp.h"
#include "support/alloc.h"
#include "support/glyphs.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct digits_set *set;
static const char *dir;

static struct images *part(enum images_part which)
{
    struct err e = {0};
    struct lab_task t = {.find = glyphs_find, .ctx = (void *)dir};
    struct images *im = images_open(&t, "mnist", which, &e);
    ck_assert_msg(im != NULL, "%s %s", e.field, e.detail);
    return im;
}

static void setup(void)
{
    struct err e = {0};
    dir = tmpdir_new();
    glyphs_write(dir, 20, 8, -1);
    set = digits_set_new(part(IMAGES_TRAIN), part(IMAGES_TEST), &e);
    ck_assert_ptr_nonnull(set);
}

static void teardown(void)
{
    digits_set_free(set);
}

static struct digits *make(const struct digits_cfg *c, uint64_t seed)
{
    struct rng r;
    struct err e = {0};
    rng_init(&r, seed, 1);
    struct digits *d = digits_new(set, c, &r, &e);
    ck_assert_ptr_nonnull(d);
    return d;
}

/* The task's digits are different ones; the signal is the average of all their training images
 * without that of all, of length 1. */
TEST(tasks_and_signals)
{
    struct digits_cfg c = glyphs_cfg();
    struct digits *d = make(&c, 1);
    struct images *train = part(IMAGES_TRAIN);
    ck_assert_int_eq(digits_pixels(d), GLYPHS_PIXELS);
    double var = 0;
    for (int n = 0; n < c.tasks; n++) {
        const int *digit = digits_of(d, n);
        double x[GLYPHS_PIXELS] = {0}, len = 0;
        for (int i = 0; i < c.each; i++)
            for (int k = 0; k < i; k++)
                ck_assert_int_ne(digit[i], digit[k]);
        for (int j = 0; j < train->n; j++)
            for (int i = 0; i < GLYPHS_PIXELS; i++) {
                double v = images_pixels(train, j)[i] / 255.0;
                x[i] -= v / train->n;
                for (int k = 0; k < c.each; k++)
                    if (train->labels[j] == digit[k]) x[i] += v / (20 * c.each);
            }
        for (int i = 0; i < GLYPHS_PIXELS; i++)
            len += x[i] * x[i];
        for (int i = 0; i < GLYPHS_PIXELS; i++)
            ck_assert_double_eq_tol(digits_signal(d)[n * GLYPHS_PIXELS + i],
                                    x[i] / sqrt(len), 1e-12);
    }
    for (int i = 0; i < GLYPHS_PIXELS; i++) {
        const double *v = digits_signal(d) + i;
        double a = v[0], b = v[GLYPHS_PIXELS], e = v[2 * GLYPHS_PIXELS];
        double mean = (a + b + e) / 3;
        var += (pow(a - mean, 2) + pow(b - mean, 2) + pow(e - mean, 2)) / 3;
    }
    ck_assert_double_eq_tol(digits_sigma0(d), sqrt(var / GLYPHS_PIXELS), 1e-12);
    images_free(train);
    digits_free(d);
}

/* A round holds images of its task alone, and the gate's input follows from them. */
TEST(a_round)
{
    struct digits_cfg c = glyphs_cfg();
    struct digits *d = make(&c, 2);
    struct images *train = part(IMAGES_TRAIN);
    struct digits_round round;
    struct rng r;
    rng_init(&r, 3, 3);
    digits_draw(&round, d, 1, &r);
    ck_assert_int_eq(round.task, 1);
    double x[GLYPHS_PIXELS] = {0}, len = 0;
    for (int k = 0; k < c.s; k++) {
        int digit = train->labels[round.image[k]], found = 0;
        for (int i = 0; i < c.each; i++)
            found += digits_of(d, 1)[i] == digit;
        ck_assert_int_eq(found, 1);
        for (int i = 0; i < GLYPHS_PIXELS; i++)
            x[i] += images_pixels(train, round.image[k])[i] / 255.0 / c.s;
    }
    for (int j = 0; j < train->n; j++)
        for (int i = 0; i < GLYPHS_PIXELS; i++)
            x[i] -= images_pixels(train, j)[i] / 255.0 / train->n;
    for (int i = 0; i < GLYPHS_PIXELS; i++)
        len += x[i] * x[i];
    for (int i = 0; i < GLYPHS_PIXELS; i++)
        ck_assert_double_eq_tol(round.x[i], x[i] / sqrt(len), 1e-12);
    images_free(train);
    digits_free(d);
}

static float *expert_of(const struct digits *d)
{
    float *w = malloc(digits_expert(d) * sizeof *w);
    ck_assert_ptr_nonnull(w);
    digits_start(w, d);
    return w;
}

/* One step moves an expert by rate * gradient of the mean cross-entropy: along the difference
 * quotient of a loss worked out here, image by image. */
static double plain_loss(const float *w, const struct digits_cfg *c,
                         const struct digits_round *round, const struct images *train)
{
    struct mlp_cfg net = {
        .in = GLYPHS_PIXELS, .hidden = c->hidden, .layers = 1, .out = 10};
    double sum = 0;
    for (int k = 0; k < c->s; k++) {
        float x[GLYPHS_PIXELS], h[64], y[10], *hs[] = {h};
        double all = 0;
        images_vector(x, train, round->image[k]);
        mlp_forward(y, hs, &net, w, x, 1);
        for (int i = 0; i < 10; i++)
            all += exp((double)y[i]);
        sum += log(all) - (double)y[train->labels[round->image[k]]];
    }
    return sum / c->s;
}

TEST(one_step_is_minus_rate_times_the_gradient)
{
    struct digits_cfg c = glyphs_cfg();
    c.steps = 1;
    c.own_names = false; /* so that the label is the name */
    struct digits *d = make(&c, 4);
    struct images *train = part(IMAGES_TRAIN);
    struct digits_round round;
    struct rng r;
    rng_init(&r, 5, 5);
    digits_draw(&round, d, 0, &r);
    float *w = expert_of(d), *was = expert_of(d);
    double moved = digits_learn(w, d, &round), square = 0;
    for (size_t i = 0; i < digits_expert(d); i++)
        square += pow((double)w[i] - (double)was[i], 2);
    ck_assert_double_eq_tol(moved, sqrt(square), 1e-6);
    size_t n = digits_expert(d);
    for (size_t i = n - 10; i < n; i++) { /* the head's biases */
        float keep = was[i];
        was[i] = keep + 1e-2f;
        double up = plain_loss(was, &c, &round, train);
        was[i] = keep - 1e-2f;
        double slope = (up - plain_loss(was, &c, &round, train)) / 2e-2;
        was[i] = keep;
        ck_assert_double_eq_tol((double)w[i] - (double)keep, -c.rate * slope, 2e-4);
    }
    free(w);
    free(was);
    images_free(train);
    digits_free(d);
}

/* A task is learned; learned once more it moves the expert less; another task with other names
 * undoes it. */
TEST(learns_and_forgets)
{
    struct digits_cfg c = glyphs_cfg();
    c.each = 10; /* the same digits in every task */
    struct digits *d = make(&c, 6);
    float *w = expert_of(d);
    struct digits_round round;
    struct rng r;
    rng_init(&r, 7, 7);
    double first = 0, late = 0;
    for (int t = 0; t < 30; t++) {
        digits_draw(&round, d, 0, &r);
        late = digits_learn(w, d, &round);
        if (t == 0) first = late;
    }
    ck_assert_double_gt(first, 0);
    ck_assert_double_lt(late, first / 4);
    ck_assert_double_lt(digits_error(w, d, 0), .05);
    for (int t = 0; t < 30; t++) {
        digits_draw(&round, d, 1, &r);
        digits_learn(w, d, &round);
    }
    ck_assert_double_lt(digits_error(w, d, 1), .05);
    ck_assert_double_gt(digits_error(w, d, 0), .5);
    free(w);
    digits_free(d);
}

/* With common names the second task is no other task. */
TEST(common_names)
{
    struct digits_cfg c = glyphs_cfg();
    c.each = 10;
    c.own_names = false;
    struct digits *d = make(&c, 6);
    float *w = expert_of(d);
    struct digits_round round;
    struct rng r;
    rng_init(&r, 7, 7);
    for (int t = 0; t < 30; t++) {
        digits_draw(&round, d, 0, &r);
        digits_learn(w, d, &round);
    }
    ck_assert_double_lt(digits_error(w, d, 1), .05);
    free(w);
    digits_free(d);
}

TEST(refused)
{
    struct err e = {0};
    const char *other = tmpdir_new();
    glyphs_write(other, 4, 4, 3);
    struct lab_task t = {.find = glyphs_find, .ctx = (void *)other};
    struct images *test = images_open(&t, "mnist", IMAGES_TEST, &e);
    ck_assert_ptr_null(digits_set_new(part(IMAGES_TRAIN), test, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_str_eq(e.field, "test images");
    ck_assert_ptr_nonnull(strstr(e.detail, "no image shows the digit 3"));

    e = (struct err){0};
    test = part(IMAGES_TEST);
    test->size--;
    ck_assert_ptr_null(digits_set_new(part(IMAGES_TRAIN), test, &e));
    ck_assert_ptr_nonnull(strstr(e.detail, "have 36 and 35 pixels"));
}

static void keep_line(void *ctx, const char *line)
{
    snprintf(ctx, 256, "%s", line);
}

static int not_there(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    (void)ctx, (void)out;
    return err_field(e, ERR_ABSENT, rel, "is not there");
}

TEST(absent_is_told)
{
    struct err e = {0};
    char line[256] = "";
    struct digits_set *found = set;
    struct report *r = report_new("x", "y", &e);
    struct lab_task t = {.report = r, .say = keep_line, .find = not_there, .ctx = line};
    ck_assert_int_eq(digits_set_find(&found, &t, &e), 0);
    ck_assert_ptr_null(found);
    ck_assert_ptr_nonnull(strstr(line, "left out"));
    ck_assert_ptr_nonnull(strstr(line, "make lab-data"));

    t = (struct lab_task){.report = r, .find = glyphs_find, .ctx = (void *)dir};
    ck_assert_int_eq(digits_set_find(&found, &t, &e), 0);
    ck_assert_ptr_nonnull(found);
    digits_set_free(found);
    report_free(r);
}

static void *make_any(void *ctx, struct err *e)
{
    struct rng r;
    rng_init(&r, 1, 1);
    return digits_new(set, ctx, &r, e);
}

static void destroy(void *made)
{
    digits_free(made);
}

TEST(memory)
{
    struct digits_cfg c = glyphs_cfg();
    ck_assert_int_eq(alloc_each_fails(make_any, destroy, &c), 1);
}

SUITE_SET_UP(lab_forgetting_digits, 0, setup, teardown, tasks_and_signals, a_round,
             one_step_is_minus_rate_times_the_gradient, learns_and_forgets, common_names,
             refused, absent_is_told, memory);
