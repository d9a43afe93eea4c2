#include "lab/forgetting/forgetting_images.h"

#include "support/glyphs.h"

#include <check.h>
#include <math.h>

enum { ROUNDS = 80, POINTS = 4 };
static const int GRID[POINTS] = {2, 20, 40, ROUNDS};

static struct digits_set *set;

static void setup(void)
{
    set = glyphs_set();
}

static void teardown(void)
{
    digits_set_free(set);
}

static struct forgetting_images_cfg small(int experts, bool terminate)
{
    struct forgetting_images_cfg c = {.digits = glyphs_cfg(),
                                      .experts = experts,
                                      .rounds = ROUNDS,
                                      .terminate = terminate};
    return c;
}

struct result {
    double v[FORGETTING_IMAGES_SERIES][POINTS];
    struct forgetting_images_end end;
};

static struct result play(struct forgetting_images_cfg c, int repetition)
{
    struct result r;
    struct err e = {0};
    ck_assert_int_eq(
        forgetting_images_run(r.v[0], &r.end, &c, set, GRID, POINTS, 1, repetition, &e),
        0);
    return r;
}

/* sigma0 .0625: eta = alpha = .25, noise = gamma = .0625^1.25 = 2^-5 */
START_TEST(constants_by_hand)
{
    struct router_cfg c = forgetting_images_router(4, 36, .0625);
    ck_assert_int_eq(c.experts, 4);
    ck_assert_int_eq(c.d, 36);
    ck_assert_double_eq_tol(c.eta, .25, 1e-15);
    ck_assert_double_eq_tol(c.alpha, .25, 1e-15);
    ck_assert_double_eq_tol(c.noise, 1.0 / 32, 1e-15);
    ck_assert_double_eq_tol(c.gamma, 1.0 / 32, 1e-15);
}
END_TEST

START_TEST(the_same_again)
{
    struct result a = play(small(4, true), 0), b = play(small(4, true), 0);
    for (int i = 0; i < FORGETTING_IMAGES_SERIES; i++)
        for (int p = 0; p < POINTS; p++)
            ck_assert(a.v[i][p] == b.v[i][p] || (isnan(a.v[i][p]) && isnan(b.v[i][p])));
    struct result c = play(small(4, true), 1);
    ck_assert_double_ne(a.end.sigma0, c.end.sigma0);
}
END_TEST

/* One gate that may not stop and one that may meet the same rounds until it does, and the stopped
 * one stays. */
START_TEST(termination)
{
    struct result stop = play(small(4, true), 0), on = play(small(4, false), 0);
    int settle = (int)ceil(4 / sqrt(stop.end.sigma0));
    ck_assert_int_eq(stop.end.settle, settle);
    ck_assert_int_gt(stop.end.stopped, settle);
    ck_assert_int_le(stop.end.stopped, ROUNDS);
    ck_assert_int_eq(on.end.stopped, 0);
    ck_assert_double_eq(stop.v[FORGETTING_IMAGES_RUNNING][POINTS - 1], 0);
    ck_assert_double_eq(on.v[FORGETTING_IMAGES_RUNNING][POINTS - 1], 1);
    for (int p = 0; GRID[p] < stop.end.stopped; p++)
        ck_assert_double_eq(stop.v[FORGETTING_IMAGES_ERROR][p],
                            on.v[FORGETTING_IMAGES_ERROR][p]);
    ck_assert_double_ne(stop.v[FORGETTING_IMAGES_ERROR][POINTS - 1],
                        on.v[FORGETTING_IMAGES_ERROR][POINTS - 1]);
}
END_TEST

/* Errors are shares; one expert that meets contradicting tasks forgets, and one that meets tasks
 * with common names does not. */
START_TEST(one_expert)
{
    struct forgetting_images_cfg c = small(1, true);
    c.digits.each = 10;
    struct result own = play(c, 0);
    c.digits.own_names = false;
    struct result common = play(c, 0);
    int last = POINTS - 1;
    ck_assert_double_gt(own.v[FORGETTING_IMAGES_FORGOT][last], .3);
    ck_assert_double_gt(own.v[FORGETTING_IMAGES_ERROR][last], .3);
    ck_assert_double_lt(common.v[FORGETTING_IMAGES_ERROR][last], .1);
    ck_assert_double_lt(common.v[FORGETTING_IMAGES_FORGOT][last], .05);
    ck_assert(isnan(own.v[FORGETTING_IMAGES_HOME][last]));
    ck_assert_double_gt(own.v[FORGETTING_IMAGES_MOVED][last],
                        common.v[FORGETTING_IMAGES_MOVED][last]);
    for (int p = 0; p < POINTS; p++) {
        ck_assert_double_ge(own.v[FORGETTING_IMAGES_ERROR][p], 0);
        ck_assert_double_le(own.v[FORGETTING_IMAGES_ERROR][p], 1);
    }
}
END_TEST

Suite *suite_lab_forgetting_forgetting_images(void);
Suite *suite_lab_forgetting_forgetting_images(void)
{
    Suite *s = suite_create("lab/forgetting_images");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, constants_by_hand);
    tcase_add_test(t, the_same_again);
    tcase_add_test(t, termination);
    tcase_add_test(t, one_expert);
    suite_add_tcase(s, t);
    return s;
}
