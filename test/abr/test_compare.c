#include "abr/compare.h"

#include <check.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "support/suites.h"

static struct compare c;

static void begin(int arms, const double *share)
{
    struct compare_cfg cfg = compare_cfg_default();
    cfg.arms = arms;
    memcpy(cfg.share, share, (size_t)arms * sizeof *share);
    compare_init(&c, &cfg);
}

static const double EQUAL[] = {1, 1, 1};

TEST(a_session_becomes_its_figures)
{
    begin(2, EQUAL);
    struct compare_ended e = {.started = true,
                              .startup_s = 1.5,
                              .stall_s = 1,
                              .played_s = 99,
                              .points = 1600,
                              .reward = 900,
                              .chunks = 20,
                              .switches = 3};
    compare_assign(&c, 1, COMPARE_COUNTED);
    compare_end(&c, 1, 2, &e);
    static const double want[COMPARE_FIGURES] = {1.5, .01, 80, 180. / 99, 45, 99};
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        ck_assert_double_eq_tol(compare_mean(&c.arm[1].cell[0][f]), want[f], 1e-9);
        ck_assert_uint_eq(c.arm[1].cell[3][f].n, 1); /* of its kind of network */
        ck_assert_uint_eq(c.arm[1].cell[1][f].n, 0);
        ck_assert_uint_eq(c.arm[1].cell[0][f].clipped, 0);
    }
    e.stall_s = 99; /* half of the time */
    e.started = false;
    compare_end(&c, 1, 2, &e);
    const struct compare_cell *stall = &c.arm[1].cell[0][COMPARE_STALL_RATIO];
    ck_assert_double_eq_tol(stall->sum, .01 + .05, 1e-12);
    ck_assert_uint_eq(stall->clipped, 1);
    ck_assert_uint_eq(c.arm[1].cell[0][COMPARE_STARTUP].n, 1); /* it was not known */
}

TEST(the_flow_adds_up)
{
    begin(3, EQUAL);
    for (int i = 0; i < 5; i++)
        compare_assign(&c, 1, COMPARE_COUNTED);
    compare_assign(&c, 1, COMPARE_AGAIN);
    compare_assign(&c, 1, COMPARE_FELL_BACK);
    compare_end(&c, 1, 0, &(struct compare_ended){.chunks = 2, .played_s = 8});
    compare_end(&c, 1, 0, &(struct compare_ended){0});
    const struct compare_arm *a = &c.arm[1];
    ck_assert_uint_eq(a->counted, 5);
    ck_assert_uint_eq(a->empty, 1);
    ck_assert_uint_eq(compare_analysed(a), 1);
    ck_assert_uint_eq(compare_running(a), 3);
    ck_assert_uint_eq(a->again, 1);
    ck_assert_uint_eq(a->fell_back, 1);
}

TEST(kinds_of_network)
{
    ck_assert_int_eq(compare_network(0), 0);
    ck_assert_int_eq(compare_network(2999), 1);
    ck_assert_int_eq(compare_network(3000), 2);
    ck_assert_int_eq(compare_network(15000), 3);
}

/* A session of each arm, with stall ratios around the given ones. */
static void play_one(int i, const double *stall)
{
    for (int a = 0; a < c.cfg.arms; a++) {
        double u = rng_uniform_at(1, (uint64_t)i, (uint64_t)a);
        struct compare_ended e = {.started = true,
                                  .startup_s = 1 + u,
                                  .stall_s = 100 * stall[a] * (u < .5 ? 2 : 0),
                                  .played_s = 100,
                                  .points = 800,
                                  .chunks = 10};
        compare_assign(&c, a, COMPARE_COUNTED);
        compare_end(&c, a, i % 4, &e);
    }
}

static void play(int n, const double *stall)
{
    for (int i = 0; i < n; i++)
        play_one(i, stall);
}

TEST(every_arm_is_compared_with_the_control)
{
    begin(3, EQUAL);
    play(400, (double[]){.002, .002, .02});
    ck_assert_int_eq(compare_worse(&c, 1), -1);
    ck_assert_int_eq(compare_worse(&c, 2), COMPARE_STALL_RATIO);
    struct confseq_interval k = compare_diff(&c, 2, 0, COMPARE_STALL_RATIO);
    double naive = compare_mean(&c.arm[2].cell[0][COMPARE_STALL_RATIO]) -
                   compare_mean(&c.arm[0].cell[0][COMPARE_STALL_RATIO]);
    ck_assert_double_gt(naive, k.lo);
    ck_assert_double_lt(naive, k.hi);
    ck_assert_double_eq(compare_needed(&c, 2, COMPARE_STALL_RATIO), 0);
    ck_assert_double_ge(compare_needed(&c, 1, COMPARE_STALL_RATIO), 1);
    for (int n = 1; n <= COMPARE_NETWORKS; n++) /* 100 sessions of each kind */
        ck_assert(isfinite(compare_diff(&c, 2, n, COMPARE_STALL_RATIO).lo));
    double evidence;
    ck_assert(!compare_mismatch(&evidence, &c));
}

TEST(a_margin_delays_the_guard_rail)
{
    begin(2, EQUAL);
    c.cfg.stall_margin = .05;
    play(400, (double[]){.002, .02});
    ck_assert_int_eq(compare_worse(&c, 1), -1);
    c.cfg.stall_margin = .005;
    ck_assert_int_eq(compare_worse(&c, 1), COMPARE_STALL_RATIO);
}

/* An arm that loses a tenth of its sessions before they are assigned. */
TEST(missing_sessions_are_found)
{
    begin(2, EQUAL);
    double evidence;
    for (int i = 0; i < 4000; i++) {
        compare_assign(&c, i & 1, COMPARE_COUNTED);
        if (i % 8 == 0) compare_assign(&c, 0, COMPARE_COUNTED);
    }
    ck_assert(compare_mismatch(&evidence, &c));
    begin(2, (double[]){9, 8});
    for (int i = 0; i < 3400; i++)
        compare_assign(&c, i % 17 > 8, COMPARE_COUNTED);
    ck_assert(!compare_mismatch(&evidence, &c));
}

/* Sessions of two processes, each with means of its own, are those of one. */
TEST(sums_of_two_processes_are_the_sum)
{
    static struct compare parts[2], one;
    static const double STALL[] = {.002, .02};
    begin(2, EQUAL);
    play(400, STALL);
    one = c;
    for (int half = 0; half < 2; half++) {
        begin(2, EQUAL);
        for (int i = half * 200; i < half * 200 + 200; i++)
            play_one(i, STALL);
        parts[half] = c;
    }
    compare_merge(&parts[0], &parts[1]);
    ck_assert_uint_eq(parts[0].arm[1].counted, 400);
    ck_assert_uint_eq(compare_analysed(&parts[0].arm[0]), 400);
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        ck_assert_double_eq_tol(compare_mean(&parts[0].arm[1].cell[0][f]),
                                compare_mean(&one.arm[1].cell[0][f]), 1e-9);
        struct confseq_interval x = compare_diff(&parts[0], 1, 0, f),
                                y = compare_diff(&one, 1, 0, f);
        double wide = y.hi - y.lo;
        ck_assert_double_eq_tol(x.mean, y.mean, .1 * wide);
        ck_assert_double_eq_tol(x.hi - x.lo, wide, .05 * wide);
    }
    ck_assert_int_eq(compare_worse(&parts[0], 1), COMPARE_STALL_RATIO);
}

SUITE(abr_compare, a_session_becomes_its_figures, the_flow_adds_up, kinds_of_network,
      every_arm_is_compared_with_the_control, a_margin_delays_the_guard_rail,
      missing_sessions_are_found, sums_of_two_processes_are_the_sum);
