#include "abr/deciders/forecast.h"

#include "abr/deciders/forecast_net.h"
#include "support/made.h"
#include "support/suites.h"

#include <float.h>
#include <math.h>

enum { ENTRIES = 3 * VIEW_HISTORY + 7, GROWTH = 2 * FORECAST_QUANTILES, OUTPUTS };

TEST(nothing_measured_is_no_forecast)
{
    struct view v = made_view(5);
    ck_assert(forecast_of(&v).mean_kbps == 0);
    ck_assert(forecast_spread(&v) < 0);
}

/* The network, output by output, in the order of the equations. */
static double unit(const double *w, const double *bias, int inputs, int outputs,
                   const double *x, int j)
{
    double y = bias[j];
    for (int i = 0; i < inputs; i++)
        y += w[i * outputs + j] * x[i];
    return y;
}

static void network(double y[OUTPUTS], const double x[ENTRIES])
{
    double a[FORECAST_HIDDEN], b[FORECAST_HIDDEN];
    for (int j = 0; j < FORECAST_HIDDEN; j++)
        a[j] = fmax(
            unit(*FORECAST_FIRST, FORECAST_FIRST_BIAS, ENTRIES, FORECAST_HIDDEN, x, j),
            0);
    for (int j = 0; j < FORECAST_HIDDEN; j++)
        b[j] = fmax(unit(*FORECAST_SECOND, FORECAST_SECOND_BIAS, FORECAST_HIDDEN,
                         FORECAST_HIDDEN, a, j),
                    0);
    for (int j = 0; j < OUTPUTS; j++)
        y[j] = unit(*FORECAST_THIRD, FORECAST_THIRD_BIAS, FORECAST_HIDDEN, OUTPUTS, b, j);
}

/* Three chunks of 1, 2 and 4 Mbit/s: five entries of each list are empty. They have 7 Mbit in 4 s. */
TEST(a_short_history_by_hand)
{
    struct view v = made_view(5);
    v.chunk_s = 2;
    static const double kbps[] = {1000, 2000, 4000}, seconds[] = {2, 1.5, 0.5};
    for (int i = 0; i < 3; i++)
        view_push(&v, kbps[i] * 125 * seconds[i], seconds[i]);
    double mean = 3 / (1 / 1000. + 1 / 2000. + 1 / 4000.), x[ENTRIES] = {0}, y[OUTPUTS];
    for (int i = 0; i < 3; i++) {
        x[5 + i] = log(kbps[i] / mean);
        x[VIEW_HISTORY + 5 + i] = log(seconds[i] + 0.05);
        x[2 * VIEW_HISTORY + 5 + i] = 1;
    }
    double s = sqrt(2. / 3 * log(2) * log(2) + .25 * .25);
    x[ENTRIES - 7] = s;
    x[ENTRIES - 6] = log(2);
    x[ENTRIES - 5] = log(7000 / 4. / mean);
    x[ENTRIES - 4] = log(1000 / mean) + (log(4) + log(2) * 255 / 256) / 256;
    x[ENTRIES - 3] = log(4);
    x[ENTRIES - 2] = sqrt(2. / 3) * log(2);
    x[ENTRIES - 1] = log(2);
    network(y, x);

    struct forecast f = forecast_of(&v);
    ck_assert_double_eq_tol(f.mean_kbps, mean, 1e-9);
    ck_assert_double_eq_tol(f.spread, s, 1e-9);
    ck_assert_double_eq_tol(forecast_spread(&v), s, 1e-9);
    ck_assert_double_eq_tol(f.growth, fmax(fmin(y[GROWTH], .9), 0), 1e-9);
    ck_assert_double_eq_tol(f.usual_bytes, cbrt(250e3 * 375e3 * 250e3), 1e-6);
    double next = -INFINITY, later = -INFINITY;
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        next = fmax(next, y[i]);
        later = fmax(later, y[FORECAST_QUANTILES + i]);
        ck_assert_double_eq_tol(f.next_kbps[i] / (mean * exp(next)), 1, 1e-9);
        ck_assert_double_eq_tol(f.later_kbps[i] / (mean * exp(later)), 1, 1e-9);
    }
}

/* Ten times the rates, with the same download times, is ten times the forecast. */
TEST(the_rate_of_the_link_does_not_matter)
{
    struct view v = made_view(5), fast = v;
    for (int i = 0; i < VIEW_HISTORY; i++) {
        view_push(&v, 125e3 * (1 + i % 3), 1 + i % 2);
        view_push(&fast, 1250e3 * (1 + i % 3), 1 + i % 2);
    }
    struct forecast f = forecast_of(&v), g = forecast_of(&fast);
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        ck_assert_double_eq_tol(g.next_kbps[i] / f.next_kbps[i], 10, 1e-9);
        ck_assert_double_eq_tol(g.later_kbps[i] / f.later_kbps[i], 10, 1e-9);
    }
}

static double width(const struct view *v)
{
    struct forecast f = forecast_of(v);
    return f.next_kbps[9] / f.next_kbps[1];
}

/* What a forecast should say of calm and volatile links, and of short histories. */
TEST(the_width_follows_the_history)
{
    struct view calm = made_view(5), uneven = calm, volatile_ = calm, young = calm;
    for (int i = 0; i < VIEW_HISTORY; i++) {
        view_push(&calm, 250e3, 1);
        view_push(&uneven, i % 2 ? 200e3 : 300e3, 1);
        view_push(&volatile_, i % 2 ? 100e3 : 500e3, 1);
    }
    view_push(&young, 250e3, 1);
    ck_assert(1.2 * width(&calm) < width(&uneven));
    ck_assert(1.2 * width(&uneven) < width(&volatile_));
    ck_assert(1.2 * width(&calm) < width(&young));
}

TEST(quantiles_ascend_and_are_finite)
{
    static const double extreme[] = {0, 1e-6, 1, 1e12};
    for (int n = 1; n <= VIEW_HISTORY; n++)
        for (int i = 0; i < 16; i++) {
            struct view v = made_view(5);
            v.n_history = n;
            for (int h = 0; h < n; h++) {
                v.throughput_kbps[h] = h % 2 ? extreme[i % 4] : 1000;
                v.download_s[h] = h % 2 ? extreme[i / 4] : 1;
            }
            if (i % 3)
                v.past = (struct view_past){.n = n,
                                            .kbit = extreme[i % 4] + 1e-3,
                                            .download_s = 1,
                                            .low = 9,
                                            .ln_variance = extreme[i / 4],
                                            .ln_change = extreme[i % 4]};
            struct forecast f = forecast_of(&v);
            ck_assert(f.growth >= 0 && f.growth < 1 && f.usual_bytes >= 1);
            for (int q = 0; q < FORECAST_QUANTILES; q++) {
                ck_assert(f.next_kbps[q] > 0 && f.next_kbps[q] < DBL_MAX);
                ck_assert(f.later_kbps[q] > 0 && f.later_kbps[q] < DBL_MAX);
                ck_assert(!q || f.next_kbps[q] >= f.next_kbps[q - 1]);
                ck_assert(!q || f.later_kbps[q] >= f.later_kbps[q - 1]);
            }
        }
}

/* A larger chunk arrives later, and by less than in proportion to its size. */
TEST(sizes_count_by_the_growth)
{
    const struct forecast f = {.usual_bytes = 1e6, .growth = .25};
    ck_assert_double_eq(forecast_bytes(&f, 1e6), 1e6);
    ck_assert_double_eq_tol(forecast_bytes(&f, 16e6), 8e6, 1e-3);
    ck_assert_double_eq_tol(forecast_bytes(&f, 1e6 / 16), 1e6 / 8, 1e-6);
    /* far from anything measured, no more than 20 times the size is believed */
    ck_assert_double_eq_tol(forecast_bytes(&f, 1e9), 1e9 * pow(20, -.25), 1e-3);
    ck_assert_double_eq_tol(forecast_bytes(&f, 1), pow(20, .25), 1e-9);
}

/* A link that was slow once is forecast to be slow again more often than one that never was. */
TEST(the_whole_session_counts)
{
    struct view v = made_view(5), failed = v;
    for (int i = 0; i < 40; i++) {
        view_push(&v, 250e3, 1);
        view_push(&failed, i % 10 ? 250e3 : 5e3, 1);
    }
    for (int i = 0; i < VIEW_HISTORY; i++) {
        view_push(&v, 250e3, 1);
        view_push(&failed, 250e3, 1);
    }
    struct forecast f = forecast_of(&v), g = forecast_of(&failed);
    ck_assert(f.mean_kbps == g.mean_kbps && f.spread == g.spread);
    ck_assert(g.later_kbps[1] < f.later_kbps[1]);
}

TEST(the_shares_are_all_there_is)
{
    double sum = 0;
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        if (i == FORECAST_LOW)
            ck_assert_double_eq_tol(sum + forecast_share[i] / 2, 1. / 6, 1e-9);
        sum += forecast_share[i];
    }
    ck_assert_double_eq_tol(sum, 1, 1e-12);
}

SUITE(abr_deciders_forecast, nothing_measured_is_no_forecast, a_short_history_by_hand,
      the_rate_of_the_link_does_not_matter, the_width_follows_the_history,
      quantiles_ascend_and_are_finite, sizes_count_by_the_growth,
      the_whole_session_counts, the_shares_are_all_there_is);
