#include "abr/traces/trace_stats.h"

#include "support/made.h"
#include "support/suites.h"

#include <math.h>

TEST(by_hand)
{
    /* 6 s at 1, 3 s at 4, 1 s at 0; row 0 does not count */
    struct trace *t =
        made_trace(4, (const double[][2]){{2, 99}, {8, 1}, {11, 4}, {12, 0}});
    struct trace_stats s;
    ck_assert_int_eq(trace_stats(&s, &t, 1, NULL), 0);
    ck_assert_int_eq(s.slots, 3);
    ck_assert_double_eq_tol(s.duration_s, 10.0, 1e-12);
    ck_assert_double_eq_tol(s.mean, 1.8, 1e-12);
    double variance = .6 * .64 + .3 * 4.84 + .1 * 3.24;
    ck_assert_double_eq_tol(s.cv, sqrt(variance) / 1.8, 1e-12);
    ck_assert_double_eq_tol(s.zero_share, .1, 1e-12);
    ck_assert_double_eq(s.p5, 0.0);
    ck_assert_double_eq(s.p50, 1.0);
    ck_assert_double_eq(s.p95, 4.0);
    trace_free(t);
}

TEST(slots_of_all_traces_are_weighted_by_time)
{
    struct trace *t[2] = {made_trace(2, (const double[][2]){{0, 0}, {30, 1}}),
                          made_trace(3, (const double[][2]){{0, 0}, {5, 5}, {10, 5}})};
    struct trace_stats s;
    ck_assert_int_eq(trace_stats(&s, t, 2, NULL), 0);
    ck_assert_int_eq(s.slots, 3);
    ck_assert_double_eq_tol(s.mean, 2.0, 1e-12);
    ck_assert_double_eq(s.p50, 1.0);
    trace_free(t[0]);
    trace_free(t[1]);
}

SUITE(abr_traces_trace_stats, by_hand, slots_of_all_traces_are_weighted_by_time);
