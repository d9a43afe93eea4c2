#include "policy/probs.h"

#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <string.h>

/* experts answer (3/4, 1/4) and (1/4, 3/4), the second with logits far from 0 */
static void two_experts(float *e)
{
    e[0] = logf(3), e[1] = 0;
    e[2] = 500, e[3] = 500 + logf(3);
}

START_TEST(values_by_hand)
{
    const float gate[] = {.25f, .75f};
    float e[4], y[2];
    two_experts(e);
    probs_forward(y, e, gate, 1, 2, 2);
    /* a logit of 500 is good to 3e-5 */
    ck_assert_double_eq_tol(exp((double)y[0]), .25 * .75 + .75 * .25, 3e-5);
    ck_assert_double_eq_tol(exp((double)y[1]), .25 * .25 + .75 * .75, 3e-5);
    ck_assert_double_eq_tol(exp((double)e[0]), .75, 1e-6);
    ck_assert_double_eq_tol(exp((double)e[3]), .75, 3e-5);
}
END_TEST

START_TEST(logits_would_mix_otherwise)
{
    /* one expert is sure of output 0, the other of output 1: distributions stay bimodal
     * and equal whatever the scales, logits follow the louder expert */
    const float gate[] = {.5f, .5f};
    float e[] = {20, 0, 0, 40}, y[2];
    probs_forward(y, e, gate, 1, 2, 2);
    ck_assert_double_eq_tol((double)y[0], log(.5), 1e-6);
    ck_assert_double_eq_tol((double)y[1], log(.5), 1e-6);
}
END_TEST

START_TEST(extremes_stay_finite)
{
    const float dy[] = {1, -2};
    float e[] = {0, -200, 300, 0}, y[2], de[2], dgate[2] = {7, 7};
    const float gate[] = {1, 0}; /* a gate that has rounded to 0 */
    probs_forward(y, e, gate, 1, 2, 2);
    ck_assert_double_eq_tol((double)y[0], 0, 1e-6);
    ck_assert_double_eq_tol((double)y[1], -200, 1e-4);
    for (int k = 0; k < 2; k++) {
        probs_backward(de, dgate, dy, y, e, gate, 1, 2, 2, k);
        ck_assert(isfinite(de[0]) && isfinite(de[1]) && isfinite(dgate[k]));
        if (k == 0) continue;
        ck_assert(de[0] == 0 && de[1] == 0 && dgate[1] == 0);
        ck_assert_float_eq_tol(dgate[0], -1, 1e-4f);
    }

    /* the only expert that gives output 1 a chance has a gate below the normal range */
    const float faint[] = {1, 1e-40f};
    float f[] = {0, -1000, -1000, 0};
    probs_forward(y, f, faint, 1, 2, 2);
    ck_assert_double_eq_tol((double)y[1], log((double)faint[1]), 1e-3);
    probs_backward(de, dgate, dy, y, f, faint, 1, 2, 2, 1);
    ck_assert(isfinite(de[0]) && isfinite(de[1]) && isfinite(dgate[1]));
}
END_TEST

START_TEST(what_is_not_finite_shows)
{
    const float gate[] = {.5f, .5f};
    float e[] = {NAN, 0, 1, 2}, y[2];
    probs_forward(y, e, gate, 1, 2, 2);
    ck_assert(isnan(y[0]) && isnan(y[1]));
}
END_TEST

/* sum dy y of the mixture, in double and without logs */
static double twin_loss(const double *e, const double *p, const float *dy, int experts,
                        int out)
{
    double m[8] = {0}, loss = 0;
    for (int k = 0; k < experts; k++) {
        double total = 0;
        for (int j = 0; j < out; j++)
            total += exp(e[k * out + j]);
        for (int j = 0; j < out; j++)
            m[j] += p[k] * exp(e[k * out + j]) / total;
    }
    for (int j = 0; j < out; j++)
        loss += (double)dy[j] * log(m[j]);
    return loss;
}

START_TEST(gradients_equal_differences)
{
    enum { K = 3, OUT = 4 };
    const float gate[] = {.2f, .7f, .1f}, dy[] = {1, -.5f, 2, .25f};
    float e[] = {.3f, -1, 2, 0, 1, 1.5f, -2, .1f, -.4f, .2f, .9f, -3};
    float y[OUT], de[OUT], dgate[K];
    double x[K * OUT], p[K];
    for (int i = 0; i < K * OUT; i++)
        x[i] = (double)e[i];
    for (int k = 0; k < K; k++)
        p[k] = (double)gate[k];

    probs_forward(y, e, gate, 1, K, OUT);
    const double step = 1e-6;
    for (int k = 0; k < K; k++) {
        probs_backward(de, dgate, dy, y, e, gate, 1, K, OUT, k);
        for (int j = 0; j < OUT; j++) {
            double *at = x + k * OUT + j, was = *at;
            *at = was + step;
            double up = twin_loss(x, p, dy, K, OUT);
            *at = was - step;
            double slope = (up - twin_loss(x, p, dy, K, OUT)) / (2 * step);
            *at = was;
            ck_assert_double_eq_tol((double)de[j], slope, 2e-6);
        }
        double was = p[k];
        p[k] = was + step;
        double up = twin_loss(x, p, dy, K, OUT);
        p[k] = was - step;
        double slope = (up - twin_loss(x, p, dy, K, OUT)) / (2 * step);
        p[k] = was;
        ck_assert_double_eq_tol((double)dgate[k], slope, 1e-5 * (1 + fabs(slope)));
    }
}
END_TEST

START_TEST(rows_are_apart)
{
    /* (experts, n, out): two rows of the hand-made case, the second with gates swapped */
    const float gate[] = {.25f, .75f, .75f, .25f};
    float e[8], one[4], y[4];
    two_experts(one);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++)
            memcpy(e + 4 * k + 2 * i, one + 2 * k, 2 * sizeof *e);
    probs_forward(y, e, gate, 2, 2, 2);
    ck_assert_double_eq_tol(exp((double)y[0]), .375, 3e-5);
    ck_assert_double_eq_tol(exp((double)y[2]), .625, 3e-5);

    const float dy[] = {1, 0, 1, 0};
    float de[4], dgate[4] = {0};
    probs_backward(de, dgate, dy, y, e, gate, 2, 2, 2, 0);
    /* d ln m_0 / dp_0 = q_00 / m_0 = .75 / m_0 */
    ck_assert_double_eq_tol((double)dgate[0], .75 / .375, 1e-4);
    ck_assert_double_eq_tol((double)dgate[2], .75 / .625, 1e-4);
    ck_assert(dgate[1] == 0 && dgate[3] == 0);
}
END_TEST

SUITE(policy_probs, values_by_hand, logits_would_mix_otherwise, extremes_stay_finite,
      what_is_not_finite_shows, gradients_equal_differences, rows_are_apart);
