#include "abr/deciders/abandon.h"

#include "base/rng.h"

#include "support/suites.h"

#include <math.h>

static const double LADDER[] = {300, 750, 1200, 1850, 2850, 4300};

static struct view before(const char *profile, int chunk, int last_level)
{
    struct view v = view_default();
    v.qoe = qoe_find(profile)->qoe;
    v.levels = 6;
    for (int k = 0; k < 6; k++)
        v.ladder_kbps[k] = LADDER[k];
    v.chunk_s = 4;
    v.chunk = chunk;
    v.chunks = 15;
    v.last_level = last_level;
    for (int i = 0; i < chunk; i++)
        view_push(&v, 5e5, 2);
    return v;
}

/* so many kbit/s for so long */
static struct underway came(int level, double kbps, double elapsed_s, double buffer_s)
{
    return (struct underway){level, kbps * 125 * elapsed_s, elapsed_s, buffer_s};
}

TEST(a_careful_beginning_is_corrected)
{
    struct view v = before("paper-documentary", 0, -1);
    struct underway fast = came(1, 20000, .1, 0), slow = came(1, 800, .33, 0);
    ck_assert_int_eq(abandon_level(&v, &fast), 5);
    ck_assert_int_eq(abandon_level(&v, &slow), 1);
    v = before("paper-documentary", 1, 1); /* something is known: chunk 0 is past */
    ck_assert_int_eq(abandon_level(&v, &fast), 1);
}

TEST(a_bold_beginning_is_too)
{
    struct view v = before("paper-documentary", 0, -1);
    struct underway slow = came(3, 100, .33, 0);
    ck_assert_int_eq(abandon_level(&v, &slow), 0);
    slow = came(3, 900, .33, 0); /* .8 s sooner would not pay the climb */
    ck_assert_int_gt(abandon_level(&v, &slow), 0);
    slow = (struct underway){3, 0, .33, 0}; /* nothing comes */
    ck_assert_int_eq(abandon_level(&v, &slow), 0);

    slow = came(1, 100, 20, 0); /* of the lowest as much would come as is left */
    ck_assert_int_eq(abandon_level(&v, &slow), 1);
    v.next_bytes[0] = 1e5; /* less, in this chunk */
    ck_assert_int_eq(abandon_level(&v, &slow), 0);
    slow = came(0, 100, .33, 0);
    ck_assert_int_eq(abandon_level(&v, &slow), 0); /* there is nothing below */

    slow = came(3, 100, .33, 0); /* who prefers quality waits */
    v.qoe.mu_quality = 1.01;
    ck_assert_int_eq(abandon_level(&v, &slow), 3);
    v.qoe = qoe_find("paper-news")->qoe;
    ck_assert_int_eq(abandon_level(&v, &slow), 3);
    slow.level = 5;
    ck_assert_int_eq(abandon_level(&v, &slow), 5); /* neither lower nor higher */
}

/* Weights in points of a video of two chunks; by hand in each test. */
static struct view in_points(int levels, double mu_stall, double mu_start)
{
    struct view v = view_default();
    v.qoe = (struct qoe){.mu_quality = 1,
                         .mu_stall = mu_stall,
                         .mu_start = mu_start,
                         .utility = QOE_POINTS};
    v.levels = levels;
    for (int k = 0; k < levels; k++) {
        v.ladder_kbps[k] = 1000 << k;
        v.points[k] = 50 + 10 * k;
    }
    v.chunk_s = 4;
    v.chunks = 2;
    v.last_level = -1;
    return v;
}

/* 62.5 kB/s: of level 1 are left 15 s, level 0 takes 8 s. The second chunk is best at level 0 (50
 * points). V(1) - V(0) = 60 - 50 - 7 mu_start. */
TEST(a_start_costs_its_own_weight)
{
    struct underway u = {1, 62500, 1, 0};
    struct view v = in_points(2, 10, 1);
    ck_assert_int_eq(abandon_level(&v, &u), 1);
    v.qoe.mu_start = 2;
    ck_assert_int_eq(abandon_level(&v, &u), 0);
}

TEST(a_start_keeps_its_ceiling)
{
    struct underway u = {1, 62500, 1, 0};
    struct view v = in_points(2, 10, 1);
    v.qoe.startup_max_s = 16; /* 1 + 15 */
    ck_assert_int_eq(abandon_level(&v, &u), 1);
    v.qoe.startup_max_s = 9.5; /* 1 + 8 */
    ck_assert_int_eq(abandon_level(&v, &u), 0);
    v.qoe.startup_max_s = 8.5; /* neither level starts in time */
    ck_assert_int_eq(abandon_level(&v, &u), 1);

    v = in_points(2, .5, 2); /* prefers quality: waits, but not beyond the ceiling */
    ck_assert_int_eq(abandon_level(&v, &u), 1);
    v.qoe.startup_max_s = 9.5;
    ck_assert_int_eq(abandon_level(&v, &u), 0);

    /* 1 MB/s: level 1 takes 1 s from now on */
    struct underway fast = {0, 1e5, .1, 0};
    v = in_points(2, 10, 1);
    ck_assert_int_eq(abandon_level(&v, &fast), 1);
    v.qoe.startup_max_s = 1.2;
    ck_assert_int_eq(abandon_level(&v, &fast), 1);
    v.qoe.startup_max_s = 1;
    ck_assert_int_eq(abandon_level(&v, &fast), 0);
}

/* 100 kB/s, 6 s in the buffer: level 1 takes 10 s, level 0 takes 5 s. V(2) = 70 - 1.5 * 13 + 57,
 * V(1) = 60 - 6 + 57, V(0) = 50 + 58.5. */
TEST(a_fall_does_not_outlast_the_buffer)
{
    struct underway u = {2, 1e5, 1, 6};
    struct view v = in_points(3, 1.5, 1);
    view_push(&v, 5e5, 2);
    v.last_level = 2;
    v.last_points = 70;
    ck_assert_int_eq(abandon_level(&v, &u), 1);
    v.qoe.stall_ratio_max = .01;
    ck_assert_int_eq(abandon_level(&v, &u), 0);
}

TEST(a_fading_link_is_fled_by_those_who_hate_stalls)
{
    struct view v = before("paper-live", 5, 3);
    struct underway fading = came(3, 200, 1, 6);
    int level = abandon_level(&v, &fading);
    ck_assert_int_lt(level, 3);
    fading.buffer_s = 60; /* it will be there in time */
    ck_assert_int_eq(abandon_level(&v, &fading), 3);
    fading = came(3, 2000, 3.5, 0.1); /* of the lowest as much would come as is left */
    ck_assert_int_eq(abandon_level(&v, &fading), 3);
    fading = came(0, 20, 1, 0);
    ck_assert_int_eq(abandon_level(&v, &fading), 0); /* there is nothing below */
    fading = (struct underway){3, 0, .5, 2};         /* an outage */
    ck_assert_int_eq(abandon_level(&v, &fading), 0);
    v.qoe = qoe_find("paper-news")->qoe;
    ck_assert_int_eq(abandon_level(&v, &fading), 3);
    v.qoe = qoe_find("paper-documentary")->qoe;
    ck_assert_int_eq(abandon_level(&v, &fading), 3);
}

/* The header's V, term by term. */
static double value(const struct view *v, const struct underway *u, int j)
{
    double c = fmax(u->bytes, 1) / u->elapsed_s, best = 0;
    double bytes = v->ladder_kbps[j] * 125 * v->chunk_s;
    double w = (j == u->level ? fmax(bytes - u->bytes, 0) : bytes) / c;
    double lowest = v->ladder_kbps[0];
    const struct qoe_level level = {v->ladder_kbps[j], v->points[j]};
    int n = v->chunks - v->chunk - 1;
    for (int i = 0; i < v->levels; i++) {
        double kbps = v->ladder_kbps[i], a = fmax(0, u->buffer_s - w) + v->chunk_s;
        double late = fmax(0, n * v->chunk_s * (kbps * 125 / c - 1) - a);
        const struct qoe_level at = {kbps, v->points[i]};
        double sum = qoe_chunk(&v->qoe, at, level, v->chunk_s, 0, lowest).reward +
                     (n - 1) * qoe_chunk(&v->qoe, at, at, v->chunk_s, 0, lowest).reward -
                     v->qoe.mu_stall * late;
        if (!i || sum > best) best = sum;
    }
    return qoe_chunk(&v->qoe, level, view_last(v), v->chunk_s, 0, lowest).reward -
           v->qoe.mu_stall * fmax(0, w - u->buffer_s) + (n ? best : 0);
}

TEST(the_best_by_the_equation)
{
    struct rng r;
    rng_init(&r, 7, 0);
    int changed[2][2] = {0};
    for (int i = 0; i < 20000; i++) {
        int chunk = (int)rng_below(&r, 14);
        struct view v = before("paper-live", chunk, chunk ? (int)rng_below(&r, 6) : -1);
        v.qoe.mu_quality = rng_uniform(&r);
        v.qoe.mu_switch = rng_uniform(&r);
        v.qoe.mu_stall = chunk ? 1 + 5 * rng_uniform(&r) : 2 * rng_uniform(&r);
        struct underway u = came((int)rng_below(&r, 6), exp(4 + 6 * rng_uniform(&r)),
                                 .1 + rng_uniform(&r), chunk ? 8 * rng_uniform(&r) : 0);
        double size = LADDER[u.level] * 500;
        if (u.bytes > size) continue;
        int got = abandon_level(&v, &u);
        bool late = 8e-3 * (size - u.bytes) / (u.bytes * 8e-3 / u.elapsed_s) > u.buffer_s;
        bool falls = chunk ? late : v.qoe.mu_stall >= v.qoe.mu_quality;
        for (int j = 0; j < 6; j++) {
            bool allowed = j == u.level || (j > u.level && !chunk) ||
                           (j < u.level && falls && LADDER[j] * 500 < size - u.bytes);
            ck_assert(allowed || got != j);
            if (allowed) ck_assert_double_ge(value(&v, &u, got), value(&v, &u, j) - 1e-9);
        }
        changed[chunk > 0][got > u.level] += got != u.level;
    }
    ck_assert_int_gt(changed[0][0], 50);
    ck_assert_int_gt(changed[0][1], 50);
    ck_assert_int_gt(changed[1][0], 2000);
}

TEST(streams_without_end_and_odd_ladders)
{
    struct view v = before("paper-live", 5, 1);
    v.chunks = 0;
    v.levels = 2;
    struct underway u = came(1, 50, 2, 1);
    ck_assert_int_eq(abandon_level(&v, &u), 0);
    v.chunks = 6; /* the last one */
    ck_assert_int_eq(abandon_level(&v, &u), 0);
    v.next_bytes[0] = 4e6; /* a level below that weighs more */
    ck_assert_int_eq(abandon_level(&v, &u), 1);
    u.bytes = 1e9; /* more than was said */
    ck_assert_int_eq(abandon_level(&v, &u), 1);
}

SUITE(abr_deciders_abandon, a_careful_beginning_is_corrected, a_bold_beginning_is_too,
      a_start_costs_its_own_weight, a_start_keeps_its_ceiling,
      a_fall_does_not_outlast_the_buffer, a_fading_link_is_fled_by_those_who_hate_stalls,
      the_best_by_the_equation, streams_without_end_and_odd_ladders);
