#include "lab/gates/gates_fit.h"

#include <check.h>
#include <math.h>

static struct gates_fit run(struct gates_fit_cfg c, int64_t n, uint64_t seed)
{
    struct gates_fit out;
    struct rng r;
    rng_init(&r, seed, 1);
    gates_fit_run(&out, &c, n, &r);
    return out;
}

/* Started at the truth with as many atoms as it has, a fit stays there: with little noise all
 * losses are small, and the least squares sum is below that of the truth. */
START_TEST(the_truth_is_found)
{
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++) {
        struct gates_fit_cfg c =
            gates_fit_default((enum residual_kind)gate, PREFIX_MOE_GELU, 0);
        c.atoms = 2;
        c.starts = 1;
        c.noise = 1e-4;
        struct gates_fit f = run(c, 10000, 3);
        ck_assert_int_eq(f.fitted.n, 2);
        ck_assert_double_le(f.l1, .01);
        ck_assert_double_le(f.error, 1e-5);
        ck_assert_double_le(f.excess, 0);
    }
}
END_TEST

/* A hundred times the samples: a tenth of the error, on average over the seeds. */
START_TEST(the_error_falls_as_the_root_of_n)
{
    double few = 0, many = 0;
    struct gates_fit_cfg c = gates_fit_default(RESIDUAL_TANH, PREFIX_MOE_POWER, 2);
    c.starts = 1;
    for (uint64_t seed = 0; seed < 6; seed++) {
        few += log10(run(c, 2000, seed).error) / 6;
        many += log10(run(c, 200000, seed).error) / 6;
    }
    ck_assert_double_eq_tol(few - many, 1, .25);
}
END_TEST

START_TEST(more_starts_never_fit_worse)
{
    struct gates_fit_cfg c = gates_fit_default(RESIDUAL_LINEAR, PREFIX_MOE_POWER, 1);
    c.starts = 1;
    double one = run(c, 1000, 9).excess;
    c.starts = 3;
    ck_assert_double_le(run(c, 1000, 9).excess, one);
    ck_assert_double_eq(run(c, 1000, 9).l1, run(c, 1000, 9).l1);
}
END_TEST

Suite *suite_lab_gates_gates_fit(void);
Suite *suite_lab_gates_gates_fit(void)
{
    Suite *s = suite_create("lab/gates_fit");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_truth_is_found);
    tcase_add_test(t, the_error_falls_as_the_root_of_n);
    tcase_add_test(t, more_starts_never_fit_worse);
    suite_add_tcase(s, t);
    return s;
}
