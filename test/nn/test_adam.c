#include "nn/adam.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

/* By hand, lr .1, betas .9 and .99, eps 0, from theta 1, gradients 1, 1, -2:
 *
 *   t  m             v              m / (1 - .9^t)      v / (1 - .99^t)      theta
 *   1  .1            .01            1                   1                    1 - .1 = .9
 *   2  .19           .0199          .19/.19 = 1         .0199/.0199 = 1      .9 - .1 = .8
 *   3  .171 - .2     .019701 + .04  -.029/.271          .059701/.029701      .8 + .1 *
 *      = -.029       = .059701      = -.10701107        = 2.01006700         .07547925
 */
TEST(three_steps_by_hand)
{
    struct adam_cfg c = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99};
    float theta = 1.0f, m = 0.0f, v = 0.0f;
    static const float grad[] = {1.0f, 1.0f, -2.0f};
    static const double want[][3] = {
        {0.1, 0.01, 0.9}, {0.19, 0.0199, 0.8}, {-0.029, 0.059701, 0.807547925}};
    for (int t = 1; t <= 3; t++) {
        adam_step(&theta, &m, &v, &grad[t - 1], 1, &c, t, 1.0f);
        ck_assert_double_eq_tol((double)m, want[t - 1][0], 1e-6);
        ck_assert_double_eq_tol((double)v, want[t - 1][1], 1e-6);
        ck_assert_double_eq_tol((double)theta, want[t - 1][2], 1e-6);
    }
}

/* eps stands beside the root, after the correction: with g = 1e-3 and eps 1e-3 the first
 * step is lr / 2 */
TEST(eps_is_outside_the_root)
{
    struct adam_cfg c = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-3};
    float theta = 1.0f, m = 0.0f, v = 0.0f, grad = 1e-3f;
    adam_step(&theta, &m, &v, &grad, 1, &c, 1, 1.0f);
    ck_assert_double_eq_tol((double)theta, 0.95, 1e-6);
}

/* decay .5 at theta 2 is a gradient of 1, and goes through the moments */
TEST(decay_is_part_of_the_gradient)
{
    struct adam_cfg c = {.lr = 0.1, .beta1 = 0.9, .beta2 = 0.99, .weight_decay = 0.5};
    float theta = 2.0f, m = 0.0f, v = 0.0f, grad = 3.0f;
    adam_step(&theta, &m, &v, &grad, 1, &c, 1, 1.0f);
    ck_assert_double_eq_tol((double)m, 0.4, 1e-6);
    ck_assert_double_eq_tol((double)v, 0.16, 1e-6);
    ck_assert_double_eq_tol((double)theta, 1.9, 1e-6);

    /* scale is of the gradient alone */
    theta = 2.0f, m = v = 0.0f;
    adam_step(&theta, &m, &v, &grad, 1, &c, 1, 0.5f);
    ck_assert_double_eq_tol((double)m, 0.25, 1e-6);
}

TEST(a_block_is_its_elements)
{
    enum { N = 37 };
    struct adam_cfg c = adam_cfg_default();
    float theta[N], m[N] = {0}, v[N] = {0}, grad[N], one[3] = {0};
    for (int i = 0; i < N; i++) {
        theta[i] = (float)(i - 10);
        grad[i] = sinf((float)i);
    }
    one[0] = theta[29];
    for (int t = 1; t <= 5; t++) {
        adam_step(theta, m, v, grad, N, &c, t, 1.0f);
        adam_step(&one[0], &one[1], &one[2], &grad[29], 1, &c, t, 1.0f);
    }
    ck_assert(one[0] == theta[29] && one[1] == m[29] && one[2] == v[29]);
}

TEST(sum_of_squares)
{
    float g[11];
    double want = 0;
    for (int i = 0; i < 11; i++) {
        g[i] = 0.1f * (float)(i + 1);
        want += (double)g[i] * (double)g[i];
    }
    ck_assert_double_eq_tol(adam_sumsq(g, 11), want, 1e-6 * want);
    ck_assert_double_eq(adam_sumsq(g, 0), 0.0);
    g[4] = 1e30f; /* its square does not fit a float */
    ck_assert_double_eq_tol(adam_sumsq(g, 11) / 1e60, 1.0, 1e-6);
    g[10] = NAN;
    ck_assert(isnan(adam_sumsq(g, 11)));
}

SUITE(nn_adam, three_steps_by_hand, eps_is_outside_the_root,
      decay_is_part_of_the_gradient, a_block_is_its_elements, sum_of_squares);
