#include "lab/gates/continual.h"

#include <check.h>

/* A_1 = .9, A_2 = (.7 + .8) / 2, A_3 = (.8 + .5 + .6) / 3; the first task was best at .9, the
 * second at .8 */
START_TEST(metrics_by_hand)
{
    const struct continual c = {3, {{.9, .7, .8}, {9, .8, .5}, {9, 9, .6}}};
    ck_assert_double_eq_tol(continual_fa(&c), 1.9 / 3, 1e-12);
    ck_assert_double_eq_tol(continual_ca(&c), (.9 + .75 + 1.9 / 3) / 3, 1e-12);
    ck_assert_double_eq_tol(continual_fm(&c), (.1 + .3) / 2, 1e-12);
}
END_TEST

/* the best before the end counts, not the first one; a task that gains counts below 0 */
START_TEST(what_was_best_is_forgotten)
{
    const struct continual c = {3, {{.5, .7, .6}, {0, .4, .9}, {0, 0, 1}}};
    ck_assert_double_eq_tol(continual_fm(&c), (.1 - .5) / 2, 1e-12);
}
END_TEST

START_TEST(one_task_forgets_nothing)
{
    const struct continual c = {1, {{.25}}};
    ck_assert_double_eq(continual_fa(&c), .25);
    ck_assert_double_eq(continual_ca(&c), .25);
    ck_assert_double_eq(continual_fm(&c), 0);
}
END_TEST

Suite *suite_lab_gates_continual(void);
Suite *suite_lab_gates_continual(void)
{
    Suite *s = suite_create("lab/continual");
    TCase *t = tcase_create("all");
    tcase_add_test(t, metrics_by_hand);
    tcase_add_test(t, what_was_best_is_forgotten);
    tcase_add_test(t, one_task_forgets_nothing);
    suite_add_tcase(s, t);
    return s;
}
