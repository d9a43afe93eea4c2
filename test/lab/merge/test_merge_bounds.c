#include "lab/merge/merge_bounds.h"

#include "support/suites.h"

#include <math.h>

/* By hand: T = 500, rho .7, C = nu1 = delta = 1: x = 500 / ln 500 = 80.456; ln x / .3 = 14.626 and
 * 2^(1 / .3) x = 10.079 * 80.456. */
TEST(the_bounds_are_those_of_the_lemmas)
{
    struct merge_bounds b;
    struct err e = {0};
    ck_assert_int_eq(merge_bounds_grow(&b, 4, .7, 1, 500, MERGE_DEEPEST, &e), 0);
    ck_assert_double_eq_tol(b.depth_bound, 14.626, .001);
    ck_assert_double_eq_tol(b.leaves_bound, 10.0794 * 80.456, .05);
}

/* A node of depth h is halved only while rho^-2h ln t <= t. So with rho .5 and T = 500 nodes of depth 3
 * (64 ln t = 398 visits) may be halved after 398 visits at the earliest, of depth 4 not at all. */
TEST(orders_grow_what_they_say)
{
    struct merge_bounds deep, wide;
    struct err e = {0};
    ck_assert_int_eq(merge_bounds_grow(&deep, 4, .5, 1, 500, MERGE_DEEPEST, &e), 0);
    ck_assert_int_eq(merge_bounds_grow(&wide, 4, .5, 1, 500, MERGE_IN_TURN, &e), 0);
    ck_assert_int_ge(deep.depth, wide.depth);
    ck_assert_int_ge(wide.leaves, deep.leaves);
    ck_assert_int_ge(deep.depth, 3);
    ck_assert_int_le(deep.depth, 4);
}

TEST(a_merged_expert_costs_one_expert)
{
    struct mix_cfg c = {
        .in = 10, .hidden = 4, .layers = 1, .out = 3, .experts = 3, .route = MIX_TOP1};
    double expert = 10 * 4 + 4 + 4 * 3 + 3, router = 3 * 10 + 3;
    struct merge_cost merged = merge_cost(&c, 0), two = merge_cost(&c, 2);
    ck_assert_double_eq(merged.products, expert);
    ck_assert_double_eq(merged.bytes, 4 * expert);
    ck_assert_double_eq(two.products, router + 2 * expert);
    ck_assert_double_eq(two.bytes, 4 * (router + 3 * expert));
}

SUITE(lab_merge_merge_bounds, the_bounds_are_those_of_the_lemmas,
      orders_grow_what_they_say, a_merged_expert_costs_one_expert);
