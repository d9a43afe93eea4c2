#include "abr/deciders/plan.h"

#include "base/rng.h"
#include "support/suites.h"

#include <math.h>

/* Chunks of 4 s at 1 and 2 Mbit/s, worth 50 and 90 points. The one before had 90, 6 s are in the buffer.
 * A fall costs a point per point, a stall 10 a second:
 *   r(0 | last) = 10   r(1 | last) = 90   r(0 | 0) = 50   r(1 | k) = 90   r(0 | 1) = 10 */
static struct view two_levels(void)
{
    struct view v = view_default();
    v.qoe = (struct qoe){
        .mu_quality = 1, .mu_switch = 1, .mu_stall = 10, .utility = QOE_POINTS};
    v.levels = 2;
    v.ladder_kbps[0] = 1000;
    v.ladder_kbps[1] = 2000;
    v.points[0] = 50;
    v.points[1] = v.last_points = 90;
    v.chunk_s = 4;
    v.chunks = 0;
    v.buffer_s = 6;
    v.buffer_max_s = 20;
    v.last_level = 1;
    return v;
}

/* The lowest quantile is 1 Mbit/s, the others are 2. */
static struct forecast poor_and_good(void)
{
    struct forecast f = {.mean_kbps = 2000};
    for (int i = 0; i < FORECAST_QUANTILES; i++)
        f.next_kbps[i] = f.later_kbps[i] = i ? 2000 : 1000;
    return f;
}

/* Nothing of what depends on low buffers, slow links and far horizons. */
#define CFG(...) ((struct plan_cfg){__VA_ARGS__, 0, 0, 0, 0, 0, 0, 1})

static struct plan plan_of(struct plan_cfg cfg, const struct view *v)
{
    struct plan p;
    struct forecast f = poor_and_good();
    plan_values(&p, &cfg, v, &f);
    return p;
}

static void expect(const double *value, double low, double high)
{
    ck_assert_double_eq_tol(value[0], low, 1e-9);
    ck_assert_double_eq_tol(value[1], high, 1e-9);
}

TEST(values_by_hand)
{
    struct view v = two_levels();
    struct plan p = plan_of(CFG(1, 5, 0, 1), &v);
    /* 1 Mbit/s. Level 0 takes 4 s and leaves 2 + 4 s. Five more at level 1 take 40 s, but play 24 while
     * they arrive: 450 - 10 (24 - 6) = 270, more than 250 at level 0.
     * Level 1 takes 8 s and stalls for 2 s; 4 s are left: 90 - 20 + (450 - 200). */
    expect(p.value[0], 10 + 270, 320);
    /* 2 Mbit/s carry level 1 */
    expect(p.value[1], 10 + 450, 90 + 450);
    double low = forecast_share[0];
    expect(p.mean, low * 280 + (1 - low) * 460, low * 320 + (1 - low) * 540);
    v.margin = log(2); /* half of what was forecast: 0.5 and 1 Mbit/s */
    p = plan_of(CFG(1, 5, 0, 1), &v);
    expect(p.value[1], 280, 320);
}

TEST(caution_and_factor)
{
    struct view v = two_levels();
    /* later stalls at half their cost */
    struct plan p = plan_of(CFG(1, 5, 0, .5), &v);
    expect(p.value[0], 10 + 360, 90 - 20 + 350);
    /* twice what was forecast: as the better quantiles above */
    struct plan_cfg cfg = CFG(2, 5, 0, 1);
    p = plan_of(cfg, &v);
    expect(p.value[0], 460, 540);
    cfg.next =
        .5; /* the next chunk as forecast: level 1 stalls for 2 s, and 4 s are left */
    p = plan_of(cfg, &v);
    expect(p.value[0], 460, 90 - 20 + 450);
}

/* 0.25 Mbit/s: five more chunks at level 0 take 80 s and play 16 while they arrive. That stall counts in
 * full whatever the caution, the rest of level 1's by half. */
TEST(caution_spares_no_stall_of_the_lowest_level)
{
    struct view v = two_levels();
    v.margin = log(4); /* the lowest quantile has a quarter of 1 Mbit/s */
    struct plan p = plan_of(CFG(1, 5, 0, .5), &v);
    /* level 0 takes 16 s, 10 of them a stall; 4 s are left: z(0) = 60, z(1) = 140 */
    expect(p.value[0], 10 - 100 + 250 - 600, 90 - 260 + 10 + 4 * 50 - 600);
}

/* X: 2 s of the 4 s in the buffer after level 1 at 2 Mbit/s are kept, at a tenth of a stall's cost. */
TEST(a_low_buffer_costs)
{
    struct view v = two_levels();
    struct forecast f = poor_and_good();
    f.spread = .25;
    struct plan p;
    plan_values(&p, &(struct plan_cfg){1, 5, 0, 1, .1, 4, 0, 0, 0, 0, 1}, &v, &f);
    /* X = 4 * 0.25 * sqrt(4) = 2. Level 0 leaves 4 + 4 s, level 1 needs 4: none of X. Level 1 leaves
     * 2 + 4 s: none. At 1 Mbit/s level 0 leaves 6 s: a tenth of level 1 in turn with it uses all of X. Level 1
     * leaves 4 s and lacks 20 + 2. */
    expect(p.value[1], 460, 540);
    expect(p.value[0], 10 + 250 + .1 * 200 - 2, 90 - 20 + 450 - 200 - 22);
    f.spread =
        100; /* at most a fifth of the limit: 4 s, and level 1 leaves 2 of them at 2 Mbit/s */
    plan_values(&p, &(struct plan_cfg){1, 5, 0, 1, .1, 4, 0, 0, 0, 0, 1}, &v, &f);
    expect(p.value[1], 460, 538);
}

/* The link has half of the lowest rate more than it needs: 1 / 2 - 0.3 of 10 more chunks per chunk in the
 * buffer. */
TEST(a_slow_link_reaches_further)
{
    struct view v = two_levels();
    struct plan p = plan_of((struct plan_cfg){1, 5, 0, 1, 0, 0, 10, 0, 0, 0, 1}, &v);
    expect(p.value[1], 10 + 90 * 8, 90 + 90 * 8);
}

/* 1 Mbit/s, 6 s in the buffer after level 0. Level 0 needs 4 s of them, level 1 would need 24 s: a tenth of
 * the chunks may be at level 1. */
TEST(levels_in_turn)
{
    struct view v = two_levels();
    v.qoe.mu_stall = 20; /* 450 - 20 (24 - 6) is less than 250 */
    struct plan p = plan_of(CFG(1, 5, 0, 1), &v);
    /* level 1 leaves 4 s, which level 0 needs: 10 + 200 */
    expect(p.value[0], 10 + 250 + .1 * 200, 90 - 40 + 210);
    v.qoe.mu_rise =
        .5; /* the change costs 20, and level 1 is worth 430 after level 0: 248 are less */
    p = plan_of(CFG(1, 5, 0, 1), &v);
    expect(p.value[0], 10 + 250, 90 - 40 + 210);
}

/* 1.5 chunks in the buffer: half as many chunks more are 5 + 0.75. At 2 Mbit/s they are worth 90 each. */
TEST(a_large_buffer_reaches_further)
{
    struct view v = two_levels();
    struct plan p = plan_of(CFG(1, 5, .5, 1), &v);
    expect(p.value[1], 10 + 90 * 5.75, 90 + 90 * 5.75);
    /* 2 s more than 4 s, twice: a chunk more, but not in a live stream */
    const struct plan_cfg far = {1, 5, .5, 1, 0, 0, 0, 2, 4, 0, 1};
    p = plan_of(far, &v);
    expect(p.value[1], 10 + 90 * 5.75, 90 + 90 * 5.75);
    v.chunks = 100;
    v.buffer_max_s = PLAN_FAR_LIMIT_S;
    p = plan_of(far, &v);
    expect(p.value[1], 10 + 90 * 6.75, 90 + 90 * 6.75);
    v.buffer_max_s /= 2; /* a quarter of it */
    p = plan_of(far, &v);
    expect(p.value[1], 10 + 90 * 6, 90 + 90 * 6);
    v.chunks = 0;
    p = plan_of(CFG(1, 5, 1000, 1), &v);
    const double most = PLAN_TAIL_MAX * pow(.75, 1.5); /* of chunks of 4 s */
    expect(p.value[1], 10 + 90 * most, 90 + 90 * most);
    v.chunk_s =
        1; /* the limit in chunks is less; a chunk is worth a quarter, a fall costs the same */
    p = plan_of(CFG(1, 5, 1000, 1), &v);
    expect(p.value[1], 50 / 4.0 - 40 + 22.5 * PLAN_TAIL_MAX, 22.5 + 22.5 * PLAN_TAIL_MAX);
}

/* Twice the chunks of the forecast's mean: half of the distance to the middle on a log scale, so a link of
 * 1 Mbit/s that usually has 2 has 1.41 later. */
TEST(the_mean_of_more_chunks_spreads_less)
{
    struct view v = two_levels();
    v.qoe.mu_stall = .01; /* level 1 is always held */
    v.qoe.mu_switch = 0;
    v.ladder_kbps[1] = 4000;
    struct plan_cfg cfg = CFG(1, 2 * FORECAST_LATER, 0, 1);
    struct plan wide = plan_of(cfg, &v);
    cfg.narrow = 1;
    struct plan narrow = plan_of(cfg, &v);
    /* 16 Mbit a chunk take 16 s, or 16 / sqrt(2) */
    double saved_s = 20 * (16 - 16 / sqrt(2));
    ck_assert_double_eq_tol(narrow.value[0][0], wide.value[0][0] + .01 * saved_s, 1e-9);
    for (int i = 1; i < FORECAST_QUANTILES; i++) /* these are the middle */
        ck_assert_double_eq_tol(narrow.value[i][0], wide.value[i][0], 1e-9);
    cfg.tail = FORECAST_LATER; /* the forecast's own mean */
    narrow = plan_of(cfg, &v);
    cfg.narrow = 0;
    wide = plan_of(cfg, &v);
    ck_assert_mem_eq(narrow.value, wide.value, sizeof wide.value);
}

TEST(the_end_and_the_limit)
{
    struct view v = two_levels();
    v.chunks = 1; /* the last chunk: nothing is held after it */
    struct plan p = plan_of(CFG(1, 5, 0, 1), &v);
    expect(p.value[0], 10, 90 - 20);
    v.chunks = 2; /* one more: 8 s for level 1, with 6 or 4 s in the buffer */
    p = plan_of(CFG(1, 5, 0, 1), &v);
    expect(p.value[0], 10 + 90 - 20, 70 + 90 - 40);
    v.chunks = 0;
    v.buffer_max_s = 4; /* holds no more: 450 - 200 are not more than 250 at level 0 */
    p = plan_of(CFG(1, 5, 0, 1), &v);
    expect(p.value[0], 10 + 250, 320);
}

TEST(known_sizes_count)
{
    struct view v = two_levels();
    v.next_bytes[1] = 750e3; /* 6 s at 1 Mbit/s: no stall, and 4 s are left */
    struct plan p = plan_of(CFG(1, 5, 0, 1), &v);
    expect(p.value[0], 280, 90 + 250);
}

/* ---- the header's equation, one level after the other ---- */

static double plain_value(const struct plan_cfg *cfg, const struct view *v,
                          const struct forecast *f, int i, int k)
{
    double next_kbps = cfg->next * cfg->factor * f->next_kbps[i];
    double mu_held = (i < PLAN_POOR ? cfg->caution : 1) * v->qoe.mu_stall;
    double large = fmin(v->buffer_max_s / 60, 1);
    double load = fmin(v->ladder_kbps[0] / f->mean_kbps, 1);
    double reach_s =
        (cfg->reach + cfg->slow * fmax(load - PLAN_SLOW, 0)) * v->buffer_s +
        (v->chunks ? cfg->far * large * large * fmax(v->buffer_s - cfg->far_s, 0) : 0);
    double less = fmin(3 / v->chunk_s, 1);
    double tail = fmin(cfg->tail + reach_s / v->chunk_s, 60 * less * sqrt(less));
    double low_s = cfg->low_s * f->spread * sqrt(v->chunk_s);
    low_s = fmin(low_s, v->buffer_max_s / PLAN_LOW_PART);
    double mu_low = cfg->low * v->qoe.mu_stall;
    double first[VIEW_LEVELS], after[VIEW_LEVELS];
    if (v->chunks) tail = fmin(tail, v->chunks - v->chunk - 1);
    double later_kbps = f->later_kbps[i], middle = f->later_kbps[PLAN_MIDDLE];
    if (cfg->narrow > 0 && tail > FORECAST_LATER)
        later_kbps =
            middle * pow(later_kbps / middle, pow(FORECAST_LATER / tail, cfg->narrow));
    later_kbps = cfg->factor * later_kbps;
    view_rewards(first, v, VIEW_LAST);
    view_rewards(after, v, k);

    double left_s = v->buffer_s - forecast_bytes(f, view_bytes(v, k)) * 8e-3 / next_kbps,
           worth = first[k];
    if (left_s < 0) {
        worth += v->qoe.mu_stall * left_s;
        left_s = 0;
    }
    if (tail < 1) return worth + 0;
    double buffer_s = fmin(left_s + v->chunk_s, v->buffer_max_s), best = -INFINITY;
    double held[VIEW_LEVELS], late[VIEW_LEVELS], from[VIEW_LEVELS][VIEW_LEVELS];
    for (int m = 0; m < v->levels; m++) {
        double e = v->ladder_kbps[m] * v->chunk_s / later_kbps;
        view_rewards(from[m], v, m);
        late[m] = e <= v->chunk_s ? e : tail * e - (tail - 1) * v->chunk_s;
        held[m] = after[m] + (tail - 1) * from[m][m];
        double short_s = late[m] - buffer_s;
        double cost = mu_held * fmax(short_s, 0) + mu_low * fmax(short_s + low_s, 0);
        best = fmax(best, held[m] - cost);
    }
    for (int m = 0; m + 1 < v->levels; m++) {
        double share = (buffer_s - late[m]) * (1 / (late[m + 1] - late[m]));
        double fall = from[m][m] - from[m + 1][m],
               rise = from[m + 1][m + 1] - from[m][m + 1];
        if (share > 0 && share < 1)
            best = fmax(best, held[m] + share * (held[m + 1] - held[m]) -
                                  fmin(fall, rise) - mu_low * low_s);
    }
    best -= (v->qoe.mu_stall - mu_held) * fmax(late[0] - buffer_s, 0);
    return worth + best;
}

static struct view drawn_view(struct rng *r, int levels)
{
    struct view v = view_default();
    v.levels = levels;
    double kbps = rng_range(r, 200, 1000);
    for (int k = 0; k < levels; k++, kbps *= rng_range(r, 1.1, 2)) {
        v.ladder_kbps[k] = kbps;
        v.points[k] = 100 * (k + rng_uniform(r)) / levels;
        v.next_bytes[k] = rng_below(r, 3) ? kbps * rng_range(r, 100, 900) : 0;
    }
    v.chunk_s = rng_below(r, 2) ? 4 : rng_range(r, 1, 6);
    v.chunks = rng_below(r, 3) ? 60 : 0;
    v.chunk = rng_below(r, 3) ? 20 : 58 + (int)rng_below(r, 2);
    v.buffer_max_s = rng_range(r, 6, 90);
    v.buffer_s = rng_below(r, 5) ? rng_range(r, 0, v.buffer_max_s) : 0;
    v.last_level = (int)rng_below(r, (uint32_t)levels + 1) - 1;
    v.last_points = rng_range(r, 0, 100);
    for (int i = (int)rng_below(r, VIEW_HISTORY) + 1; i > 0; i--) {
        double down_s = rng_range(r, .2, 12);
        view_push(&v, v.ladder_kbps[rng_below(r, (uint32_t)levels)] * 500, down_s);
    }
    v.qoe = qoe_profiles[rng_below(r, QOE_PROFILES)].qoe;
    if (!rng_below(r, 4)) v.qoe.utility = (enum qoe_utility)rng_below(r, 3);
    if (!rng_below(r, 4)) v.qoe.mu_rise = .3;
    return v;
}

/* To the bit, for ladders of every length: observations are made of these values. */
TEST(values_are_those_of_plain_loops)
{
    struct rng r;
    rng_init(&r, 11, 0);
    int stalls = 0, full = 0, ends = 0;
    for (int n = 0; n < 1650; n++) {
        struct view v = drawn_view(&r, 2 + n % (VIEW_LEVELS - 1));
        struct plan_cfg cfg = {rng_range(&r, .5, 1.5), rng_range(&r, 2, 20),
                               rng_range(&r, 0, 1),    rng_range(&r, 0, 2),
                               rng_range(&r, 0, .3),   rng_range(&r, 0, 40),
                               rng_range(&r, 0, 10),   rng_range(&r, 0, 10),
                               rng_range(&r, 0, 20),   n % 3 ? rng_range(&r, 0, 1) : 0,
                               rng_range(&r, .8, 1.2)};
        struct forecast f = forecast_of(&v);
        struct plan p;
        plan_values(&p, &cfg, &v, &f);
        ends += v.chunks && v.chunk == v.chunks - 1;
        for (int k = 0; k < v.levels; k++) {
            double mean = 0;
            for (int i = 0; i < FORECAST_QUANTILES; i++) {
                double next = cfg.next * cfg.factor * f.next_kbps[i];
                double value = plain_value(&cfg, &v, &f, i, k);
                double left_s =
                    v.buffer_s - forecast_bytes(&f, view_bytes(&v, k)) * 8e-3 / next;
                ck_assert_mem_eq(&p.value[i][k], &value, sizeof value);
                mean += value * forecast_share[i];
                stalls += left_s < 0;
                full += left_s + v.chunk_s > v.buffer_max_s;
            }
            ck_assert_mem_eq(&p.mean[k], &mean, sizeof mean);
        }
    }
    ck_assert(stalls > 1000 && full > 1000 && ends > 50); /* every case came up */
}

SUITE(abr_deciders_plan, values_by_hand, caution_and_factor, levels_in_turn,
      caution_spares_no_stall_of_the_lowest_level, a_low_buffer_costs,
      a_slow_link_reaches_further, a_large_buffer_reaches_further, the_end_and_the_limit,
      the_mean_of_more_chunks_spreads_less, known_sizes_count,
      values_are_those_of_plain_loops);
