#include "abr/deciders/window.h"

#include "base/rng.h"
#include "support/suites.h"

#include <math.h>
#include <stdbool.h>

/* Levels of 100, 200 .. kbit/s on a link of 800 that was measured once; the player's last was 5. */
static struct view linear(int levels)
{
    struct view v = view_default();
    v.levels = levels;
    for (int k = 0; k < levels; k++) {
        v.ladder_kbps[k] = 100 * (k + 1);
        v.points[k] = 3 * k;
        v.next_bytes[k] = k % 3 ? 1000 * (k + 1) : 0;
    }
    v.chunk_s = 4;
    v.buffer_s = 20;
    v.buffer_max_s = 60;
    v.last_level = 5;
    v.last_points = 15.5;
    view_push(&v, 100e3, 1);
    return v;
}

static uint32_t levels_of(const struct view *v, uint32_t offered)
{
    struct window w;
    (void)window_see(&w, v, offered);
    return window_levels(&w);
}

TEST(a_short_ladder_is_seen_whole)
{
    for (int levels = 2; levels <= FEAT_LEVELS; levels++) {
        struct view v = linear(levels);
        if (v.last_level >= levels) v.last_level = levels - 1;
        struct window w;
        ck_assert_ptr_eq(window_see(&w, &v, 1), &v);
        ck_assert_uint_eq(window_mask(&w, 5), 5);
        ck_assert_uint_eq(window_levels(&w), 0);
        ck_assert_int_eq(window_level(&w, levels - 1), levels - 1);
        ck_assert_int_eq(window_place(&w, 1), 1);
    }
}

/* The plan weighs levels 0, 4, 8, 11, 15, 19 and the last one. */
TEST(next_to_the_best)
{
    struct view v = linear(20);
    uint32_t all = feat_mask(&v);
    ck_assert_uint_eq(all, 0xfffff);
    /* stalls and changes cost nothing: the highest, beside 0 and 4 to 6 */
    v.qoe = (struct qoe){.mu_quality = 1, .utility = QOE_POINTS};
    ck_assert_uint_eq(levels_of(&v, all), 0xff071);
    v.last_level = 19;
    ck_assert_uint_eq(levels_of(&v, all), 0xffe01);
    /* the lowest offered level stays */
    ck_assert_uint_eq(levels_of(&v, 0x18), 0xffc09);
    /* of levels that are worth the same the lowest is the middle */
    v.qoe.mu_quality = 0;
    v.last_level = 5;
    ck_assert_uint_eq(levels_of(&v, all), 0xfff);
    /* no level but 11 is worth anything: 7 to 14, beside 0 and 4 to 6 */
    v.qoe.mu_quality = 1;
    for (int k = 0; k < v.levels; k++)
        v.points[k] = k == 11 ? 50 : 0;
    ck_assert_uint_eq(levels_of(&v, all), 0x7ff1);
    /* the link carries nothing: the lowest twelve */
    v = linear(32);
    v.throughput_kbps[0] = 1;
    for (int k = 0; k < v.levels; k++)
        v.next_bytes[k] = 0;
    ck_assert_uint_eq(levels_of(&v, UINT32_MAX), 0xfff);
}

/* Level i has neighbours of ratio (i + 2) / i. 18, 16, 14, 12, 10, 8, 17 and 6 go, in this order. */
TEST(nothing_was_measured)
{
    struct view v = linear(20);
    uint32_t all = feat_mask(&v);
    v.n_history = 0;
    v.last_level = -1;
    ck_assert_uint_eq(levels_of(&v, all), 0x8aabf);
    /* only the first level is offered */
    ck_assert_uint_eq(levels_of(&v, 1u << 14) >> 14 & 1, 1);
    /* the last level and its neighbours stay: 18, 14, 12, 10, 8, 6, 13 and 4 go */
    v.last_level = 16;
    ck_assert_uint_eq(levels_of(&v, all), 0xb8aaf);
}

/* A viewer to whom only quality counts sees the highest levels. A blind observation must not show that. */
TEST(a_blind_observation_does_not_show_the_weights)
{
    struct view a = linear(20), b = a;
    float blind[2][FEAT_FULL_DIM];
    b.qoe = (struct qoe){.mu_quality = 1, .utility = QOE_POINTS};
    ck_assert_uint_ne(levels_of(&a, feat_mask(&a)), levels_of(&b, feat_mask(&b)));
    window_observe(blind[0], FEAT_BLIND, &a);
    window_observe(blind[1], FEAT_BLIND, &b);
    ck_assert_mem_eq(blind[0], blind[1], sizeof blind[0]);
}

static struct view drawn(struct rng *r)
{
    struct view v = linear(13 + (int)rng_below(r, VIEW_LEVELS - 12));
    for (int k = 1; k < v.levels; k++)
        v.ladder_kbps[k] = v.ladder_kbps[k - 1] * rng_range(r, 1.01, 1.5);
    v.n_history = 0;
    double link = exp(rng_range(r, log(50), log(5e4)));
    for (int i = (int)rng_below(r, 12); i > 0; i--)
        view_push(&v, link * 125 * rng_range(r, .3, 2), 1);
    v.chunks = rng_below(r, 2) ? 100 : 0;
    v.chunk = (int)rng_below(r, 100);
    v.buffer_s = rng_range(r, 0, 60);
    v.last_level = (int)rng_below(r, (uint32_t)v.levels + 1) - 1;
    return v;
}

TEST(what_it_promises)
{
    struct rng r;
    rng_init(&r, 3, 4);
    for (int i = 0; i < 5000; i++) {
        struct view v = drawn(&r);
        uint32_t offered = ((uint32_t)rng_u64(&r) & feat_mask(&v)) | 1;
        if (i % 5 == 0) offered = UINT32_C(1) << rng_below(&r, (uint32_t)v.levels);
        struct window w;
        const struct view *seen = window_see(&w, &v, offered);
        uint32_t levels = window_levels(&w);
        ck_assert_int_eq(seen->levels, FEAT_LEVELS);
        ck_assert_int_eq(__builtin_popcount(levels), FEAT_LEVELS);
        ck_assert_uint_eq(levels & ~feat_mask(&v), 0);
        ck_assert(levels & 1);
        ck_assert(levels & offered & -offered); /* the lowest offered */
        ck_assert(window_mask(&w, offered));
        uint32_t near =
            v.last_level < 0 ? 0 : (uint32_t)(UINT64_C(7) << v.last_level >> 1);
        near &= feat_mask(&v);
        ck_assert_uint_eq(levels & near, near);
        ck_assert_int_eq(seen->last_level,
                         v.last_level < 0 ? -1 : window_place(&w, v.last_level));
        ck_assert_double_eq(seen->last_points, v.last_points);
        float of_window[FEAT_LEVELS], obs[FEAT_PLAN_DIM];
        double prob[VIEW_LEVELS];
        bool same = true;
        for (int p = 0; p < FEAT_LEVELS; p++) {
            int k = window_level(&w, p);
            same &= window_place(&w, k) == p &&
                    seen->ladder_kbps[p] == v.ladder_kbps[k] &&
                    seen->next_bytes[p] == v.next_bytes[k] &&
                    seen->points[p] == v.points[k] &&
                    view_bytes(seen, p) == view_bytes(&v, k) &&
                    (window_mask(&w, offered) >> p & 1) == (offered >> k & 1);
            of_window[p] = (float)(p + 1);
        }
        window_spread(prob, v.levels, levels, of_window);
        for (int k = 0; k < v.levels; k++)
            same &= prob[k] == window_place(&w, k) + 1;
        window_observe(obs, FEAT_PLAN, &v);
        for (int j = 0; j < FEAT_PLAN_DIM; j++)
            same &= isfinite(obs[j]) != 0;
        ck_assert_msg(same, "view %d", i);
    }
}

SUITE(abr_deciders_window, a_short_ladder_is_seen_whole, next_to_the_best,
      nothing_was_measured, a_blind_observation_does_not_show_the_weights,
      what_it_promises);
