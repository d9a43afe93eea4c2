#include "abr/deciders/forecast.h"

#include "support/made.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>

START_TEST(nothing_measured_is_no_forecast)
{
    struct view v = made_view(5);
    ck_assert(forecast_of(&v).mean_kbps == 0);
}
END_TEST

/* A link without change has spread 0, which lies before the first knot: its row as it is. */
START_TEST(a_calm_link_by_hand)
{
    struct view v = made_view(5);
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, 250e3, 1); /* 2000 kbit/s */
    struct forecast f = forecast_of(&v);
    ck_assert_double_eq_tol(f.mean_kbps, 2000, 1e-9);
    ck_assert(f.spread < 1e-6);
    ck_assert_double_eq_tol(f.next_kbps[0], 2000 * exp(-0.151), 1e-6);
    ck_assert_double_eq_tol(f.next_kbps[4], 2000 * exp(-0.001), 1e-6);
    ck_assert_double_eq_tol(f.later_kbps[8], 2000 * exp(0.085), 1e-6);
}
END_TEST

/* Throughputs that alternate by a factor of e^(2 s) have the spread s. 0.1275 is half way between the
 * second and the third knot. The newest five hold three of the higher ones. */
START_TEST(between_two_knots_by_hand)
{
    struct view v = made_view(5);
    double s = (0.086 + 0.169) / 2;
    for (int i = 0; i < VIEW_HISTORY; i++)
        view_push(&v, i % 2 ? 125e3 * exp(2 * s) : 125e3, 1);
    struct forecast f = forecast_of(&v);
    double mean = 5 / (2 / 1000. + 3 / (1000. * exp(2 * s)));
    ck_assert_double_eq_tol(f.spread, s, 1e-9);
    ck_assert_double_eq_tol(f.next_kbps[0], mean * exp((-0.393 - 0.584) / 2), 1e-6);
    ck_assert_double_eq_tol(f.later_kbps[4], mean * exp((-0.038 - 0.048) / 2), 1e-6);
}
END_TEST

/* The variance that a history of 1 .. 7 chunks has not shown yet is added to what it showed. */
START_TEST(a_short_history_is_wider)
{
    static const double unseen[] = {.34, .34, .25, .20, .13, .08, .04, 0};
    struct view v = made_view(5);
    double width = INFINITY;
    for (int n = 1; n <= VIEW_HISTORY; n++) {
        view_push(&v, 250e3, 1);
        struct forecast f = forecast_of(&v);
        ck_assert_double_eq_tol(f.mean_kbps, 2000, 1e-9);
        ck_assert_double_eq_tol(f.spread, unseen[n - 1], 1e-6);
        double now = f.next_kbps[8] / f.next_kbps[0];
        ck_assert(now <= width + 1e-9);
        ck_assert(n > 3 ||
                  now > 1.4 * exp(.070 + .151)); /* than a link known to be calm */
        width = now;
    }
    /* 0.30 shown and 0.40 not would be 0.50: variances are added */
    v = made_view(5);
    view_push(&v, 125e3, 1);
    view_push(&v, 125e3 * exp(2 * .3), 1);
    ck_assert_double_eq_tol(forecast_of(&v).spread, sqrt(.3 * .3 + .34 * .34), 1e-9);
}
END_TEST

START_TEST(quantiles_ascend_and_spread_with_the_history)
{
    double width = 0;
    for (double step = 0; step < 3; step += 0.1) {
        struct view v = made_view(5);
        for (int i = 0; i < 8; i++)
            view_push(&v, 125e3 * exp(i % 2 ? step : -step), 1);
        struct forecast f = forecast_of(&v);
        for (int i = 1; i < FORECAST_QUANTILES; i++) {
            ck_assert(f.next_kbps[i] > f.next_kbps[i - 1]);
            ck_assert(f.later_kbps[i] > f.later_kbps[i - 1]);
        }
        double now = f.next_kbps[8] / f.next_kbps[0];
        ck_assert(now >= width - 1e-9);
        width = now;
    }
}
END_TEST

SUITE(abr_deciders_forecast, nothing_measured_is_no_forecast, a_calm_link_by_hand,
      between_two_knots_by_hand, a_short_history_is_wider,
      quantiles_ascend_and_spread_with_the_history);
