#include "learn/gae.h"

#include "support/suites.h"

#include <check.h>

/* Worked by hand with gamma = lambda = 1/2, so gamma lambda = 1/4.
 * First trajectory, over:  r 1 2, V .5 1        Second, cut with V(final) = 4: r 3, V 2
 *   delta_1 = 2 + 0 - 1 = 1            A_1 = 1
 *   delta_0 = 1 + .5*1 - .5 = 1        A_0 = 1 + .25*1 = 1.25
 *   delta   = 3 + .5*4 - 2 = 3         A = 3 */
START_TEST(by_hand)
{
    float r[] = {1, 2, 3}, v[] = {.5f, 1, 2}, boot[] = {99, 0, 4}, a[3], target[3];
    uint8_t last[] = {0, 1, 1};
    gae_compute(a, target, r, v, boot, last, 3, .5, .5);
    ck_assert_float_eq(a[0], 1.25f);
    ck_assert_float_eq(a[1], 1.f);
    ck_assert_float_eq(a[2], 3.f);
    ck_assert_float_eq(target[0], 1.75f);
    ck_assert_float_eq(target[1], 2.f);
    ck_assert_float_eq(target[2], 5.f);
}
END_TEST

/* lambda 1: the target is the discounted sum of rewards, whatever the critic believed. */
START_TEST(lambda_one_is_monte_carlo)
{
    float r[] = {1, 1, 1, 1}, v[] = {7, -3, 2, 5}, boot[] = {0, 0, 0, 0}, a[4], target[4];
    uint8_t last[] = {0, 0, 0, 1};
    gae_compute(a, target, r, v, boot, last, 4, .5, 1.);
    ck_assert_float_eq_tol(target[0], 1 + .5f + .25f + .125f, 1e-6f);
    ck_assert_float_eq_tol(target[3], 1.f, 1e-6f);
}
END_TEST

/* A cut is not an end: the same rewards with a bootstrap are worth more. */
START_TEST(cut_differs_from_over)
{
    float r[] = {1}, v[] = {0}, over[] = {0}, cut[] = {10}, a[1], target[1];
    uint8_t last[] = {1};
    gae_compute(a, target, r, v, over, last, 1, .9, .95);
    ck_assert_float_eq(target[0], 1.f);
    gae_compute(a, target, r, v, cut, last, 1, .9, .95);
    ck_assert_float_eq(target[0], 10.f);
}
END_TEST

SUITE(learn_gae, by_hand, lambda_one_is_monte_carlo, cut_differs_from_over);
