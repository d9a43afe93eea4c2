#include "abr/deciders/mpc.h"

#include "support/mpc_brute.h"
#include "support/suites.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* ---- the plan against trying everything ---- */

static void compare(int n, int levels, int horizon, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, (uint64_t)levels);
    for (int i = 0; i < n; i++) {
        struct mpc_task t = mpc_brute_task(&r, levels, horizon);
        struct mpc_brute want = mpc_brute(&t);
        struct mpc_answer got = mpc_plan(&t);
        ck_assert_msg(
            got.level == want.level && got.value == want.value,
            "levels %d, horizon %d, task %d: %d (%.17g), brute force %d (%.17g)", levels,
            horizon, i, got.level, got.value, want.level, want.value);
        /* four roundings to 2^-20 a chunk, each off by half of that at most */
        ck_assert_msg(fabs(want.value - want.best) <= 2 * horizon * 0x1p-20,
                      "task %d: %.9g of rounded rewards, %.9g of rewards", i, want.value,
                      want.best);
    }
}

TEST(same_as_brute_force)
{
    compare(2000, 6, 5, 1);
    compare(3000, 2, 5, 2);
    compare(3000, 3, 4, 3);
    compare(3000, 6, 2, 4);
    compare(3000, 6, 1, 5);
    compare(20, 12, 5, 6);
    compare(300, 13, 3, 7);
    compare(100, 20, 3, 8);
    compare(200, 32, 2, 9);
    compare(10, 32, 3, 10);
}

/* What a long ladder costs is bounded, and the answer is at least the plan found first. */
TEST(long_ladders_are_bounded)
{
    struct rng r;
    rng_init(&r, 31, 0);
    for (int i = 0; i < 2000; i++) {
        struct mpc_task t = mpc_brute_task(&r, 32, 5);
        struct mpc_answer a = mpc_plan(&t);
        ck_assert_int_lt(a.nodes, MPC_NODES);
        ck_assert(a.level >= 0 && a.level < 32 && isfinite(a.value));
    }
}

/* Weights in points, and points that need not rise with the ladder; the chunk before was of another
 * quality than the ladder's. */
static struct mpc_task task_in_points(struct rng *r, int levels, int horizon)
{
    struct mpc_task t = mpc_brute_task(r, levels, horizon);
    bool whole = rng_below(r, 4) == 0;
    for (int k = 0; k < levels; k++)
        if (rng_below(r, 2))
            t.points[k] = whole ? rng_below(r, 101) : rng_range(r, 0, 100);
    if (t.last.kbps > 0) t.last.points = rng_range(r, 0, 100);
    t.qoe = qoe_profiles[rng_below(r, QOE_PRODUCT)].qoe;
    if (rng_below(r, 2)) {
        t.qoe.mu_quality = rng_below(r, 6) ? rng_range(r, 0, 3) : 0;
        t.qoe.mu_switch = rng_below(r, 6) ? rng_range(r, 0, 5) : 0;
        t.qoe.mu_stall = rng_below(r, 6) ? rng_range(r, 0, 60) : 0;
        t.qoe.mu_rise = rng_below(r, 2) ? rng_range(r, 0, 5) : 0;
    }
    return t;
}

TEST(same_as_brute_force_in_points)
{
    static const int cases[][3] = {{6, 5, 500}, {2, 5, 3000}, {3, 4, 3000}, {6, 1, 3000}};
    for (int c = 0; c < 4; c++) {
        struct rng r;
        rng_init(&r, 21 + (uint64_t)c, 0);
        for (int i = 0; i < cases[c][2]; i++) {
            struct mpc_task t = task_in_points(&r, cases[c][0], cases[c][1]);
            struct mpc_brute want = mpc_brute(&t);
            struct mpc_answer got = mpc_plan(&t);
            ck_assert_msg(got.level == want.level && got.value == want.value,
                          "levels %d, horizon %d, task %d: %d (%.17g), brute force %d "
                          "(%.17g)",
                          cases[c][0], cases[c][1], i, got.level, got.value, want.level,
                          want.value);
            ck_assert_msg(fabs(want.value - want.best) <= 2 * t.horizon * 0x1p-20,
                          "task %d: %.9g of rounded rewards, %.9g of rewards", i,
                          want.value, want.best);
        }
    }
}

/* One chunk of 2 s, none before it but of 90 points. At 40, 70 and 100 points, without a stall up to
 * the second: 20 - 50, 35 - 20 and 50 - 5 - 10 * 3.5. */
TEST(points_by_hand)
{
    struct mpc_task t = {.levels = 3,
                         .horizon = 1,
                         .ladder_kbps = {300, 800, 2000},
                         .points = {40, 70, 100},
                         .download_s = {{1, 2, 6.5}},
                         .chunk_s = 2,
                         .buffer_s = 3,
                         .last = {800, 90},
                         .qoe = {.mu_quality = 1,
                                 .mu_switch = 1,
                                 .mu_stall = 10,
                                 .mu_rise = .5,
                                 .utility = QOE_POINTS}};
    struct mpc_answer a = mpc_plan(&t);
    ck_assert_int_eq(a.level, 1);
    ck_assert_double_eq_tol(a.value, (35 - 20) / 12., 1e-5); /* over 1 + 1 + 10 */
    t.qoe.mu_stall = 2;                                      /* 50 - 5 - 7 */
    a = mpc_plan(&t);
    ck_assert_int_eq(a.level, 2);
    ck_assert_double_eq_tol(a.value, 38 / 4., 1e-5);
    t.last = (struct qoe_level){0, 0}; /* no chunk before: 50 - 7 */
    ck_assert_double_eq_tol(mpc_plan(&t).value, 43 / 4., 1e-5);
}

/* The authors' utility: ln(R + .7) weighs 0 here and a change costs nothing, but their
 * - .01/R stays. At .1, .2 and 1 Mbit/s it is .1, .05 and .01; a stall of d - 1 s at 20 ms a
 * second costs .001, .021 and .18 more: the middle one wins. */
TEST(the_unweighted_penalty_of_low_rates_counts)
{
    struct mpc_task t = {.levels = 3,
                         .horizon = 1,
                         .ladder_kbps = {100, 200, 1000},
                         .download_s = {{1.05, 2.05, 10}},
                         .chunk_s = 4,
                         .buffer_s = 1,
                         .qoe = qoe_of_mu(0, 0, .02, QOE_PAMOE)};
    ck_assert_int_eq(mpc_plan(&t).level, 1);
    t.qoe.utility = QOE_LINEAR; /* quality is worth nothing */
    ck_assert_int_eq(mpc_plan(&t).level, 0);
}

/* every plan without a stall is worth 0: the first one must win, and cheaply */
TEST(ties_go_to_the_lowest_levels)
{
    struct rng r;
    rng_init(&r, 7, 0);
    struct mpc_task t = mpc_brute_task(&r, 12, 5);
    t.qoe = qoe_of_mu(0, 0, 1, QOE_LINEAR);
    t.last = (struct qoe_level){t.ladder_kbps[11], t.points[11]};
    memset(t.download_s, 0, sizeof t.download_s);
    ck_assert_int_eq(mpc_plan(&t).level, 0);
    t.qoe = qoe_of_mu(0, 0, 0, QOE_LINEAR);
    ck_assert_int_eq(mpc_plan(&t).level, 0);
    ck_assert_int_lt(mpc_plan(&t).nodes, 1000);
}

/* the count of nodes is the work, and it is the same on every machine */
TEST(looks_at_few_plans)
{
    struct rng r;
    rng_init(&r, 8, 0);
    const int levels[] = {6, 12};
    const double all[] = {9330, 271452}; /* sum of levels^j, j = 1 .. 5 */
    for (int c = 0; c < 2; c++) {
        double nodes = 0;
        long worst = 0;
        for (int i = 0; i < 2000; i++) {
            struct mpc_task t = mpc_brute_task(&r, levels[c], 5);
            long n = mpc_plan(&t).nodes;
            nodes += (double)n / 2000;
            if (n > worst) worst = n;
        }
        ck_assert_msg(nodes < .05 * all[c], "%d levels: %g nodes on average", levels[c],
                      nodes);
        ck_assert_msg((double)worst <= all[c], "%d levels: %ld nodes", levels[c], worst);
    }
}

/* ---- one decision by hand ---- */

/* Throughputs 1000 then 2000 kbit/s: harmonic mean 4000/3; the forecast for the second
 * was 1000, error .5, so C = 4000/3/1.5 = 888.9. Last chunk of the video, 4 s: level 1
 * takes 8000/888.9 = 9 s from a buffer of 8. */
static struct view last_chunk(void)
{
    struct view v = view_default();
    v.levels = 2;
    v.ladder_kbps[0] = 1000;
    v.ladder_kbps[1] = 2000;
    v.chunk_s = 4;
    v.chunk = 2;
    v.chunks = 3;
    v.buffer_s = 8;
    v.buffer_max_s = 60;
    v.last_level = 0;
    view_push(&v, 125e3, 1);
    view_push(&v, 250e3, 1);
    return v;
}

TEST(forecast_by_hand)
{
    struct view v = last_chunk();
    struct mpc_memory m = {.chunk = -1};
    ck_assert_double_eq_tol(mpc_forecast_kbps(&m, &v), 4000 / 3. / 1.5, 1e-9);
    /* asked again: the same; a chunk later at 500: |4000/3 - 500| / 500 = 5/3 */
    ck_assert_double_eq_tol(mpc_forecast_kbps(&m, &v), 4000 / 3. / 1.5, 1e-9);
    v.chunk = 3;
    view_push(&v, 62.5e3, 1);
    double harmonic = 3 / (1e-3 + .5e-3 + 2e-3);
    ck_assert_double_eq_tol(mpc_forecast_kbps(&m, &v), harmonic / (1 + 5 / 3.), 1e-9);
}

/* five exact forecasts later the error of long ago is forgotten */
TEST(errors_fade_after_five)
{
    struct view v = last_chunk();
    struct mpc_memory m = {.chunk = -1};
    (void)mpc_forecast_kbps(&m, &v);
    double forecast = 0;
    for (int i = 0; i < 12; i++) {
        v.chunk++;
        view_push(&v, 250e3, 1);
        forecast = mpc_forecast_kbps(&m, &v);
    }
    ck_assert_double_eq_tol(forecast, 2000, 1e-9);
}

TEST(decision_by_hand)
{
    struct view v = last_chunk();
    struct err e = {0};
    struct algo own, fixed;
    ck_assert_int_eq(algo_new(&own, "mpc", NULL, &e), 0);
    ck_assert_int_eq(algo_new(&fixed, "mpc-default", NULL, &e), 0);

    /* pensieve: 1 against 2 - 1 - 4.3 * 1 s; news: 6 against 12 - 1 - 1 */
    ck_assert_int_eq(own.decide(own.self, &v, NULL), 0);
    v.qoe = qoe_find("paper-news")->qoe;
    ck_assert_int_eq(own.decide(own.self, &v, NULL), 1);
    ck_assert_int_eq(fixed.decide(fixed.self, &v, NULL), 0);

    /* nothing measured */
    struct view blank = v;
    blank.chunk = blank.n_history = 0;
    own.reset(own.self, 1);
    ck_assert_int_eq(own.decide(own.self, &blank, NULL), 0);
    algo_free(&own);
    algo_free(&fixed);
}

TEST(task_uses_sizes_and_shrinks_at_the_end)
{
    struct err e = {0};
    const double ladder[] = {1000, 2000};
    struct video *video = video_new(2, 7, 4, ladder, &e);
    ck_assert_ptr_nonnull(video);
    for (int i = 0; i < 14; i++)
        video->bytes[i] = 1000 * (i + 1);
    struct view v = last_chunk();
    v.chunks = 7;
    v.next_bytes[0] = 111e3;

    struct mpc_task t = mpc_task(&v, video, &v.qoe, 8);
    ck_assert_int_eq(t.horizon, 5);
    ck_assert_double_eq_tol(t.download_s[0][0], 111e3 / 1000, 1e-9); /* the view's own */
    ck_assert_double_eq_tol(t.download_s[0][1], 1e6 / 1000, 1e-9);   /* unknown there */
    ck_assert_double_eq_tol(t.download_s[1][0], 7, 1e-9);            /* chunk 3 */
    ck_assert_double_eq_tol(t.download_s[4][1], 14, 1e-9);           /* chunk 6 */

    ck_assert_double_eq_tol(mpc_task(&v, NULL, &v.qoe, 8).download_s[1][0], 500, 1e-9);
    v.chunk = 6;
    ck_assert_int_eq(mpc_task(&v, video, &v.qoe, 8).horizon, 1);
    v.chunks = 0; /* live */
    ck_assert_int_eq(mpc_task(&v, NULL, &v.qoe, 8).horizon, 5);
    video_free(video);
}

SUITE_WITHIN(abr_deciders_mpc, 120, long_ladders_are_bounded, same_as_brute_force,
             same_as_brute_force_in_points, points_by_hand,
             the_unweighted_penalty_of_low_rates_counts, ties_go_to_the_lowest_levels,
             looks_at_few_plans, forecast_by_hand, errors_fade_after_five,
             decision_by_hand, task_uses_sizes_and_shrinks_at_the_end);
