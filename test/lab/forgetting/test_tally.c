#include "lab/forgetting/tally.h"

#include <check.h>
#include <math.h>

/* Rounds: expert 0 learns task 0 (error .1), then task 1 (.2); expert 1 learns task 1 (.3), then
 * task 1 again (.2). At the end expert 0 has .7 on task 0 and .2 on task 1, expert 1 has .2 on
 * task 1 and never met task 0. G = (.7 + .2 + 2 * .2) / 4 = .325,
 * F = (1.3 - .8) / 3. */
START_TEST(by_hand)
{
    struct tally l;
    tally_init(&l, 2, 2);
    tally_add(&l, 0, 0, .1);
    tally_add(&l, 1, 0, .2);
    tally_add(&l, 1, 1, .3);
    tally_add(&l, 1, 1, .2);
    double error[] = {.7, NAN, .2, .2};
    ck_assert_double_eq_tol(tally_error(&l, error), .325, 1e-15);
    ck_assert_double_eq_tol(tally_forgot(&l, error), .5 / 3, 1e-15);
}
END_TEST

/* An expert that only ever gets better forgets less than nothing. */
START_TEST(learning_on_is_negative_forgetting)
{
    struct tally l;
    tally_init(&l, 1, 1);
    tally_add(&l, 0, 0, .5);
    tally_add(&l, 0, 0, .3);
    tally_add(&l, 0, 0, .1);
    ck_assert_double_eq_tol(tally_error(&l, (double[]){.1}), .1, 1e-15);
    ck_assert_double_eq_tol(tally_forgot(&l, (double[]){.1}), -.3, 1e-15);
}
END_TEST

Suite *suite_lab_forgetting_tally(void);
Suite *suite_lab_forgetting_tally(void)
{
    Suite *s = suite_create("lab/tally");
    TCase *t = tcase_create("all");
    tcase_add_test(t, by_hand);
    tcase_add_test(t, learning_on_is_negative_forgetting);
    suite_add_tcase(s, t);
    return s;
}
