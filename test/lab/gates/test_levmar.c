#include "lab/gates/levmar.h"

#include <check.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* residuals and their derivatives by n parameters, summed up */
static double add(double *jj, double *jr, int n, double r, const double *by)
{
    for (int i = 0; i < n && jj; i++) {
        jr[i] += by[i] * r;
        for (int k = 0; k <= i; k++) {
            jj[i * n + k] += by[i] * by[k];
            jj[k * n + i] = jj[i * n + k];
        }
    }
    return r * r;
}

static void clear(double *jj, double *jr, int n)
{
    if (!jj) return;
    memset(jj, 0, sizeof(double) * (size_t)(n * n));
    memset(jr, 0, sizeof(double) * (size_t)n);
}

/* Rosenbrock: 10 (y - x^2) and 1 - x, lowest at (1, 1) */
static double valley(void *ctx, const double *t, double *jj, double *jr)
{
    (void)ctx;
    clear(jj, jr, 2);
    double f = add(jj, jr, 2, 10 * (t[1] - t[0] * t[0]), (double[]){-20 * t[0], 10});
    return f + add(jj, jr, 2, 1 - t[0], (double[]){-1, 0});
}

START_TEST(it_follows_a_bent_valley)
{
    const struct levmar_cfg c = {2, 200, 3, -5, 5, 1e-14};
    double t[2] = {-1.2, 1};
    ck_assert_double_le(levmar_fit(t, &c, valley, NULL), 1e-20);
    ck_assert_double_eq_tol(t[0], 1, 1e-9);
    ck_assert_double_eq_tol(t[1], 1, 1e-9);
}
END_TEST

/* with x <= .5 the best is (.5, .25): f = .25 */
START_TEST(it_stays_in_its_box)
{
    const struct levmar_cfg c = {2, 200, 3, -5, .5, 1e-14};
    double t[2] = {-1.2, .4};
    ck_assert_double_eq_tol(levmar_fit(t, &c, valley, NULL), .25, 1e-12);
    ck_assert_double_eq_tol(t[0], .5, 1e-12);
    ck_assert_double_eq_tol(t[1], .25, 1e-6);
}
END_TEST

/* the second parameter does nothing; y = 2 x with x = 1, 2, 3 and noise 0 */
static double line(void *ctx, const double *t, double *jj, double *jr)
{
    (void)ctx;
    double f = 0;
    clear(jj, jr, 2);
    for (int x = 1; x <= 3; x++)
        f += add(jj, jr, 2, t[0] * x - 2 * x, (double[]){x, 0});
    return f;
}

START_TEST(what_nothing_depends_on_stands_still)
{
    const struct levmar_cfg c = {2, 100, 3, -5, 5, 1e-14};
    double t[2] = {-3, 1.25};
    ck_assert_double_le(levmar_fit(t, &c, line, NULL), 1e-20);
    ck_assert_double_eq_tol(t[0], 2, 1e-10);
    ck_assert_double_eq(t[1], 1.25);
}
END_TEST

Suite *suite_lab_gates_levmar(void);
Suite *suite_lab_gates_levmar(void)
{
    Suite *s = suite_create("lab/levmar");
    TCase *t = tcase_create("all");
    tcase_add_test(t, it_follows_a_bent_valley);
    tcase_add_test(t, it_stays_in_its_box);
    tcase_add_test(t, what_nothing_depends_on_stands_still);
    suite_add_tcase(s, t);
    return s;
}
