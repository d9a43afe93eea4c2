#include "serve/learner/curve.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"

static struct curve *c;
static struct curve_point *got;

static void setup(void)
{
    c = curve_new(NULL);
    got = calloc(CURVE_POINTS, sizeof *got);
    ck_assert(c != NULL && got != NULL);
}

static void teardown(void)
{
    curve_free(c);
    free(got);
}

static void add(int n)
{
    for (int i = 0; i < n; i++)
        curve_add(
            c, &(struct curve_point){.kind = CURVE_UPDATE, .version = 100 + (uint64_t)i});
}

START_TEST(points_are_read_on_from_where_one_was)
{
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, 0), 0);
    add(3);
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, 0), 3);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(got[i].number, (uint64_t)i + 1);
        ck_assert_uint_eq(got[i].version, 100 + (uint64_t)i);
    }
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, 2), 1);
    ck_assert_uint_eq(got[0].number, 3);
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, 3), 0);
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, UINT64_MAX), 0);
    ck_assert_int_eq(curve_read(got, 2, c, 0), 2);
    ck_assert_uint_eq(got[1].number, 2);
}
END_TEST

START_TEST(the_oldest_go)
{
    add(CURVE_POINTS + 5);
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, 0), CURVE_POINTS);
    ck_assert_uint_eq(got[0].number, 6);
    ck_assert_uint_eq(got[0].version, 105);
    ck_assert_uint_eq(got[CURVE_POINTS - 1].number, CURVE_POINTS + 5);
    ck_assert_int_eq(curve_read(got, CURVE_POINTS, c, 6), CURVE_POINTS - 1);
    ck_assert_uint_eq(got[0].number, 7);
}
END_TEST

START_TEST(adding_and_reading_allocate_nothing)
{
    alloc_watch();
    add(2 * CURVE_POINTS);
    int n = curve_read(got, CURVE_POINTS, c, 0);
    ck_assert_int_eq(alloc_calls(), 0);
    ck_assert_int_eq(n, CURVE_POINTS);
}
END_TEST

START_TEST(an_update_in_its_figures)
{
    struct online_stats s = {.last = {.entropy = 1.25, .approx_kl = .5, .value_loss = 3}};
    struct vitals_stats v = {.known = true,
                             .actor = {.dormant = .125, .effective = 20},
                             .critic = {.weight_rms = .25}};
    struct curve_point p = {.kind = CURVE_UPDATE};
    curve_update(&p, &s, &v);
    ck_assert(p.learned && p.measured);
    ck_assert_double_eq(p.update.entropy, 1.25);
    ck_assert_double_eq(p.update.approx_kl, .5);
    ck_assert_double_eq(p.update.value_loss, 3);
    ck_assert_double_eq(p.weights[PPO_ACTOR].dormant, .125);
    ck_assert_double_eq(p.weights[PPO_ACTOR].effective, 20);
    ck_assert_double_eq(p.weights[PPO_CRITIC].weight_rms, .25);
    curve_update(&p, &s, NULL);
    ck_assert(p.learned && !p.measured);
    v.known = false;
    curve_update(&p, &s, &v);
    ck_assert(!p.measured);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return curve_new(e);
}

static void destroy(void *made)
{
    curve_free(made);
}

START_TEST(memory_may_run_out)
{
    ck_assert_int_gt(alloc_each_fails(make, destroy, NULL), 0);
}
END_TEST

Suite *suite_serve_learner_curve(void);
Suite *suite_serve_learner_curve(void)
{
    Suite *s = suite_create("serve/curve");
    TCase *t = tcase_create("curve");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, points_are_read_on_from_where_one_was);
    tcase_add_test(t, the_oldest_go);
    tcase_add_test(t, adding_and_reading_allocate_nothing);
    tcase_add_test(t, an_update_in_its_figures);
    tcase_add_test(t, memory_may_run_out);
    suite_add_tcase(s, t);
    return s;
}
