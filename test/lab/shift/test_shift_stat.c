#include "lab/shift/shift_stat.h"

#include "support/shift_rows.h"
#include "support/suites.h"

#include <math.h>

static double number(const struct shift_record *r, struct shift_number of)
{
    return shift_number(r, &of);
}

/* Every row is a number of the record and what it must be; NaN must be NaN. */
struct expected {
    struct shift_number of;
    double x, tol;
};

static void expect(const struct shift_record *r, const struct expected *row, int n)
{
    for (int i = 0; i < n; i++) {
        double x = shift_number(r, &row[i].of);
        ck_assert_msg(isnan(row[i].x) ? isnan(x) : fabs(x - row[i].x) <= row[i].tol,
                      "row %d: %.17g, not %.17g", i, x, row[i].x);
    }
}
#define EXPECT(r, row) expect(r, row, (int)(sizeof(row) / sizeof *(row)))

TEST(curves_by_hand)
{
    struct shift_point p = {.tag = 0, .quality = 2, .change = .5f, .stall_s = .25f};
    ck_assert_double_eq(shift_value(&p, SHIFT_QUALITY), 2);
    ck_assert_double_eq(shift_value(&p, SHIFT_CHANGE), -3); /* documentary: 6 */
    ck_assert_double_eq(shift_value(&p, SHIFT_STALL), -.25);
    p.tag = 1;
    ck_assert_double_eq(shift_value(&p, SHIFT_STALL), -1.5); /* live: 6 */
    p.tag = 2;
    ck_assert_double_eq(shift_value(&p, SHIFT_QUALITY), 12); /* news: 6 */
    p.router_norm[SHIFT_CRITIC] = 3;
    ck_assert_double_eq(shift_value(&p, SHIFT_CRITIC_ROUTER), 3);
}

TEST(bins_pass_over_nan)
{
    struct shift_point p[6] = {{.qoe = 1}, {.qoe = 3},   {.qoe = NAN},
                               {.qoe = 5}, {.qoe = NAN}, {.qoe = NAN}};
    struct shift_record r = {.points = 6, .point = p};
    double x[3];
    shift_bins(x, 3, &r, SHIFT_QOE);
    ck_assert_double_eq(x[0], 2);
    ck_assert_double_eq(x[1], 5);
    ck_assert(isnan(x[2]));
}

TEST(bands_over_runs)
{
    double rows[11][2], mean[2], lo[2], hi[2];
    for (int i = 0; i < 11; i++) {
        rows[i][0] = i;
        rows[i][1] = i < 5 ? 7 : (double)NAN;
    }
    shift_band(mean, lo, hi, rows[0], 11, 2);
    ck_assert_double_eq(mean[0], 5);
    ck_assert_double_eq_tol(lo[0], 1, 1e-12);
    ck_assert_double_eq_tol(hi[0], 9, 1e-12);
    ck_assert_double_eq(mean[1], 7);
}

/* 10 iterations at 0, a climb of 1/40 each, 1 from then on. Smoothed over 5 it is (i - 11)/40
 * on the climb, which reaches .9 at i = 47, the 48th. */
TEST(lag_by_hand)
{
    double q[100];
    for (int i = 0; i < 100; i++)
        q[i] = fmin(fmax((i - 9) / 40.0, 0), 1);
    ck_assert_double_eq(shift_lag(q, 100), 48);
    /* neither the scale nor the height matter: a climb from -3 to -1 */
    for (int i = 0; i < 100; i++)
        q[i] = 2 * q[i] - 3;
    ck_assert_double_eq(shift_lag(q, 100), 48);
}

TEST(no_lag_without_a_gain)
{
    double q[100];
    for (int i = 0; i < 100; i++)
        q[i] = i % 2; /* noise: no gain that stands out */
    ck_assert(isnan(shift_lag(q, 100)));
    for (int i = 0; i < 100; i++)
        q[i] = -i;
    ck_assert(isnan(shift_lag(q, 100)));
    ck_assert(isnan(shift_lag(q, 3))); /* too short to say */
}

/* Ten segments of 20: the third (and so its profile's next ones) jumps from 0 to 1 after 12. */
TEST(lags_and_segments_of_a_run)
{
    struct shift_point p[200];
    struct shift_record r = {.points = 200, .point = p};
    for (int i = 0; i < 200; i++) {
        int s = i / 20;
        p[i] = (struct shift_point){.tag = (float)(s % 3),
                                    .qoe = s % 3 == 2 && i % 20 >= 12 ? 1 : 0};
    }
    /* a mean of five is 1 once all five are: 12 + 4, the 17th */
    static const struct expected row[] = {
        {{.of = SHIFT_LAGS}, 17, 0},
        {{.of = SHIFT_ADAPTED}, 3 / 9.0, 1e-12},
        {{.of = SHIFT_SEGMENT_LAG, .segment = 5}, 17, 0},
        {{.of = SHIFT_SEGMENT_LAG, .segment = 4}, NAN, 0},
        {{.of = SHIFT_SEGMENT_GAIN, .segment = 5}, 1, 0},
        {{.of = SHIFT_SEGMENT_GAIN, .segment = 4}, 0, 0},
        {{.of = SHIFT_PLATEAU, .segment = 8}, 1, 0},
        {{.of = SHIFT_PLATEAU, .segment = 3}, 0, 0},
        {{.of = SHIFT_PROFILE_QOE, .profile = 2}, .4, 1e-12},
        {{.of = SHIFT_PROFILE_QOE, .profile = 0}, 0, 0},
        {{.of = SHIFT_MEAN, .curve = SHIFT_QOE}, 3 * 8 / 200.0, 1e-12},
    };
    EXPECT(&r, row);
    double q[SHIFT_SEGMENTS];
    shift_segments(q, &r, 0, 1);
    ck_assert_double_eq_tol(q[2], 8 / 20.0, 1e-12);
    ck_assert_double_eq(q[3], 0);
}

/* Two iterations each: the last fifth is the second one. */
TEST(short_segments_have_plateaus)
{
    struct shift_point p[20];
    struct shift_record r = {.points = 20, .point = p};
    for (int i = 0; i < 20; i++)
        p[i] = (struct shift_point){.tag = (float)(i / 2 % 3), .qoe = (float)i};
    for (int s = 0; s < SHIFT_SEGMENTS; s++)
        ck_assert_double_eq(
            number(&r, (struct shift_number){.of = SHIFT_PLATEAU, .segment = s}),
            2 * s + 1);
}

TEST(trims_of_time_points)
{
    struct shift_point p[9] = {{.recent_qoe = NAN}};
    static const float x[] = {8, 1, 7, 2, 6, 3, 5, 4};
    for (int i = 0; i < 8; i++)
        p[i + 1].recent_qoe = x[i];
    struct shift_record r = {.points = 9, .point = p};
    static const struct expected row[] = {
        {{.of = SHIFT_TIME, .cut = {0, 1}}, 4.5, 1e-12},
        {{.of = SHIFT_TIME, .cut = {0, .75}}, 3.5, 1e-12}};
    EXPECT(&r, row);
    p[1].recent_qoe = 80; /* the outlier that the middle half does not see */
    static const struct expected middle[] = {
        {{.of = SHIFT_TIME, .cut = {.25, .75}}, 4.5, 1e-12}};
    EXPECT(&r, middle);
}

TEST(late_means_of_probes)
{
    struct shift_rows f;
    shift_rows_fill(&f, 10, 10);
    for (int i = 0; i < 10; i++) {
        struct shift_probe *q = &f.probe[i];
        bool late = i >= 8; /* iterations 9 and 10 of 10 */
        q->net[SHIFT_ACTOR].mean[SHIFT_RANK] = late ? 4 : 100;
        q->net[SHIFT_CRITIC].mean[SHIFT_RANK] = late ? 8 : 100;
        q->net[SHIFT_ACTOR].layer[0][1][SHIFT_RANK] = late ? 1 : 100;
        q->net[SHIFT_ACTOR].layer[1][1][SHIFT_RANK] = late ? 2 : 100;
        q->net[SHIFT_ACTOR].layer[2][1][SHIFT_RANK] = NAN; /* never reached */
        q->net[SHIFT_ACTOR].mean_all[SHIFT_RANK] = late ? 3 : 100;
        q->net[SHIFT_ACTOR].mean_weight = .5f;
        q->net[SHIFT_CRITIC].mean_weight = .7f;
        q->net[SHIFT_ACTOR].share[i % 3] = .8f;
        q->net[SHIFT_ACTOR].share[(i + 1) % 3] = .15f;
        q->net[SHIFT_ACTOR].share[(i + 2) % 3] = .05f;
    }
    /* The two late probes, 8 and 9 counted from 0, have experts 2 and 0 as their busiest: expert 2 has
     * the 0 of layer 1 alone, expert 0 has 0 and 1. The rank grew from 100 to 4. */
    static const struct expected row[] = {
        {SHIFT_PROBED(SHIFT_LATE, SHIFT_ACTOR, SHIFT_ALL, SHIFT_ALL, SHIFT_RANK), 4, 0},
        {SHIFT_PROBED(SHIFT_LATE, SHIFT_NETS, SHIFT_ALL, SHIFT_ALL, SHIFT_RANK), 6, 0},
        {{.of = SHIFT_LATE_ALL, .net = SHIFT_ACTOR, .measure = SHIFT_RANK}, 3, 0},
        {SHIFT_PROBED(SHIFT_LATE, SHIFT_ACTOR, 1, 1, SHIFT_RANK), 2, 0},
        {SHIFT_PROBED(SHIFT_LATE, SHIFT_ACTOR, SHIFT_ALL, 1, SHIFT_RANK), 1.5, 0},
        {SHIFT_PROBED(SHIFT_LATE, SHIFT_ACTOR, 2, 1, SHIFT_RANK), NAN, 0},
        {SHIFT_PROBED(SHIFT_LATE, SHIFT_NETS, SHIFT_ALL, SHIFT_ALL, SHIFT_MEASURES), .6,
         1e-6},
        {{.of = SHIFT_TOP_SHARE, .net = SHIFT_ACTOR}, .8, 1e-6},
        {{.of = SHIFT_BUSIEST, .net = SHIFT_ACTOR, .measure = SHIFT_RANK}, .25, 0},
        {SHIFT_PROBED(SHIFT_GROWTH, SHIFT_ACTOR, SHIFT_ALL, SHIFT_ALL, SHIFT_RANK),
         4 - 100, 0},
    };
    EXPECT(&f.record, row);
}

/* Seeds 1 .. 4 of one set, 2, 4, 5, 9 of another; a run without a figure is left out, and of
 * two sets its partner, too. */
TEST(sets_are_compared_by_seed)
{
    static struct shift_rows rows[8];
    struct shift_record a[4], b[4];
    static const float x[] = {1, 2, 3, 4}, y[] = {2, 4, 5, 9};
    for (int i = 0; i < 4; i++) {
        shift_rows_fill(&rows[i], 10, 0);
        shift_rows_fill(&rows[4 + i], 10, 0);
        for (int k = 0; k < 10; k++) {
            rows[i].point[k].qoe = x[i];
            rows[4 + i].point[k].qoe = y[i];
        }
        a[i] = rows[i].record;
        b[i] = rows[4 + i].record;
    }
    struct shift_set p = {.n = 4, .run = a}, q = {.n = 4, .run = b};
    const struct shift_number f = {.of = SHIFT_MEAN, .curve = SHIFT_QOE};
    struct stats_interval d = shift_difference(&q, &p, &f);
    ck_assert_double_eq_tol(d.mean, 2.5, 1e-9);
    ck_assert(d.lo >= 1 && d.lo < 2.5 && d.hi > 2.5 && d.hi <= 5);
    for (int care = SHIFT_CLAIM; care <= SHIFT_FIGURE; care++) {
        ck_assert_double_eq_tol(shift_mean(&p, &f, (enum shift_care)care).mean, 2.5,
                                1e-9);
        ck_assert_double_eq_tol(shift_ratio(&q, &p, &f, (enum shift_care)care).mean, 2,
                                1e-9);
    }

    for (int k = 0; k < 10; k++)
        rows[3].point[k].qoe = NAN;
    double known[4], all[4];
    ck_assert_int_eq(shift_per_run(known, &p, &f, true), 3);
    ck_assert_int_eq(shift_per_run(all, &p, &f, false), 4);
    ck_assert(isnan(all[3]));
    ck_assert_double_eq_tol(shift_mean(&p, &f, SHIFT_CLAIM).mean, 2, 1e-9);
    ck_assert_double_eq_tol(shift_ratio(&q, &p, &f, SHIFT_CLAIM).mean, 11. / 6, 1e-9);
    ck_assert(isnan(shift_mean(NULL, &f, SHIFT_CLAIM).mean));
    ck_assert(isnan(shift_ratio(NULL, &p, &f, SHIFT_CLAIM).lo));

    /* a ratio to a mean that is not positive says nothing, a difference does */
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 10; k++)
            rows[i].point[k].qoe = -1;
    ck_assert(isnan(shift_ratio(&q, &p, &f, SHIFT_CLAIM).mean));
    ck_assert(isnan(shift_ratio(&p, &q, &f, SHIFT_CLAIM).mean));
    ck_assert_double_gt(shift_difference(&q, &p, &f).mean, 0);
}

/* Mean level 1 in documentary, 2 in live, 4 in news, but only in the plateaus. */
TEST(swing_of_the_level)
{
    struct shift_rows f;
    shift_rows_fill(&f, 100, 0);
    for (int i = 0; i < 100; i++) {
        static const float level[] = {1, 2, 4};
        f.point[i].mean_level = i % 10 >= 8 ? level[i / 10 % 3] : 9;
        f.point[i].level[3] = i % 10 >= 8 && i / 10 % 3 == 1 ? .25f : 1;
    }
    static const struct expected row[] = {
        {{.of = SHIFT_SWING}, 3, 0},
        {{.of = SHIFT_PROFILE_LEVEL, .profile = 1, .level = 3}, .25, 0},
    };
    EXPECT(&f.record, row);
    /* segments 4 to 10 are D L N D L N D; only live has less than all at level 3 */
    ck_assert_double_eq_tol(shift_frozen_share(&f.record, 3, 4), (5 + 2 * .25) / 7, 1e-6);
    ck_assert_double_eq(shift_frozen_share(&f.record, 0, 2), 0);
}

/* QoE 1, 2, 6 in the three profiles: alone, and pooled. */
TEST(profiles_are_strata)
{
    static struct shift_rows rows[2];
    struct shift_record run[2];
    for (int i = 0; i < 2; i++) {
        static const float qoe[] = {1, 2, 6};
        shift_rows_fill(&rows[i], 100, 0);
        for (int k = 0; k < 100; k++)
            rows[i].point[k].qoe = qoe[(int)rows[i].point[k].tag];
        run[i] = rows[i].record;
    }
    struct shift_set s = {.n = 2, .run = run};
    static const double expected[] = {1, 2, 6, 3};
    for (int k = 0; k <= SHIFT_PROFILES; k++)
        ck_assert_double_eq_tol(shift_profiles(&s, k, STATS_CUT_NONE).mean, expected[k],
                                1e-9);
}

SUITE(lab_shift_shift_stat, curves_by_hand, bins_pass_over_nan, bands_over_runs,
      lag_by_hand, no_lag_without_a_gain, lags_and_segments_of_a_run,
      short_segments_have_plateaus, trims_of_time_points, late_means_of_probes,
      sets_are_compared_by_seed, swing_of_the_level, profiles_are_strata);
