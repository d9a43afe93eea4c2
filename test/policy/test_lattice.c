#include "policy/lattice.h"

#include "support/suites.h"

#include "base/rng.h"

#include <check.h>
#include <limits.h>
#include <math.h>

START_TEST(points_in_their_order)
{
    ck_assert_int_eq(lattice_points(4, 20), 1771); /* 23 over 3 */
    ck_assert_int_eq(lattice_points(4, 0), 1);
    ck_assert_int_eq(lattice_points(1, 7), 1);
    ck_assert_int_eq(lattice_points(16, 100), INT_MAX);
    const int n = lattice_points(4, 6);
    ck_assert_int_eq(n, 84);
    for (int i = 0; i < n; i++) {
        float x[4], sum = 0;
        lattice_at(x, 4, 6, i);
        for (int k = 0; k < 4; k++)
            sum += x[k];
        ck_assert_double_eq_tol((double)sum, 1, 1e-6);
        struct lattice_mix m = lattice_mix(x, 4, 6);
        ck_assert_int_eq(m.n, 1);
        ck_assert_int_eq(m.point[0], i);
        ck_assert_double_eq_tol(m.share[0], 1, 1e-6);
    }
    float x[4];
    lattice_at(x, 4, 6, 0);
    ck_assert_float_eq(x[3], 1);
    lattice_at(x, 4, 6, n - 1);
    ck_assert_float_eq(x[0], 1);
}
END_TEST

/* By hand: K = 2, steps 4, x = (.3, .7). y_1 = 2.8, so between y_1 = 2 and 3, that is
 * (.5, .5) with share .2 and (.25, .75) with .8; points count x_0's steps. */
START_TEST(between_two_points)
{
    struct lattice_mix m = lattice_mix((float[]){.3f, .7f}, 2, 4);
    ck_assert_int_eq(m.n, 2);
    double of[5] = {0};
    for (int i = 0; i < m.n; i++)
        of[m.point[i]] = m.share[i];
    ck_assert_double_eq_tol(of[2], .2, 1e-5);
    ck_assert_double_eq_tol(of[1], .8, 1e-5);
}
END_TEST

static void give_back(const float *x, int dim, int steps)
{
    double back[LATTICE_DIM_MAX] = {0}, shares = 0;
    struct lattice_mix m = lattice_mix(x, dim, steps);
    ck_assert_int_le(m.n, dim);
    for (int j = 0; j < m.n; j++) {
        float at[LATTICE_DIM_MAX];
        lattice_at(at, dim, steps, m.point[j]);
        ck_assert_double_gt(m.share[j], 0);
        shares += m.share[j];
        for (int k = 0; k < dim; k++) {
            back[k] += m.share[j] * (double)at[k];
            /* corners of one small simplex */
            ck_assert_double_le(fabs((double)(at[k] - x[k])), 1.0 / steps + 1e-5);
        }
    }
    ck_assert_double_eq_tol(shares, 1, 1e-5);
    for (int k = 0; k < dim; k++)
        ck_assert_double_eq_tol(back[k], (double)x[k], 1e-5);
}

START_TEST(mixes_give_back_the_point)
{
    static const int dims[] = {2, 4, 7, 16};
    struct rng r;
    rng_init(&r, 5, 0);
    for (int d = 0; d < 4; d++)
        for (int i = 0; i < 300; i++) {
            float x[LATTICE_DIM_MAX];
            double drawn[LATTICE_DIM_MAX], sum = 0;
            for (int k = 0; k < dims[d]; k++)
                sum += drawn[k] = rng_exponential(&r, 1);
            for (int k = 0; k < dims[d]; k++)
                x[k] = (float)(drawn[k] / sum);
            give_back(x, dims[d], 5);
        }
}
END_TEST

SUITE(policy_lattice, points_in_their_order, between_two_points,
      mixes_give_back_the_point);
