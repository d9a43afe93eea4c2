#include "learn/bound.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>

#include "base/rng.h"

START_TEST(by_hand)
{
    /* tag 0: median 3, deviations 2 1 0 1 97, their median 1; tag 1: two samples */
    float a[] = {1, 2, 3, 4, 100, -5, 5}, t[] = {10, 20, 30, 40, 150, 1, 1}, scratch[7];
    const int tag[] = {0, 0, 0, 0, 0, 1, 1};
    ck_assert_int_eq(bound_advantages(a, t, tag, 7, 2, scratch), 1);
    const double reach = 2 * 1.4826;
    ck_assert_double_eq_tol((double)a[4], 3 + reach, 1e-6);
    ck_assert_double_eq_tol((double)t[4], 150 + (3 + reach - 100), 1e-5);
    const float rest[] = {1, 2, 3, 4};
    ck_assert_mem_eq(a, rest, sizeof rest);
    ck_assert(t[0] == 10 && t[3] == 40 && a[5] == -5 && a[6] == 5);
}
END_TEST

START_TEST(equal_samples_say_nothing_about_their_spread)
{
    float a[] = {1, 1, 1, 90}, t[] = {0, 0, 0, 0}, scratch[4];
    const int tag[] = {0, 0, 0, 0};
    ck_assert_int_eq(bound_advantages(a, t, tag, 4, 3, scratch), 0);
    ck_assert(a[3] == 90);
    ck_assert_int_eq(bound_advantages(a, t, tag, 0, 3, scratch), 0);
}
END_TEST

/* Three in ten say 1000: none weighs more than an honest sample well out in the tail. */
START_TEST(liars_weigh_no_more_than_others)
{
    enum { N = 2000 };
    static float a[N], t[N], scratch[N];
    static int tag[N];
    struct rng r;
    rng_init(&r, 5, 0);
    for (int i = 0; i < N; i++)
        a[i] = i % 10 < 3 ? 1000 : (float)rng_normal(&r);
    int cut = bound_advantages(a, t, tag, N, 4, scratch);
    ck_assert_int_ge(cut, N * 3 / 10);
    ck_assert_int_le(cut, N * 3 / 10 + 2);
    double most = 0;
    for (int i = 0; i < N; i++)
        most = fmax(most, fabs((double)a[i]));
    /* without them 4; they move median and deviation, but not out of the world */
    ck_assert_double_lt(most, 9);
}
END_TEST

SUITE(learn_bound, by_hand, equal_samples_say_nothing_about_their_spread,
      liars_weigh_no_more_than_others);
