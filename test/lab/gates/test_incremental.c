#include "lab/gates/incremental.h"

#include <check.h>
#include <string.h>

/* Five tasks of classes 2 t and 2 t + 1; an image is one pixel, its class. 200 images, so more than
 * one batch. */
enum { N = 200 };

static float pixels[SPLITS_TASKS][N];
static int labels[SPLITS_TASKS][N];

static struct splits tasks(void)
{
    struct splits s = {.size = 1};
    for (int t = 0; t < SPLITS_TASKS; t++) {
        for (int i = 0; i < N; i++)
            pixels[t][i] = (float)(labels[t][i] = 2 * t + i % 2);
        s.task[t] = (struct splits_task){.classes = UINT32_C(3) << 2 * t,
                                         .test = {N, pixels[t], labels[t]}};
    }
    return s;
}

/* knows the last task only; told the task, only its even class */
struct forgetful {
    int last, stop_at;
};

static bool learn(void *self, int t)
{
    struct forgetful *f = self;
    ck_assert_int_eq(t, f->last + 1);
    f->last = t;
    return t == f->stop_at;
}

static void classify(void *self, int *label, const float *x, int n, int task)
{
    const struct forgetful *f = self;
    ck_assert_int_le(n, 128);
    for (int i = 0; i < n; i++)
        label[i] = task >= 0 ? 2 * task : 2 * f->last + (int)x[i] % 2;
}

START_TEST(a_learner_that_forgets)
{
    struct splits s = tasks();
    struct forgetful f = {-1, -1};
    struct incremental out;
    ck_assert(
        !incremental_run(&out, &s, &(struct incremental_learner){&f, learn, classify}));
    for (int t = 0; t < SPLITS_TASKS; t++)
        for (int i = 0; i <= t; i++)
            ck_assert_double_eq(out.blind.s[i][t], i == t ? 1 : 0);
    ck_assert_double_eq_tol(continual_fa(&out.blind), .2, 1e-12);
    ck_assert_double_eq_tol(continual_fm(&out.blind), 1, 1e-12);
    ck_assert_double_eq_tol(incremental_told(&out), .5, 1e-12);
}
END_TEST

START_TEST(it_stops_when_asked)
{
    struct splits s = tasks();
    struct forgetful f = {-1, 2};
    struct incremental out;
    ck_assert(
        incremental_run(&out, &s, &(struct incremental_learner){&f, learn, classify}));
    ck_assert_int_eq(f.last, 2);
}
END_TEST

Suite *suite_lab_gates_incremental(void);
Suite *suite_lab_gates_incremental(void)
{
    Suite *s = suite_create("lab/incremental");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_learner_that_forgets);
    tcase_add_test(t, it_stops_when_asked);
    suite_add_tcase(s, t);
    return s;
}
