#include "lab/gates/contrast.h"

#include <check.h>
#include <math.h>
#include <string.h>

enum { N = 3, K = 2, D = 4 };

static double plain(const float *h, const float *mu, double t)
{
    double loss = 0;
    for (int i = 0; i < N; i++) {
        double total = 0, s[N + K];
        for (int j = 0; j < N + K; j++) {
            s[j] = 0;
            for (int d = 0; d < D; d++)
                s[j] += (double)h[i * D + d] *
                        (double)(j < N ? h[j * D + d] : mu[(j - N) * D + d]) / t;
            total += exp(s[j]);
        }
        for (int c = 0; c < K; c++)
            loss += log(exp(s[N + c]) / total) / (N * K);
    }
    return loss;
}

static const float H[N * D] = {.5f, -1, .2f, .8f, -.3f, .4f, 1, -.6f, .9f, .1f, -.5f, 0};
static const float MU[K * D] = {1, .5f, -.5f, .2f, -.4f, .3f, .7f, 1};

/* one feature (1, 0), one mean (0, 2), T 1: ln [e^0 / (e^1 + e^0)] */
START_TEST(a_loss_by_hand)
{
    const float h[2] = {1, 0}, mu[2] = {0, 2};
    float dh[2] = {0};
    ck_assert_double_eq_tol(contrast_loss(dh, h, 1, mu, 1, 2, 1, 1), -log(1 + exp(1)),
                            1e-6);
    float all[N * D] = {0};
    ck_assert_double_eq_tol(contrast_loss(all, H, N, MU, K, D, .8, 1), plain(H, MU, .8),
                            1e-6);
}
END_TEST

START_TEST(the_gradient_is_added)
{
    float h[N * D], dh[N * D];
    memcpy(h, H, sizeof h);
    for (int i = 0; i < N * D; i++)
        dh[i] = 7;
    contrast_loss(dh, H, N, MU, K, D, .8, .5);
    for (int i = 0; i < N * D; i++) {
        float was = h[i], step = 1.0f / 1024;
        h[i] = was + step;
        double up = plain(h, MU, .8), high = (double)h[i];
        h[i] = was - step;
        double down = plain(h, MU, .8), low = (double)h[i];
        h[i] = was;
        ck_assert_double_eq_tol((double)dh[i], 7 + .5 * (up - down) / (high - low), 1e-5);
    }
}
END_TEST

Suite *suite_lab_gates_contrast(void);
Suite *suite_lab_gates_contrast(void)
{
    Suite *s = suite_create("lab/contrast");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_loss_by_hand);
    tcase_add_test(t, the_gradient_is_added);
    suite_add_tcase(s, t);
    return s;
}
