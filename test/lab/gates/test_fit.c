#include "lab/gates/fit.h"

#include "support/suites.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static struct fit run(struct fit_cfg c, int64_t n, uint64_t seed)
{
    struct fit out;
    struct rng r;
    rng_init(&r, seed, 1);
    fit_run(&out, &c, n, &r);
    return out;
}

/* Started at the truth with as many atoms as it has, a fit stays there: with little noise all
 * losses are small, and the least squares sum is below that of the truth. */
TEST(the_truth_is_found)
{
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++) {
        struct fit_cfg c = fit_default((enum residual_kind)gate, PREFIX_MOE_GELU, 0);
        c.atoms = 2;
        c.starts = 1;
        c.noise = 1e-4;
        struct fit f = run(c, 10000, 3);
        ck_assert_int_eq(f.fitted.n, 2);
        ck_assert_double_le(f.l1, .01);
        ck_assert_double_le(f.error, 1e-5);
        ck_assert_double_le(f.excess, 0);
    }
}

/* A hundred times the samples: a tenth of the error, on average over the seeds. */
TEST(the_error_falls_as_the_root_of_n)
{
    double few = 0, many = 0;
    struct fit_cfg c = fit_default(RESIDUAL_TANH, PREFIX_MOE_POWER, 2);
    c.starts = 1;
    for (uint64_t seed = 0; seed < 6; seed++) {
        few += log10(run(c, 2000, seed).error) / 6;
        many += log10(run(c, 200000, seed).error) / 6;
    }
    ck_assert_double_eq_tol(few - many, 1, .25);
}

TEST(more_starts_never_fit_worse)
{
    struct fit_cfg c = fit_default(RESIDUAL_LINEAR, PREFIX_MOE_POWER, 1);
    c.starts = 1;
    double one = run(c, 1000, 9).excess;
    c.starts = 3;
    ck_assert_double_le(run(c, 1000, 9).excess, one);
    ck_assert_double_eq(run(c, 1000, 9).l1, run(c, 1000, 9).l1);
}

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

TEST(it_follows_a_bent_valley)
{
    const struct fit_levmar_cfg c = {2, 200, 3, -5, 5, 1e-14};
    double t[2] = {-1.2, 1};
    ck_assert_double_le(fit_levmar(t, &c, valley, NULL), 1e-20);
    ck_assert_double_eq_tol(t[0], 1, 1e-9);
    ck_assert_double_eq_tol(t[1], 1, 1e-9);
}

/* with x <= .5 the best is (.5, .25): f = .25 */
TEST(it_stays_in_its_box)
{
    const struct fit_levmar_cfg c = {2, 200, 3, -5, .5, 1e-14};
    double t[2] = {-1.2, .4};
    ck_assert_double_eq_tol(fit_levmar(t, &c, valley, NULL), .25, 1e-12);
    ck_assert_double_eq_tol(t[0], .5, 1e-12);
    ck_assert_double_eq_tol(t[1], .25, 1e-6);
}

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

TEST(what_nothing_depends_on_stands_still)
{
    const struct fit_levmar_cfg c = {2, 100, 3, -5, 5, 1e-14};
    double t[2] = {-3, 1.25};
    ck_assert_double_le(fit_levmar(t, &c, line, NULL), 1e-20);
    ck_assert_double_eq_tol(t[0], 2, 1e-10);
    ck_assert_double_eq(t[1], 1.25);
}

SUITE(lab_gates_fit, the_truth_is_found, the_error_falls_as_the_root_of_n,
      more_starts_never_fit_worse, it_follows_a_bent_valley, it_stays_in_its_box,
      what_nothing_depends_on_stands_still);
