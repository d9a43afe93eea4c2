#include "lab/gates/classgauss.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

/* (1, 0) (3, 4) (2, 2): means 2 2, variances 1 4, covariance 2; with the ridge
 * L = [sqrt(1.001) 0; 2 / sqrt(1.001), sqrt(4.001 - 4 / 1.001)] */
START_TEST(a_fit_by_hand)
{
    const float x[6] = {1, 0, 3, 4, 2, 2};
    struct classgauss g;
    classgauss_fit(&g, x, 3, 2);
    ck_assert_double_eq_tol((double)g.mean[0], 2, 1e-6);
    ck_assert_double_eq_tol((double)g.mean[1], 2, 1e-6);
    ck_assert_double_eq_tol((double)g.root[0], sqrt(1.001), 1e-6);
    ck_assert_double_eq_tol((double)g.root[2], 2 / sqrt(1.001), 1e-6);
    ck_assert_double_eq_tol((double)g.root[3], sqrt(4.001 - 4 / 1.001), 1e-5);
}
END_TEST

/* what is drawn from a fit has its mean and covariance: 20000 draws, 4 standard errors */
START_TEST(draws_have_the_moments)
{
    enum { N = 20000 };
    struct classgauss g = {.dim = 2, .mean = {1, -1}, .root = {2, 0, 1, .5f}};
    float *x = malloc(sizeof(float) * 2 * N);
    struct rng r;
    rng_init(&r, 1, 1);
    classgauss_draw(x, &g, N, &r);
    double m0 = 0, m1 = 0, c = 0;
    for (int i = 0; i < N; i++) {
        m0 += (double)x[2 * i] / N;
        m1 += (double)x[2 * i + 1] / N;
        c += ((double)x[2 * i] - 1) * ((double)x[2 * i + 1] + 1) / N;
    }
    ck_assert_double_eq_tol(m0, 1, 4 * 2 / sqrt(N));
    ck_assert_double_eq_tol(m1, -1, 4 * sqrt(1.25) / sqrt(N));
    ck_assert_double_eq_tol(c, 2, 4 * 3 / sqrt(N)); /* var of a product: 4 1.25 + 4 = 9 */
    free(x);
}
END_TEST

/* all alike: the ridge alone is left */
START_TEST(a_point_has_a_root)
{
    const float x[4] = {1, 2, 1, 2};
    struct classgauss g;
    classgauss_fit(&g, x, 2, 2);
    ck_assert_double_eq_tol((double)g.root[0], sqrt(1e-3), 1e-6);
    ck_assert_double_eq_tol((double)g.root[2], 0, 1e-9);
    ck_assert_double_eq_tol((double)g.root[3], sqrt(1e-3), 1e-6);
}
END_TEST

Suite *suite_lab_gates_classgauss(void);
Suite *suite_lab_gates_classgauss(void)
{
    Suite *s = suite_create("lab/classgauss");
    TCase *t = tcase_create("all");
    tcase_add_test(t, a_fit_by_hand);
    tcase_add_test(t, draws_have_the_moments);
    tcase_add_test(t, a_point_has_a_root);
    suite_add_tcase(s, t);
    return s;
}
