#include "nn/act.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

TEST(relu_keeps_what_is_above_zero)
{
    float x[] = {-2.0f, -0.0f, 0.0f, 3.0f, NAN, INFINITY};
    act_relu(x, 6);
    ck_assert(x[0] == 0.0f && x[1] == 0.0f && x[2] == 0.0f && x[3] == 3.0f);
    ck_assert(isnan(x[4]) && isinf(x[5]));
}

TEST(long_arrays_have_no_seams)
{
    float x[67];
    for (int i = 0; i < 67; i++)
        x[i] = i % 3 ? (float)i : (float)-i;
    act_relu(x, 67);
    for (int i = 0; i < 67; i++)
        ck_assert(x[i] == (i % 3 ? (float)i : 0.0f));
}

TEST(softmax_by_hand)
{
    /* e^0 : e^ln2 : e^ln5 = 1 : 2 : 5 */
    float x[] = {0.0f, logf(2.0f), logf(5.0f)}, p[3];
    float lse = act_softmax(p, x, 3);
    ck_assert_double_eq_tol((double)p[0], 0.125, 1e-7);
    ck_assert_double_eq_tol((double)p[1], 0.25, 1e-7);
    ck_assert_double_eq_tol((double)p[2], 0.625, 1e-7);
    ck_assert_double_eq_tol((double)lse, log(8.0), 1e-6);
    ck_assert_double_eq_tol((double)act_lse(x, 3), log(8.0), 1e-6);

    act_softmax(x, x, 3); /* in place */
    ck_assert_mem_eq(x, p, sizeof p);
}

TEST(softmax_at_the_ends_of_the_range)
{
    float x[] = {1e30f, -1e30f, 1e30f}, p[3];
    float lse = act_softmax(p, x, 3);
    ck_assert(p[0] == 0.5f && p[1] == 0.0f && p[2] == 0.5f && lse == 1e30f);
    float one[] = {-700.0f};
    ck_assert(act_softmax(one, one, 1) == -700.0f && one[0] == 1.0f);

    float nan[] = {0.0f, NAN};
    ck_assert(isnan(act_softmax(p, nan, 2)) && isnan(p[0]) && isnan(p[1]));
    ck_assert(isnan(act_lse(nan, 2)));
}

TEST(argmax_takes_the_first_and_no_nan)
{
    ck_assert_int_eq(act_argmax((float[]){1, 3, 3, 2}, 4), 1);
    ck_assert_int_eq(act_argmax((float[]){NAN, -3, NAN, -2}, 4), 3);
    ck_assert_int_eq(act_argmax((float[]){NAN, NAN}, 2), 0);
    ck_assert_int_eq(act_argmax((float[]){-INFINITY}, 1), 0);
}

SUITE(nn_act, relu_keeps_what_is_above_zero, long_arrays_have_no_seams, softmax_by_hand,
      softmax_at_the_ends_of_the_range, argmax_takes_the_first_and_no_nan);
