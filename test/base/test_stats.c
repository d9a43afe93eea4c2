#include "base/stats.h"

#include "base/rng.h"

#include <check.h>
#include <math.h>
#include <string.h>

START_TEST(mean_and_std_by_hand)
{
    double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    ck_assert_double_eq_tol(stats_mean(x, 8), 5, 1e-15);
    ck_assert_double_eq_tol(stats_std(x, 8), sqrt(32.0 / 7), 1e-15);
}
END_TEST

START_TEST(percentiles_interpolate_and_leave_the_input_alone)
{
    double x[] = {40, 10, 30, 20};
    ck_assert_double_eq(stats_percentile(x, 4, 0), 10);
    ck_assert_double_eq(stats_percentile(x, 4, 1), 40);
    ck_assert_double_eq(stats_percentile(x, 4, .5), 25);
    ck_assert_double_eq_tol(stats_percentile(x, 4, .1), 13, 1e-12);
    ck_assert_double_eq(x[0], 40);
    ck_assert_double_eq(stats_percentile(x, 1, .3), 40);
}
END_TEST

START_TEST(iqm_drops_a_quarter_on_either_side)
{
    double x[] = {1e9, 3, 1, 2, 4, 5, 6, -1e9};
    ck_assert_double_eq_tol(stats_iqm(x, 8), (2 + 3 + 4 + 5) / 4.0, 1e-12);

    /* n = 5: the middle is [1.25, 3.75]: .75 of 2, all of 3, .75 of 4 */
    double y[] = {5, 4, 3, 2, 100};
    ck_assert_double_eq_tol(stats_iqm(y, 5), (.75 * 3 + 4 + .75 * 5) / 2.5, 1e-12);
    ck_assert_double_eq(stats_iqm(y, 1), 5);
}
END_TEST

START_TEST(nothing_gives_nan)
{
    double one = 1;
    ck_assert_double_nan(stats_mean(&one, 0));
    ck_assert_double_nan(stats_std(&one, 1));
    ck_assert_double_nan(stats_percentile(&one, 0, .5));
    ck_assert_double_nan(stats_iqm(&one, 0));
    ck_assert_double_nan(stats_bootstrap(&one, 0, .95, 10, 1).lo);
}
END_TEST

START_TEST(bootstrap_matches_the_normal_interval)
{
    enum { N = 400 };
    double x[N];
    struct rng r;
    rng_init(&r, 3, 0);
    for (int i = 0; i < N; i++)
        x[i] = 10 + 2 * rng_normal(&r);

    struct stats_interval b = stats_bootstrap(x, N, .95, 4000, 7);
    double half = 1.96 * stats_std(x, N) / sqrt(N);
    ck_assert_double_eq(b.mean, stats_mean(x, N));
    ck_assert_double_eq_tol(b.lo, b.mean - half, .1 * half);
    ck_assert_double_eq_tol(b.hi, b.mean + half, .1 * half);

    struct stats_interval wide = stats_bootstrap(x, N, .99, 4000, 7);
    ck_assert(wide.lo < b.lo && wide.hi > b.hi);
}
END_TEST

START_TEST(bootstrap_repeats_itself)
{
    double x[] = {1, 5, 2, 8, 3};
    struct stats_interval a = stats_bootstrap(x, 5, .9, 1000, 1);
    struct stats_interval b = stats_bootstrap(x, 5, .9, 1000, 1);
    struct stats_interval c = stats_bootstrap(x, 5, .9, 1001, 2);
    ck_assert(memcmp(&a, &b, sizeof a) == 0);
    ck_assert(a.lo != c.lo || a.hi != c.hi);

    double same[] = {4, 4, 4};
    a = stats_bootstrap(same, 3, .9, 100, 1);
    ck_assert(a.lo == 4 && a.mean == 4 && a.hi == 4);
}
END_TEST

START_TEST(ratio_is_of_sums_and_pairs_stay_together)
{
    /* num = den / 2 in every pair: the ratio has no spread although both vary */
    double num[] = {1, 5, 2, 8}, den[] = {2, 10, 4, 16};
    struct stats_interval r = stats_bootstrap_ratio(num, den, 4, .95, 500, 3);
    ck_assert(r.mean == .5 && r.lo == .5 && r.hi == .5);

    double far[] = {2, 1, 4, 16};
    r = stats_bootstrap_ratio(num, far, 4, .95, 500, 3);
    ck_assert_double_eq_tol(r.mean, 16.0 / 23.0, 1e-12);
    ck_assert(r.lo < r.hi);
}
END_TEST

Suite *suite_base_stats(void);
Suite *suite_base_stats(void)
{
    Suite *s = suite_create("base/stats");
    TCase *t = tcase_create("base/stats");
    tcase_add_test(t, mean_and_std_by_hand);
    tcase_add_test(t, percentiles_interpolate_and_leave_the_input_alone);
    tcase_add_test(t, iqm_drops_a_quarter_on_either_side);
    tcase_add_test(t, nothing_gives_nan);
    tcase_add_test(t, bootstrap_matches_the_normal_interval);
    tcase_add_test(t, bootstrap_repeats_itself);
    tcase_add_test(t, ratio_is_of_sums_and_pairs_stay_together);
    suite_add_tcase(s, t);
    return s;
}
