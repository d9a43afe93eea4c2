#include "abr/deciders/plan.h"

#include "support/suites.h"

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
    struct plan p = plan_of((struct plan_cfg){1, 5, 1}, &v);
    /* 1 Mbit/s. Level 0 takes 4 s and leaves 2 + 4 s. Five more at level 1 take 40 s, but play 24 while
     * they arrive: 450 - 10 (24 - 6) = 270, more than 250 at level 0.
     * Level 1 takes 8 s and stalls for 2 s; 4 s are left: 90 - 20 + (450 - 200). */
    expect(p.value[0], 10 + 270, 320);
    /* 2 Mbit/s carry level 1 */
    expect(p.value[1], 10 + 450, 90 + 450);
    expect(p.mean, (280 + 8 * 460) / 9., (320 + 8 * 540) / 9.);
}

TEST(caution_and_factor)
{
    struct view v = two_levels();
    /* later stalls at half their cost */
    struct plan p = plan_of((struct plan_cfg){1, 5, .5}, &v);
    expect(p.value[0], 10 + 360, 90 - 20 + 350);
    /* twice what was forecast: as the better quantiles above */
    p = plan_of((struct plan_cfg){2, 5, 1}, &v);
    expect(p.value[0], 460, 540);
}

TEST(the_end_and_the_limit)
{
    struct view v = two_levels();
    v.chunks = 1; /* the last chunk: nothing is held after it */
    struct plan p = plan_of((struct plan_cfg){1, 5, 1}, &v);
    expect(p.value[0], 10, 90 - 20);
    v.chunks = 2; /* one more: 8 s for level 1, with 6 or 4 s in the buffer */
    p = plan_of((struct plan_cfg){1, 5, 1}, &v);
    expect(p.value[0], 10 + 90 - 20, 70 + 90 - 40);
    v.chunks = 0;
    v.buffer_max_s = 4; /* holds no more: 450 - 200 are not more than 250 at level 0 */
    p = plan_of((struct plan_cfg){1, 5, 1}, &v);
    expect(p.value[0], 10 + 250, 320);
}

TEST(known_sizes_count)
{
    struct view v = two_levels();
    v.next_bytes[1] = 750e3; /* 6 s at 1 Mbit/s: no stall, and 4 s are left */
    struct plan p = plan_of((struct plan_cfg){1, 5, 1}, &v);
    expect(p.value[0], 280, 90 + 250);
}

SUITE(abr_deciders_plan, values_by_hand, caution_and_factor, the_end_and_the_limit,
      known_sizes_count);
