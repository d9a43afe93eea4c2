#include "base/stats.h"

#include "base/rng.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

TEST(mean_and_std_by_hand)
{
    double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    ck_assert_double_eq_tol(stats_mean(x, 8), 5, 1e-15);
    ck_assert_double_eq_tol(stats_std(x, 8), sqrt(32.0 / 7), 1e-15);
}

TEST(percentiles_interpolate_and_leave_the_input_alone)
{
    double x[] = {40, 10, 30, 20};
    ck_assert_double_eq(stats_percentile(x, 4, 0), 10);
    ck_assert_double_eq(stats_percentile(x, 4, 1), 40);
    ck_assert_double_eq(stats_percentile(x, 4, .5), 25);
    ck_assert_double_eq_tol(stats_percentile(x, 4, .1), 13, 1e-12);
    ck_assert_double_eq(x[0], 40);
    ck_assert_double_eq(stats_percentile(x, 1, .3), 40);
}

TEST(iqm_drops_a_quarter_on_either_side)
{
    double x[] = {1e9, 3, 1, 2, 4, 5, 6, -1e9};
    ck_assert_double_eq_tol(stats_trimmed(x, 8, STATS_CUT_IQM), (2 + 3 + 4 + 5) / 4.0,
                            1e-12);

    /* n = 5: the middle is [1.25, 3.75]: .75 of 2, all of 3, .75 of 4 */
    double y[] = {5, 4, 3, 2, 100};
    ck_assert_double_eq_tol(stats_trimmed(y, 5, STATS_CUT_IQM),
                            (.75 * 3 + 4 + .75 * 5) / 2.5, 1e-12);
    ck_assert_double_eq(stats_trimmed(y, 1, STATS_CUT_IQM), 5);
}

TEST(any_cut_by_hand)
{
    double x[] = {9, 3, 1, 7, 5, 0, 8, 2, 6, 4};
    ck_assert_double_eq_tol(stats_trimmed(x, 10, STATS_CUT_NONE), 4.5, 1e-12);
    ck_assert_double_eq_tol(stats_trimmed(x, 10, (struct stats_cut){.1, .9}), 4.5, 1e-12);
    /* one-sided, a border within a value, and both borders within the same value */
    ck_assert_double_eq_tol(stats_trimmed(x, 10, (struct stats_cut){0, .5}), 2, 1e-12);
    ck_assert_double_eq_tol(stats_trimmed(x, 10, (struct stats_cut){.75, 1}),
                            (.5 * 7 + 8 + 9) / 2.5, 1e-12);
    ck_assert_double_eq_tol(stats_trimmed(x, 10, (struct stats_cut){.42, .48}), 4, 1e-12);
    ck_assert_double_eq(x[0], 9);
    ck_assert_double_nan(stats_trimmed(x, 0, STATS_CUT_NONE));
}

TEST(nothing_gives_nan)
{
    double one = 1;
    ck_assert_double_nan(stats_mean(&one, 0));
    ck_assert_double_nan(stats_std(&one, 1));
    ck_assert_double_nan(stats_percentile(&one, 0, .5));
    ck_assert_double_nan(stats_trimmed(&one, 0, STATS_CUT_IQM));
    ck_assert_double_nan(stats_bootstrap(&one, 0, .95, 10, 1).lo);
}

TEST(bootstrap_matches_the_normal_interval)
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

TEST(bootstrap_repeats_itself)
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

TEST(ratio_is_of_sums_and_pairs_stay_together)
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

static struct stats_interval strata(const double *x, const int *n, int count,
                                    struct stats_cut cut, double level)
{
    return stats_bootstrap_strata((struct stats_strata){x, n, count}, cut, level, 20000,
                                  11);
}

TEST(strata_are_resampled_each_within_itself)
{
    /* 16 equally likely resamples. Sum of the four: 20 21 22 30 31 32 40 41 42 with 1 2 1
     * 2 4 2 1 2 1 sixteenths; resampling all four together would reach 0 and 40. */
    const double x[] = {0, 1, 10, 20};
    const int n[] = {2, 2};
    struct stats_interval b = strata(x, n, 2, STATS_CUT_NONE, .95);
    ck_assert(b.mean == 31 / 4.0 && b.lo == 20 / 4.0 && b.hi == 42 / 4.0);
    b = strata(x, n, 2, STATS_CUT_NONE, .8);
    ck_assert(b.lo == 21 / 4.0 && b.hi == 41 / 4.0);
    b = strata(x, n, 2, STATS_CUT_NONE, .4);
    ck_assert(b.lo == 30 / 4.0 && b.hi == 32 / 4.0);

    /* the middle two: 5, 5.5, 10, 10.5 with 3 9 1 3 sixteenths */
    b = strata(x, n, 2, STATS_CUT_IQM, .8);
    ck_assert(b.mean == 5.5 && b.lo == 5 && b.hi == 10.5);
    b = strata(x, n, 2, STATS_CUT_IQM, .6);
    ck_assert(b.lo == 5.5 && b.hi == 10);

    /* one run of each task: nothing varies */
    const int each[] = {1, 1, 1, 1};
    b = strata(x, each, 4, STATS_CUT_NONE, .95);
    ck_assert(b.mean == 31 / 4.0 && b.lo == b.mean && b.hi == b.mean);
    ck_assert_double_nan(strata(x, n, 0, STATS_CUT_NONE, .95).mean);
}

/* strata of 2, 3 and 1 values */
static const double UNEVEN[] = {3, -1, 7, 2.5, 4, 100};

/* P(statistic <= at) and P(statistic < at) over all 2^2 * 3^3 * 1 resamples, in plain
 * loops */
static void enumerate(double at, struct stats_cut cut, double *up_to, double *below)
{
    *up_to = *below = 0;
    for (int i = 0; i < 4 * 27; i++) {
        int two = i / 27, three = i % 27;
        double v[] = {UNEVEN[two / 2],       UNEVEN[two % 2],
                      UNEVEN[2 + three / 9], UNEVEN[2 + three / 3 % 3],
                      UNEVEN[2 + three % 3], UNEVEN[5]};
        double t = stats_trimmed(v, 6, cut);
        *up_to += t <= at + 1e-12;
        *below += t < at - 1e-12;
    }
    *up_to /= 4 * 27;
    *below /= 4 * 27;
}

TEST(strata_quantiles_are_those_of_all_resamples)
{
    const int n[] = {2, 3, 1};
    static const struct stats_cut cuts[] = {{0, 1}, {.25, .75}, {0, .8}, {.1, .9}};
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++)
        for (double level = .2; level < .97; level += .25) {
            struct stats_interval b = strata(UNEVEN, n, 3, cuts[c], level);
            double up_to, below;
            enumerate(b.lo, cuts[c], &up_to, &below);
            ck_assert_double_ge(up_to, (1 - level) / 2 - .01);
            ck_assert_double_le(below, (1 - level) / 2 + .01);
            enumerate(b.hi, cuts[c], &up_to, &below);
            ck_assert_double_ge(up_to, (1 + level) / 2 - .01);
            ck_assert_double_le(below, (1 + level) / 2 + .01);
        }
}

SUITE(base_stats, mean_and_std_by_hand, percentiles_interpolate_and_leave_the_input_alone,
      iqm_drops_a_quarter_on_either_side, any_cut_by_hand, nothing_gives_nan,
      bootstrap_matches_the_normal_interval, bootstrap_repeats_itself,
      ratio_is_of_sums_and_pairs_stay_together, strata_are_resampled_each_within_itself,
      strata_quantiles_are_those_of_all_resamples);
