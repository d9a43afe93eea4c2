#include "lab/forgetting/edge_images.h"

#include "support/glyphs.h"

#include <check.h>
#include <math.h>

enum { SLOTS = 150, POINTS = 3 };
static const int GRID[POINTS] = {10, 40, SLOTS};

static struct digits_set *set;

static void setup(void)
{
    set = glyphs_set();
}

static void teardown(void)
{
    digits_set_free(set);
}

static struct edge_images_cfg small(int experts, enum edge_rule rule)
{
    struct edge_images_cfg c = {
        .digits = glyphs_cfg(), .experts = experts, .slots = SLOTS, .rule = rule};
    return c;
}

struct result {
    double v[EDGE_IMAGES_SERIES][POINTS];
    struct edge_images_end end;
};

static struct result play(struct edge_images_cfg c, int repetition)
{
    struct result r;
    struct err e = {0};
    ck_assert_int_eq(
        edge_images_run(r.v[0], &r.end, &c, set, GRID, POINTS, 1, repetition, &e), 0);
    return r;
}

/* N = 3, delta .1: M_th = min(10, log_3 10) = 2.0959, N M_th ln 10 = 14.478 experts;
 * M = 15: T1 = 10 + ceil(15 ln 150 = 75.16), T2 = 86 + 10 + ceil(3 (2.0959 + 2.3026) = 13.2) */
START_TEST(theory_by_hand)
{
    struct edge_images_cfg c = small(15, EDGE_STOP);
    struct edge_sim_cfg like = edge_images_theory(&c);
    ck_assert_double_eq_tol(edge_sim_mth(&like), 2.0959, 1e-4);
    ck_assert_double_eq_tol(edge_sim_need(&like), 14.478, 1e-3);
    ck_assert_int_eq(edge_sim_t1(&like), 86);
    ck_assert_int_eq(edge_sim_t2(&like), 110);
}
END_TEST

START_TEST(the_same_again)
{
    struct result a = play(small(5, EDGE_STOP), 0), b = play(small(5, EDGE_STOP), 0);
    for (int i = 0; i < EDGE_IMAGES_SERIES; i++)
        for (int p = 0; p < POINTS; p++)
            ck_assert(a.v[i][p] == b.v[i][p] || (isnan(a.v[i][p]) && isnan(b.v[i][p])));
    ck_assert_double_eq(a.end.error, b.end.error);
    ck_assert_double_ne(a.end.sigma0, play(small(5, EDGE_STOP), 1).end.sigma0);
}
END_TEST

/* One server does the same by any rule, and all but the first task wait. */
START_TEST(one_expert_serves_a_line)
{
    struct result first = play(small(1, EDGE_STOP), 2);
    for (int rule = EDGE_STOP; rule <= EDGE_POWERFUL; rule++) {
        struct result r = play(small(1, (enum edge_rule)rule), 2);
        ck_assert_double_eq(r.end.error, first.end.error);
        ck_assert_int_eq(r.end.waited, SLOTS - 1);
    }
    ck_assert_double_gt(first.end.wait, 100);
}
END_TEST

/* Up to T1 both gates are one; the rules that do not look at the data have no sets. */
START_TEST(rules)
{
    struct result stop = play(small(5, EDGE_STOP), 3), on = play(small(5, EDGE_ON), 3);
    struct result near = play(small(5, EDGE_NEAREST), 3);
    struct result power = play(small(5, EDGE_POWERFUL), 3);
    ck_assert_double_eq(stop.v[EDGE_IMAGES_ERROR][0], on.v[EDGE_IMAGES_ERROR][0]);
    ck_assert_double_ne(stop.v[EDGE_IMAGES_ERROR][2], on.v[EDGE_IMAGES_ERROR][2]);
    ck_assert(isnan(near.v[EDGE_IMAGES_HOME][2]) && isnan(power.v[EDGE_IMAGES_READY][2]));
    ck_assert(!isnan(stop.v[EDGE_IMAGES_HOME][2]));
    ck_assert_double_lt(power.end.delay, stop.end.delay);
    ck_assert_double_lt(near.end.delay, stop.end.delay);
    for (int p = 0; p < POINTS; p++) {
        ck_assert_double_ge(stop.v[EDGE_IMAGES_ERROR][p], 0);
        ck_assert_double_le(stop.v[EDGE_IMAGES_ERROR][p], 1);
    }
}
END_TEST

Suite *suite_lab_forgetting_edge_images(void);
Suite *suite_lab_forgetting_edge_images(void)
{
    Suite *s = suite_create("lab/edge_images");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, theory_by_hand);
    tcase_add_test(t, the_same_again);
    tcase_add_test(t, one_expert_serves_a_line);
    tcase_add_test(t, rules);
    suite_add_tcase(s, t);
    return s;
}
