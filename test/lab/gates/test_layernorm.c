#include "lab/gates/layernorm.h"

#include <check.h>
#include <math.h>

/* 1 2 3 6: mean 3, variance 3.5; 4 4 4 4: nothing but the 1e-5 */
START_TEST(rows_by_hand)
{
    const float x[8] = {1, 2, 3, 6, 4, 4, 4, 4};
    float y[8], root[2];
    layernorm_forward(y, root, x, 2, 4);
    double r = 1 / sqrt(3.5 + 1e-5);
    ck_assert_double_eq_tol((double)root[0], r, 1e-7);
    ck_assert_double_eq_tol((double)root[1], 1 / sqrt(1e-5), 1e-2);
    for (int k = 0; k < 4; k++) {
        ck_assert_double_eq_tol((double)y[k], ((double)x[k] - 3) * r, 1e-6);
        ck_assert_double_eq((double)y[4 + k], 0);
    }
}
END_TEST

static double objective(const float *x, const float *c)
{
    double mean = 0, var = 0, sum = 0;
    for (int k = 0; k < 5; k++)
        mean += (double)x[k] / 5;
    for (int k = 0; k < 5; k++)
        var += ((double)x[k] - mean) * ((double)x[k] - mean) / 5;
    for (int k = 0; k < 5; k++)
        sum += (double)c[k] * ((double)x[k] - mean) / sqrt(var + 1e-5);
    return sum;
}

START_TEST(the_gradient_is_that_of_differences)
{
    float x[5] = {.3f, -1, 2, .5f, .1f}, y[5], root[1], dx[5];
    const float c[5] = {1, -.5f, .25f, 2, -1};
    layernorm_forward(y, root, x, 1, 5);
    layernorm_backward(dx, c, y, root, 1, 5);
    for (int k = 0; k < 5; k++) {
        float was = x[k], h = 1.0f / 1024;
        x[k] = was + h;
        double up = objective(x, c), high = (double)x[k];
        x[k] = was - h;
        double down = objective(x, c), low = (double)x[k];
        x[k] = was;
        ck_assert_double_eq_tol((double)dx[k], (up - down) / (high - low), 1e-5);
    }
}
END_TEST

Suite *suite_lab_gates_layernorm(void);
Suite *suite_lab_gates_layernorm(void)
{
    Suite *s = suite_create("lab/layernorm");
    TCase *t = tcase_create("all");
    tcase_add_test(t, rows_by_hand);
    tcase_add_test(t, the_gradient_is_that_of_differences);
    suite_add_tcase(s, t);
    return s;
}
