#include "learn/drift.h"

#include "support/suites.h"

#include "base/rng.h"

#include <check.h>
#include <math.h>

static const struct drift_cfg FOUR = {.slack = 0.5, .limit = 4.0};
static const struct drift_cfg EIGHT = {.slack = 0.5, .limit = 8.0};

/* Batches until the alarm; the mean rises by `rise` deviations after `calm` of them. */
static int run_length(double limit, int calm, double rise, uint64_t id, int most)
{
    struct drift_cfg c = {.slack = 0.5, .limit = limit};
    struct drift_series s = {0};
    struct rng r;
    rng_init(&r, 11, id);
    for (int i = 1; i <= most; i++)
        if (drift_add(&s, &c, -2.0 + 0.3 * (rng_normal(&r) + (i > calm ? rise : 0.0))))
            return i;
    return most;
}

static double siegmund(double limit)
{
    double k = 0.5, b = limit + 1.166;
    return (exp(2 * k * b) - 2 * k * b - 1) / (2 * k * k);
}

/* 4000 series: the mean's standard error is 1.6 % of it */
START_TEST(false_alarms_come_as_rarely_as_stated)
{
    static const double limits[] = {3, 4};
    for (int j = 0; j < 2; j++) {
        double sum = 0;
        for (int i = 0; i < 4000; i++)
            sum += run_length(limits[j], 0, 0, (uint64_t)i, 1 << 20);
        double want = siegmund(limits[j]);
        ck_assert_double_eq_tol(sum / 4000, want, 0.08 * want);
    }
}
END_TEST

START_TEST(a_rise_is_found_soon_and_a_fall_never)
{
    double late = 0;
    int early = 0;
    for (int i = 0; i < 500; i++) {
        int at = run_length(8, 50, 3, (uint64_t)i, 500);
        early += at <= 50;
        late += fmax(at - 50, 0);
        ck_assert_int_le(at, 80);
    }
    /* h / (s - k) = 3.2, and the series learns of the rise as it goes */
    ck_assert_double_eq_tol(late / 500, 5.5, 2.0);
    ck_assert_int_le(early, 3);

    int alarms = 0;
    for (int i = 0; i < 200; i++)
        alarms += run_length(8, 50, -3, (uint64_t)i, 300) < 300;
    ck_assert_int_le(alarms, 3);
}
END_TEST

START_TEST(by_hand)
{
    struct drift_series s = {0};
    ck_assert(!drift_add(&s, &FOUR, 1.0));
    ck_assert(!drift_add(&s, &FOUR, 3.0));
    ck_assert(s.n == 2 && s.mean == 2.0 && s.m2 == 2.0 && s.sum == 0.0);

    /* t = (6 - 2) / sqrt 2 * sqrt(2/3) = 2.3094, v = 1: u = sqrt(ln(1 + t^2)) 9/11 */
    ck_assert(!drift_add(&s, &FOUR, 6.0));
    double u = sqrt(log(1.0 + 16.0 / 3.0)) * 9.0 / 11.0;
    ck_assert_double_eq_tol(s.sum, u - 0.5, 1e-12);
    ck_assert_double_eq_tol(s.mean, 10.0 / 3.0, 1e-12);
    ck_assert(!drift_add(&s, &FOUR, -9.0));
    ck_assert(s.sum == 0.0);

    struct drift_series was = s;
    ck_assert(!drift_add(&s, &FOUR, NAN) && !drift_add(&s, &FOUR, -INFINITY));
    ck_assert(s.n == was.n && s.mean == was.mean);

    /* a constant says nothing, and neither does what follows at first */
    struct drift_series flat = {0};
    for (int i = 0; i < 9; i++)
        ck_assert(!drift_add(&flat, &FOUR, 5.0));
    ck_assert(flat.sum == 0.0);
}
END_TEST

START_TEST(tags_are_watched_apart)
{
    struct drift d = {0};
    struct drift_cfg off = drift_cfg_default();
    ck_assert(off.limit == 0.0 && off.slack == 0.5);
    struct rng r;
    rng_init(&r, 5, 0);
    float a[4];
    int tag[] = {3, 3, 40, 40}, alarm = -1;
    for (int i = 0; i < 40; i++) {
        for (int j = 0; j < 4; j++)
            a[j] = (float)exp(0.1 * rng_normal(&r)) * (j % 2 ? -1.0f : 1.0f);
        ck_assert_int_eq(drift_batch(&d, &EIGHT, a, tag, i % 2 ? 4 : 2), -1);
    }
    ck_assert_int_eq((int)d.tag[3].n, 40);
    ck_assert_int_eq((int)d.tag[40].n, 20);
    ck_assert_int_eq((int)d.tag[0].n, 0);
    for (int i = 0; i < 10 && alarm < 0; i++) {
        a[2] = a[3] = 4.0f;
        alarm = drift_batch(&d, &EIGHT, a, tag, 4);
    }
    ck_assert_int_eq(alarm, 40);
    ck_assert_double_eq(drift_level(&d), d.tag[40].sum);
    ck_assert_double_gt(drift_level(&d), 8.0);

    struct drift one = {0};
    ck_assert_int_eq(drift_batch(&one, &EIGHT, a, NULL, 4), -1);
    ck_assert_double_eq_tol(one.tag[0].mean,
                            log((fabs((double)a[0]) + fabs((double)a[1]) + 8.0) / 4.0),
                            1e-6);
}
END_TEST

SUITE(learn_drift, by_hand, false_alarms_come_as_rarely_as_stated,
      a_rise_is_found_soon_and_a_fall_never, tags_are_watched_apart);
