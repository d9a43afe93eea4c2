#include "lab/forgetting/task.h"

#include "support/suites.h"

#include <math.h>

static struct task_cfg small(void)
{
    return (struct task_cfg){.d = 3,
                             .s = 2,
                             .tasks = 4,
                             .clusters = 2,
                             .sigma0 = .4,
                             .within = .3,
                             .sigma_t = .1,
                             .scale = 3,
                             .signal = true};
}

/* X = [(1,0,0), (1,1,0)]: the basis is e1, e2, the update copies those two elements. */
TEST(an_update_by_hand)
{
    struct task_cfg c = small();
    struct task_data x = {.basis = {{1, 0, 0}, {0, 1, 0}}};
    double w[] = {5, 5, 5}, truth[] = {1, 2, 3};
    double moved = task_learn(w, &c, &x, truth);
    ck_assert_double_eq(w[0], 1);
    ck_assert_double_eq(w[1], 2);
    ck_assert_double_eq(w[2], 5);
    ck_assert_double_eq_tol(moved, 5, 1e-15); /* sqrt(16 + 9) */
}

/* w + X (X^T X)^-1 (y - X^T w) with the 2 x 2 inverse written out, on the columns that the
 * stream gives: the signal beta 3 w_n, then one of noise. */
TEST(the_projection_is_the_normal_equations)
{
    struct task_cfg c = small();
    double truth[] = {.5, -.2, .9}, w[] = {.1, .7, -.3};
    struct rng r, twin;
    rng_init(&r, 5, 1);
    twin = r;
    struct task_data x;
    task_draw(&x, &c, truth, &r);

    double beta = 1 - rng_uniform(&twin), a[3], b[3];
    double len = .1 * sqrt(-2 * log(1 - rng_uniform(&twin)));
    double angle = 2 * acos(-1) * rng_uniform(&twin);
    b[0] = len * cos(angle), b[1] = len * sin(angle);
    len = .1 * sqrt(-2 * log(1 - rng_uniform(&twin)));
    b[2] = len * cos(2 * acos(-1) * rng_uniform(&twin));
    for (int i = 0; i < 3; i++) {
        a[i] = beta * 3 * truth[i];
        ck_assert_double_eq_tol(x.sum[i], a[i] + b[i], 1e-14);
    }

    double aa = task_dot(a, a, 3), ab = task_dot(a, b, 3), bb = task_dot(b, b, 3);
    double ya = task_dot(a, truth, 3) - task_dot(a, w, 3);
    double yb = task_dot(b, truth, 3) - task_dot(b, w, 3), det = aa * bb - ab * ab;
    double ka = (bb * ya - ab * yb) / det, kb = (aa * yb - ab * ya) / det, want[3],
           far = 0;
    for (int i = 0; i < 3; i++) {
        want[i] = w[i] + ka * a[i] + kb * b[i];
        far += (want[i] - w[i]) * (want[i] - w[i]);
    }

    double moved = task_learn(w, &c, &x, truth);
    for (int i = 0; i < 3; i++)
        ck_assert_double_eq_tol(w[i], want[i], 1e-12);
    ck_assert_double_eq_tol(moved, sqrt(far), 1e-12);
    /* the data are fitted: X^T w = y */
    ck_assert_double_eq_tol(task_dot(a, w, 3), task_dot(a, truth, 3), 1e-12);
    ck_assert_double_eq_tol(task_dot(b, w, 3), task_dot(b, truth, 3), 1e-12);
}

/* E||w||^2 = d (sigma0^2 + (within sigma0^2)^2); two members of a cluster differ by
 * 2 d (within sigma0^2)^2, two clusters by 2 d sigma0^2 more. */
TEST(a_pool_has_clusters)
{
    enum { REPS = 4000 };
    struct task_cfg c = small();
    struct rng r;
    rng_init(&r, 6, 1);
    double norm = 0, inside = 0, across = 0;
    for (int i = 0; i < REPS; i++) {
        struct task_pool p;
        task_pool_draw(&p, &c, &r);
        ck_assert(p.cluster[0] == 0 && p.cluster[1] == 1 && p.cluster[2] == 0);
        norm += task_dot(p.w[0], p.w[0], 3) / REPS;
        inside += task_distance2(p.w[0], p.w[2], 3) / REPS;
        across += task_distance2(p.w[0], p.w[1], 3) / REPS;
    }
    double v = .16, m = .048 * .048;
    ck_assert_double_eq_tol(norm / (3 * (v + m)), 1, .08);
    ck_assert_double_eq_tol(inside / (6 * m), 1, .08);
    ck_assert_double_eq_tol(across / (6 * (v + m)), 1, .08);
}

/* Samples along nearly the same line still give an orthonormal basis. */
TEST(the_basis_is_orthonormal)
{
    struct task_cfg c = small();
    c.d = 16, c.s = 15, c.sigma_t = 1;
    double truth[TASK_DIM] = {1e9};
    struct rng r;
    rng_init(&r, 8, 1);
    for (int rep = 0; rep < 200; rep++) {
        struct task_data x;
        task_draw(&x, &c, truth, &r);
        for (int i = 0; i < c.s; i++)
            for (int j = 0; j <= i; j++)
                ck_assert_double_eq_tol(task_dot(x.basis[i], x.basis[j], c.d), i == j,
                                        1e-13);
    }
}

TEST(without_signal_the_first_sample_is_noise)
{
    struct task_cfg c = small();
    c.signal = false;
    double truth[] = {1e6, 0, 0};
    struct rng r;
    rng_init(&r, 7, 1);
    struct task_data x;
    task_draw(&x, &c, truth, &r);
    for (int i = 0; i < 3; i++)
        ck_assert(fabs(x.sum[i]) < 2);
    ck_assert_double_eq_tol(task_dot(x.basis[0], x.basis[0], 3), 1, 1e-14);
    ck_assert_double_eq_tol(task_dot(x.basis[0], x.basis[1], 3), 0, 1e-14);
}

SUITE(lab_forgetting_task, an_update_by_hand, the_projection_is_the_normal_equations,
      a_pool_has_clusters, the_basis_is_orthonormal,
      without_signal_the_first_sample_is_noise);
