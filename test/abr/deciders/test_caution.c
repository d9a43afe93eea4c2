#include "abr/deciders/caution.h"

#include "abr/deciders/forecast.h"
#include "base/rng.h"
#include "support/made.h"
#include "support/suites.h"

#include <math.h>

static const double USUAL = 250e3; /* bytes of a chunk */

/* Throughputs that alternate by e^(2 spread). */
static struct view spread(double s)
{
    struct view v = made_view(6);
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, i % 2 ? USUAL * exp(2 * s) : USUAL, 1);
    return v;
}

/* What one download in six on a calm link falls below, as forecast. */
static double low_kbps(void)
{
    struct view v = spread(0);
    return forecast_of(&v).next_kbps[FORECAST_LOW];
}

TEST(links_are_of_three_kinds)
{
    struct view v = made_view(6);
    ck_assert_int_eq(caution_link(&v), -1);
    static const double s[] = {0, .14, .16, .39, .41, 2};
    for (int i = 0; i < 6; i++) {
        v = spread(s[i]);
        ck_assert_int_eq(caution_link(&v), i / 2);
    }
}

TEST(margins_by_hand)
{
    struct caution_links c = {0};
    struct view v = spread(0);
    caution_download(&c, &v, low_kbps() * 1.01,
                     USUAL); /* never bolder than the forecast */
    ck_assert_double_eq(c.margin[0], 0);
    caution_download(&c, &v, low_kbps() * .99, USUAL); /* missed */
    ck_assert_double_eq_tol(c.margin[0], .02 * 5 / 6, 1e-12);
    /* the margin is 1.7 %, so this is no miss any more */
    caution_download(&c, &v, low_kbps() * .99, USUAL);
    ck_assert_double_eq_tol(c.margin[0], .02 * 5 / 6 - .02 / 6, 1e-12);
    ck_assert_uint_eq(c.seen[0], 3);
    ck_assert_uint_eq(c.missed[0], 1);
    ck_assert_double_eq(c.margin[1], 0); /* of another kind */
    v = made_view(6);
    caution_download(&c, &v, 1, USUAL); /* nothing was forecast */
    ck_assert_uint_eq(c.seen[0] + c.seen[1] + c.seen[2], 3);
}

TEST(margins_have_bounds)
{
    struct caution_links c = {0};
    struct view v = spread(.3);
    for (int i = 0; i < 1000; i++)
        caution_download(&c, &v, 1, USUAL);
    ck_assert_double_eq(c.margin[1], 2);
    for (int i = 0; i < 10000; i++)
        caution_download(&c, &v, 1e6, USUAL);
    ck_assert_double_eq(c.margin[1], 0);
    ck_assert_double_eq(caution_margin(-.5), 0);
    ck_assert_double_eq(caution_margin(.5), .5);
    ck_assert_double_eq(caution_margin(3), 2);
}

/* Whatever the links do, at most one download in six is missed: the links fall behind their forecasts by up
 * to e^0.5, then by up to e^1.2. Without the margin much more than that would be missed. */
TEST(at_most_one_in_six_is_missed)
{
    enum { N = 12000 };
    struct caution_links c = {0};
    struct view v = spread(0);
    struct rng r;
    rng_init(&r, 3, 1);
    int plain = 0;
    for (int i = 0; i < N; i++) {
        double fall = rng_range(&r, -.1, i < N / 2 ? .5 : 1.2);
        plain += fall > 0;
        caution_download(&c, &v, low_kbps() * exp(-fall), USUAL);
    }
    ck_assert_int_gt(plain, N * 3 / 4);
    ck_assert_double_eq_tol((double)c.missed[0] / N, CAUTION_MISSES, .01);
    /* one in six of -0.1 .. 1.2 lies above 0.98 */
    ck_assert_double_eq_tol(c.margin[0], .98, .15);
}

/* Links that are better than their forecasts make no later forecast bolder. After them at most
 * T / 6 + 2 / step of T downloads are missed. */
TEST(good_links_make_no_forecast_bolder)
{
    enum { N = 3000 };
    struct caution_links c = {0};
    struct view v = spread(0);
    for (int i = 0; i < N; i++)
        caution_download(&c, &v, low_kbps() * 1.01, USUAL);
    ck_assert_uint_eq(c.missed[0], 0);
    ck_assert_double_eq(c.margin[0], 0);
    for (int i = 0; i < N; i++)
        caution_download(&c, &v, low_kbps() * exp(i % 2 ? -.01 : -.6), USUAL);
    ck_assert_uint_le(c.missed[0], N / 6 + 100);
    ck_assert_uint_gt(c.missed[0], N / 7);
}

TEST(lambda_by_hand)
{
    struct caution_stalls s = {0};
    caution_chunk(&s, 2, 4, .01); /* 2 s stalled of 6, 0.06 s allowed */
    ck_assert_double_eq_tol(s.lambda, .02 * 1.94, 1e-12);
    caution_chunk(&s, 0, 4, .01);
    ck_assert_double_eq_tol(s.lambda, .02 * 1.94 - .02 * .04, 1e-12);
    struct caution_stalls before = s;
    caution_chunk(&s, 50, 4, 0); /* no ceiling */
    ck_assert_mem_eq(&s, &before, sizeof s);
    caution_chunk(&s, 3600, 4, .01);
    ck_assert_double_eq(s.lambda, CAUTION_LAMBDA_MAX);
    for (int i = 0; i < 20000; i++)
        caution_chunk(&s, 0, 4, .01);
    ck_assert_double_eq(s.lambda, 0);
}

TEST(what_a_session_stalled_counts)
{
    struct view v = spread(0), is;
    v.qoe = qoe_find("standard")->qoe;
    double mu = v.qoe.mu_stall;
    double slow = 1 + CAUTION_SLOW; /* 250 kB/s are less than half of 4300 kbit/s */
    caution_apply(&v, NULL, NULL);  /* as shipped */
    ck_assert_double_eq_tol(v.qoe.mu_stall, slow * mu, 1e-9);

    v = spread(0);
    v.qoe = qoe_find("standard")->qoe;
    v.stalled_s = 1.5;
    v.played_s = 98.5; /* 0.5 s above 1 % */
    struct caution_stalls s = {.lambda = 0};
    is = v;
    caution_apply(&is, NULL, &s);
    ck_assert_double_eq_tol(is.qoe.mu_stall, slow * 1.25 * mu, 1e-9);
    s.lambda = .5;
    is = v;
    caution_apply(&is, NULL, &s);
    ck_assert_double_eq_tol(is.qoe.mu_stall, (slow + .5) * 1.25 * mu, 1e-9);
    s.lambda = 2; /* 3 times 1.25 is more than the bound */
    is = v;
    caution_apply(&is, NULL, &s);
    ck_assert_double_eq_tol(is.qoe.mu_stall, CAUTION_WEIGHT_MAX * mu, 1e-9);
    ck_assert_double_eq(is.margin, caution_margins[0]);
    struct caution_links c = {.margin = {.25, .5, .75}};
    is = v;
    caution_apply(&is, &c, &s);
    ck_assert_double_eq(is.margin, caution_margins[0] + .25);
    for (int i = 0; i < CAUTION_LINKS; i++) {
        static const double s_of[] = {0, .3, 2};
        is = spread(s_of[i]);
        is.qoe = qoe_find("standard")->qoe;
        caution_apply(&is, NULL, NULL);
        ck_assert_double_eq(is.margin, caution_margins[i]);
    }
    is = made_view(6); /* nothing was measured */
    is.qoe = qoe_find("standard")->qoe;
    caution_apply(&is, &c, NULL);
    ck_assert_double_eq(is.margin, 0);
}

/* By hand: half of the top level, three quarters, all of it; nothing measured. */
TEST(stalls_weigh_more_on_slow_links)
{
    static const struct {
        double carries, share;
    } rows[] = {{.2, 1}, {.5, 1}, {.75, .5}, {1, 0}, {3, 0}, {0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct view v = made_view(6);
        v.qoe = qoe_find("live")->qoe;
        double mu = v.qoe.mu_stall;
        for (int n = 0; rows[i].carries > 0 && n < 3; n++)
            view_push(&v, rows[i].carries * v.ladder_kbps[5] * 125 * 2, 2);
        caution_apply(&v, NULL, NULL);
        ck_assert_double_eq_tol(v.qoe.mu_stall, mu * (1 + CAUTION_SLOW * rows[i].share),
                                1e-9);
    }
}

TEST(the_papers_viewers_stay_as_they_are)
{
    struct caution_links c = {.margin = {1, 1, 1}};
    struct caution_stalls s = {.lambda = 5};
    for (int i = 0; i < QOE_PAPERS; i++) {
        struct view v = spread(0);
        v.qoe = qoe_papers[i].qoe;
        v.stalled_s = v.played_s = 100;
        struct view is = v;
        caution_apply(&is, &c, &s);
        ck_assert(qoe_same(&is.qoe, &v.qoe));
        ck_assert_double_eq(is.margin, v.margin);
    }
}

TEST(a_link_below_the_lowest_level)
{
    struct view v = made_view(6);
    ck_assert(caution_link_bound(&v, 299));
    ck_assert(!caution_link_bound(&v, 300));
}

SUITE(abr_deciders_caution, links_are_of_three_kinds, margins_by_hand,
      margins_have_bounds, at_most_one_in_six_is_missed,
      good_links_make_no_forecast_bolder, lambda_by_hand, what_a_session_stalled_counts,
      stalls_weigh_more_on_slow_links, the_papers_viewers_stay_as_they_are,
      a_link_below_the_lowest_level);
