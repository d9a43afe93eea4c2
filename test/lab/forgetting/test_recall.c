#include "lab/forgetting/recall.h"

#include "support/suites.h"

#include <math.h>

/* Two experts in two dimensions. Expert 0 learns a = (1,0) and is then (1,0) (error 0), learns
 * b = (0,2) and is (0,1) (error 1); expert 1 learns c = (3,0) and is (2,0) (error 1).
 * At the end: a at (0,1): 2, b: 1, c: 1. G = 4/3, F = (4 - 2)/2 = 1. */
TEST(by_hand)
{
    double a[] = {1, 0}, b[] = {0, 2}, c[] = {3, 0};
    double w[2][TASK_DIM] = {{0}};
    struct recall l;
    recall_init(&l, 2, 2);
    w[0][0] = 1;
    recall_add(&l, 0, a, w[0]);
    ck_assert_double_eq(recall_error(&l, w), 0);
    w[1][0] = 2;
    recall_add(&l, 1, c, w[1]);
    w[0][0] = 0, w[0][1] = 1;
    recall_add(&l, 0, b, w[0]);
    ck_assert_double_eq_tol(recall_error(&l, w), 4.0 / 3, 1e-15);
    ck_assert_double_eq_tol(recall_forgot(&l, w), 1, 1e-15);
}

/* The same three tasks, r = 1/2, A = 3, B = 4; expert 0 has L = 2, expert 1 L = 1.
 * F: tau = 1: r^2 - r = -1/4, tau = 2, 3: 0;  (-1/4)(A - B)/2 = 1/8.
 * G printed: (2 (A/4 + 3B/4) + (A/2 + B/2))/3 = (7.5 + 3.5)/3
 * G exact: (2 A/4 + 2 (3/4)(1/2) B + A/2)/3 = (1.5 + 3 + 1.5)/3 = 2 */
TEST(bounds_by_hand)
{
    double one[TASK_DIM] = {1};
    struct recall l;
    recall_init(&l, 3, 2); /* the third expert stays without a task */
    recall_add(&l, 0, one, one);
    recall_add(&l, 1, one, one);
    recall_add(&l, 0, one, one);
    ck_assert_double_eq_tol(recall_bound_f(&l, .5, 3, 4), .125, 1e-15);
    ck_assert_double_eq_tol(recall_bound_g(&l, NULL, .5, 3, 4), 11.0 / 3, 1e-15);
    /* with L = 1, 0, 0: 2 (A/2 + B/2) + A = 10 */
    ck_assert_double_eq_tol(recall_bound_g(&l, (int[]){1, 0, 0}, .5, 3, 4), 10.0 / 3,
                            1e-15);
    ck_assert_double_eq_tol(recall_exact_g(&l, .5, 3, 4), 2, 1e-15);
}

/* Rounds: expert 0 learns task 0 (error .1), then task 1 (.2); expert 1 learns task 1 (.3), then
 * task 1 again (.2). At the end expert 0 has .7 on task 0 and .2 on task 1, expert 1 has .2 on
 * task 1 and never met task 0. G = (.7 + .2 + 2 * .2) / 4 = .325,
 * F = (1.3 - .8) / 3. */
TEST(measured_by_hand)
{
    struct recall_tally l;
    recall_tally_init(&l, 2, 2);
    recall_tally_add(&l, 0, 0, .1);
    recall_tally_add(&l, 1, 0, .2);
    recall_tally_add(&l, 1, 1, .3);
    recall_tally_add(&l, 1, 1, .2);
    double error[] = {.7, NAN, .2, .2};
    ck_assert_double_eq_tol(recall_tally_error(&l, error), .325, 1e-15);
    ck_assert_double_eq_tol(recall_tally_forgot(&l, error), .5 / 3, 1e-15);
}

/* An expert that only ever gets better forgets less than nothing. */
TEST(learning_on_is_negative_forgetting)
{
    struct recall_tally l;
    recall_tally_init(&l, 1, 1);
    recall_tally_add(&l, 0, 0, .5);
    recall_tally_add(&l, 0, 0, .3);
    recall_tally_add(&l, 0, 0, .1);
    ck_assert_double_eq_tol(recall_tally_error(&l, (double[]){.1}), .1, 1e-15);
    ck_assert_double_eq_tol(recall_tally_forgot(&l, (double[]){.1}), -.3, 1e-15);
}

SUITE(lab_forgetting_recall, by_hand, bounds_by_hand, measured_by_hand,
      learning_on_is_negative_forgetting);
