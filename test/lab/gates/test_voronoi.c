#include "lab/gates/voronoi.h"

#include <check.h>
#include <math.h>

/* two true atoms, far apart, of weights 2 and 1 */
static struct prefix_moe_measure truth(void)
{
    return (struct prefix_moe_measure){
        .n = 2, .atom = {{log(2), {0, 0}, {0, 0}, 0}, {0, {10, 0}, {0, 10}, 10}}};
}

START_TEST(the_truth_has_no_loss)
{
    struct prefix_moe_measure t = truth();
    ck_assert_double_eq(voronoi_l1(&t, &t), 0);
    ck_assert_double_eq(voronoi_l2(&t, &t, 3), 0);
}
END_TEST

/* The first cell has atoms of weight 1 and .5, at d beta1 = (3, 4), d a = (0, 1), d b = 2 and at
 * d b = -1; the second one of weight 3 with d beta1 = (0, 3), d eta = (4, 0, 3).
 *   L1: 1 (25 + 5) + .5 (1) + 3 (3 + 5) + |1.5 - 2| + |3 - 1| = 57
 *   L2,1: 1 (5 + 1 + 2) + .5 (1) + 3 (3 + 4 + 3) + 2.5 = 41
 *   L2,2: 1 (25 + 1 + 4) + .5 (1) + 3 (9 + 16 + 9) + 2.5 = 135 */
START_TEST(losses_by_hand)
{
    struct prefix_moe_measure t = truth();
    const struct prefix_moe_measure g = {.n = 3,
                                         .atom = {{0, {3, 4}, {0, 1}, 2},
                                                  {log(3), {10, 3}, {4, 10}, 13},
                                                  {log(.5), {0, 0}, {0, 0}, -1}}};
    int cell[PREFIX_MOE_ATOMS];
    voronoi_cells(cell, &g, &t);
    ck_assert(cell[0] == 0 && cell[1] == 1 && cell[2] == 0);
    ck_assert_double_eq_tol(voronoi_l1(&g, &t), 57, 1e-12);
    ck_assert_double_eq_tol(voronoi_l2(&g, &t, 1), 41, 1e-12);
    ck_assert_double_eq_tol(voronoi_l2(&g, &t, 2), 135, 1e-12);
}
END_TEST

/* all atoms in the first cell: the second pays its whole weight, 1 */
START_TEST(an_empty_cell_pays_its_weight)
{
    struct prefix_moe_measure t = truth();
    const struct prefix_moe_measure g = {
        .n = 2, .atom = {{0, {0, 0}, {0, 0}, 0}, {0, {0, 0}, {0, 0}, 0}}};
    ck_assert_double_eq_tol(voronoi_l1(&g, &t), 1, 1e-15);
    ck_assert_double_eq_tol(voronoi_l2(&g, &t, 1), 1, 1e-15);
}
END_TEST

/* half way between: to the lower cell, once */
START_TEST(a_tie_is_counted_once)
{
    struct prefix_moe_measure t = truth();
    const struct prefix_moe_measure g = {.n = 1, .atom = {{0, {5, 0}, {0, 5}, 5}}};
    int cell[PREFIX_MOE_ATOMS];
    voronoi_cells(cell, &g, &t);
    ck_assert_int_eq(cell[0], 0);
    ck_assert_double_eq_tol(voronoi_l1(&g, &t), 5 + sqrt(50) + 1 + 1, 1e-12);
}
END_TEST

Suite *suite_lab_gates_voronoi(void);
Suite *suite_lab_gates_voronoi(void)
{
    Suite *s = suite_create("lab/voronoi");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_truth_has_no_loss);
    tcase_add_test(t, losses_by_hand);
    tcase_add_test(t, an_empty_cell_pays_its_weight);
    tcase_add_test(t, a_tie_is_counted_once);
    suite_add_tcase(s, t);
    return s;
}
