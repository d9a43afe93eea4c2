#include "lab/reps.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stdint.h>

/* columns: 1 2 3 6 (mean 3, s^2 = 14/3, se = sqrt(14/12)) and 0 2 NaN 4 */
static struct reps *sample(void)
{
    static const double x[4][2] = {{1, 0}, {2, 2}, {3, NAN}, {6, 4}};
    struct err e = {0};
    struct reps *r = reps_new(4, 2, &e);
    ck_assert_ptr_nonnull(r);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++)
            reps_row(r, i)[k] = x[i][k];
    return r;
}

TEST(intervals_by_hand)
{
    struct reps *r = sample();
    struct stats_interval s = reps_mean(r, 0);
    double se = sqrt(14.0 / 12);
    ck_assert_double_eq(s.mean, 3);
    ck_assert_double_eq_tol(s.lo, 3 - 3.182 * se, 1e-14); /* t of 3 degrees of freedom */
    ck_assert_double_eq_tol(s.hi, 3 + 3.182 * se, 1e-14);
    ck_assert_double_eq_tol(reps_z(r, 0, 2), 1 / se, 1e-12);
    ck_assert_double_eq_tol(reps_z(r, 0, 5), -2 / se, 1e-12);

    double mean[2], lo[2], hi[2];
    reps_band(mean, lo, hi, r, 0, 2);
    ck_assert_double_eq(mean[1], 2); /* without the NaN */
    ck_assert_double_eq_tol(hi[1], 2 + 4.303 * sqrt(4.0 / 3), 1e-14);
    ck_assert_double_eq(lo[0], s.lo);
    reps_free(r);
}

/* differences 1 0 - 2: mean 1, s = 1 */
TEST(pairs_need_both)
{
    struct reps *r = sample();
    struct stats_interval s = reps_gap(r, 0, r, 1);
    ck_assert_double_eq(s.mean, 1);
    ck_assert_double_eq_tol(s.hi, 1 + 4.303 / sqrt(3), 1e-14);
    reps_free(r);
}

/* Gaps and means of tables by number; an arm without a table was not measured. */
TEST(measures_by_number)
{
    struct reps *arm[3] = {sample(), sample(), NULL};
    reps_row(arm[1], 0)[0] = 5;
    ck_assert_double_eq(
        reps_measure(arm, (struct claims_number){CLAIMS_MEAN, 1, 0, 0}).mean, 2);
    ck_assert_double_eq(
        reps_measure(arm, (struct claims_number){CLAIMS_GAP, 0, 1, 0}).mean, 1);
    ck_assert_double_nan(
        reps_measure(arm, (struct claims_number){CLAIMS_MEAN, 0, 2, 0}).mean);
    ck_assert_double_nan(
        reps_measure(arm, (struct claims_number){CLAIMS_GAP, 0, 0, 2}).mean);
    reps_free(arm[0]);
    reps_free(arm[1]);
}

/* n values of which half are -1 and half 1: mean 0, standard error sqrt(1 / (n - 1)) */
TEST(wide_for_few_values)
{
    const struct {
        int n;
        double t;
    } row[] = {{2, 12.706}, {30, 2.045}, {32, 2.0395}, {62, 1.9996}, {2002, 1.9612}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        struct err e = {0};
        struct reps *r = reps_new(row[k].n, 1, &e);
        for (int i = 0; i < row[k].n; i++)
            reps_row(r, i)[0] = i % 2 ? 1 : -1;
        ck_assert_double_eq_tol(reps_mean(r, 0).hi * sqrt(row[k].n - 1), row[k].t, 4e-3);
        reps_free(r);
    }
}

TEST(one_value_has_no_interval)
{
    struct err e = {0};
    struct reps *r = reps_new(1, 2, &e);
    reps_row(r, 0)[0] = 7;
    reps_row(r, 0)[1] = NAN;
    ck_assert_double_eq(reps_mean(r, 0).mean, 7);
    ck_assert_double_nan(reps_mean(r, 0).lo);
    ck_assert_double_nan(reps_mean(r, 1).mean);
    reps_free(r);
}

/* 2 .. 20 by one, then 22, 24, ...: a step of 1 + floor(t / 20) */
TEST(a_grid_grows_by_a_twentieth)
{
    int grid[REPS_POINTS];
    int n = reps_grid(grid, 2, 100);
    ck_assert_int_eq(grid[0], 2);
    ck_assert_int_eq(grid[18], 20);
    ck_assert_int_eq(grid[19], 22);
    ck_assert_int_eq(grid[n - 1], 100);
    for (int p = 1; p < n; p++)
        ck_assert_int_gt(grid[p], grid[p - 1]);
    ck_assert_int_eq(reps_grid(grid, 1, 3), 3);
    for (int last = 200; last < 240; last++) {
        n = reps_grid(grid, 2, last);
        ck_assert_int_ge(grid[n - 1] - grid[n - 2], (1 + grid[n - 2] / 20) / 2);
    }
    n = reps_grid(grid, 2, 100);
    ck_assert_int_eq(grid[reps_point(grid, n, 21)], 22);
    ck_assert_int_eq(reps_point(grid, n, 500), n - 1);
    ck_assert_int_le(reps_grid(grid, 1, 100000), REPS_POINTS);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return reps_new(3, 5, e);
}

static void destroy(void *made)
{
    reps_free(made);
}

TEST(without_memory_it_says_so)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, NULL), 1);
}

SUITE(lab_reps, intervals_by_hand, pairs_need_both, measures_by_number,
      wide_for_few_values, one_value_has_no_interval, a_grid_grows_by_a_twentieth,
      without_memory_it_says_so);
