#include "lab/gates/prefix_moe.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

static struct prefix_moe model(enum residual_kind gate, enum prefix_moe_expert expert,
                               int power)
{
    return (struct prefix_moe){.gate = {gate, 1, 1},
                               .expert = expert,
                               .power = power,
                               .frozen = 1,
                               .known = {{{{.5, 0}, {.2, -.5}}, .1, {1, 0}, .5}}};
}

static struct prefix_moe_measure two(void)
{
    return (struct prefix_moe_measure){
        .n = 2, .atom = {{.2, {2, -1}, {1, 1}, .5}, {-.1, {-1, 1.5}, {-1, .5}, -.5}}};
}

static const double X[2] = {.3, -.8};

/* The same by plain words. x'Bx + c = .5 .09 + .2 (-.8)(.3) - .5 .64 + .1 = -.223, h0 = .8;
 * u1 = 1.4, h1 = 0; u2 = -1.5, z2 = -1.2. */
TEST(a_value_by_hand)
{
    struct prefix_moe m = model(RESIDUAL_LINEAR, PREFIX_MOE_POWER, 2);
    struct prefix_moe_measure g = two();
    double e0 = exp(-.223), e1 = exp(1.4 + .2), e2 = exp(-1.5 - .1);
    double y = (e0 * .64 + e1 * 0 + e2 * 1.44) / (e0 + e1 + e2);
    ck_assert_double_eq_tol(prefix_moe_value(&m, &g, X, NULL), y, 1e-14);

    m = model(RESIDUAL_TANH, PREFIX_MOE_POWER, 1);
    e1 = exp(1.4 + tanh(1.4) + .2);
    e2 = exp(-1.5 + tanh(-1.5) - .1);
    y = (e0 * .8 + e2 * -1.2) / (e0 + e1 + e2);
    ck_assert_double_eq_tol(prefix_moe_value(&m, &g, X, NULL), y, 1e-14);
}

TEST(derivatives_are_those_of_differences)
{
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++)
        for (int e = 0; e < 2; e++) {
            struct prefix_moe m =
                model((enum residual_kind)gate, (enum prefix_moe_expert)e, 3);
            struct prefix_moe_measure g = two();
            double by[2 * sizeof(struct prefix_moe_atom) / sizeof(double)];
            prefix_moe_value(&m, &g, X, by);
            double *theta = (double *)g.atom;
            for (int i = 0; i < 2 * PREFIX_MOE_EACH; i++) {
                double was = theta[i], h = 1e-6;
                theta[i] = was + h;
                double up = prefix_moe_value(&m, &g, X, NULL);
                theta[i] = was - h;
                double down = prefix_moe_value(&m, &g, X, NULL);
                theta[i] = was;
                ck_assert_double_eq_tol(by[i], (up - down) / (2 * h), 1e-8);
            }
        }
}

/* largest change of g on a few points when atom 0 is split into halves of (a, b) * c1 + d1 and
 * (a, b) * c2 + d2, d on b alone */
static double split(const struct prefix_moe *m, double c1, double c2, double d)
{
    struct prefix_moe_measure g = two(), s = two();
    const double c[2] = {c1, c2}, move[2] = {d, -d};
    s.n = 3;
    s.atom[2] = s.atom[1];
    for (int i = 0; i < 2; i++) {
        s.atom[i] = g.atom[0];
        s.atom[i].beta0 -= log(2);
        for (int k = 0; k < PREFIX_MOE_DIM; k++)
            s.atom[i].a[k] *= c[i];
        s.atom[i].b = s.atom[i].b * c[i] + move[i];
    }
    double worst = 0;
    for (double u = -1; u <= 1; u += .25)
        for (double v = -1; v <= 1; v += .25) {
            const double x[2] = {u, v};
            worst = fmax(worst, fabs(prefix_moe_value(m, &g, x, NULL) -
                                     prefix_moe_value(m, &s, x, NULL)));
        }
    return worst;
}

/* with either gate */
TEST(powers_cannot_be_told_apart)
{
    for (int gate = 0; gate < RESIDUAL_KINDS; gate++) {
        struct prefix_moe line = model((enum residual_kind)gate, PREFIX_MOE_POWER, 1);
        struct prefix_moe square = model((enum residual_kind)gate, PREFIX_MOE_POWER, 2);
        struct prefix_moe gelu = model((enum residual_kind)gate, PREFIX_MOE_GELU, 0);
        ck_assert_double_le(split(&line, 1, 1, .7), 1e-14);
        ck_assert_double_le(split(&line, 1.6, .4, 0), 1e-14);
        ck_assert_double_ge(split(&square, 1, 1, .7), 1e-2);
        ck_assert_double_le(split(&square, 1.2, sqrt(2 - 1.44), 0), 1e-14);
        ck_assert_double_ge(split(&gelu, 1, 1, .7), 1e-2);
        ck_assert_double_ge(split(&gelu, 1.6, .4, 0), 1e-3);
    }
}

/* two true atoms, far apart, of weights 2 and 1 */
static struct prefix_moe_measure truth(void)
{
    return (struct prefix_moe_measure){
        .n = 2, .atom = {{log(2), {0, 0}, {0, 0}, 0}, {0, {10, 0}, {0, 10}, 10}}};
}

TEST(the_truth_has_no_loss)
{
    struct prefix_moe_measure t = truth();
    ck_assert_double_eq(prefix_moe_l1(&t, &t), 0);
    ck_assert_double_eq(prefix_moe_l2(&t, &t, 3), 0);
}

/* The first cell has atoms of weight 1 and .5, at d beta1 = (3, 4), d a = (0, 1), d b = 2 and at
 * d b = -1; the second one of weight 3 with d beta1 = (0, 3), d eta = (4, 0, 3).
 *   L1: 1 (25 + 5) + .5 (1) + 3 (3 + 5) + |1.5 - 2| + |3 - 1| = 57
 *   L2,1: 1 (5 + 1 + 2) + .5 (1) + 3 (3 + 4 + 3) + 2.5 = 41
 *   L2,2: 1 (25 + 1 + 4) + .5 (1) + 3 (9 + 16 + 9) + 2.5 = 135 */
TEST(losses_by_hand)
{
    struct prefix_moe_measure t = truth();
    const struct prefix_moe_measure g = {.n = 3,
                                         .atom = {{0, {3, 4}, {0, 1}, 2},
                                                  {log(3), {10, 3}, {4, 10}, 13},
                                                  {log(.5), {0, 0}, {0, 0}, -1}}};
    int cell[PREFIX_MOE_ATOMS];
    prefix_moe_cells(cell, &g, &t);
    ck_assert(cell[0] == 0 && cell[1] == 1 && cell[2] == 0);
    ck_assert_double_eq_tol(prefix_moe_l1(&g, &t), 57, 1e-12);
    ck_assert_double_eq_tol(prefix_moe_l2(&g, &t, 1), 41, 1e-12);
    ck_assert_double_eq_tol(prefix_moe_l2(&g, &t, 2), 135, 1e-12);
}

/* all atoms in the first cell: the second pays its whole weight, 1 */
TEST(an_empty_cell_pays_its_weight)
{
    struct prefix_moe_measure t = truth();
    const struct prefix_moe_measure g = {
        .n = 2, .atom = {{0, {0, 0}, {0, 0}, 0}, {0, {0, 0}, {0, 0}, 0}}};
    ck_assert_double_eq_tol(prefix_moe_l1(&g, &t), 1, 1e-15);
    ck_assert_double_eq_tol(prefix_moe_l2(&g, &t, 1), 1, 1e-15);
}

/* half way between: to the lower cell, once */
TEST(a_tie_is_counted_once)
{
    struct prefix_moe_measure t = truth();
    const struct prefix_moe_measure g = {.n = 1, .atom = {{0, {5, 0}, {0, 5}, 5}}};
    int cell[PREFIX_MOE_ATOMS];
    prefix_moe_cells(cell, &g, &t);
    ck_assert_int_eq(cell[0], 0);
    ck_assert_double_eq_tol(prefix_moe_l1(&g, &t), 5 + sqrt(50) + 1 + 1, 1e-12);
}

SUITE(lab_gates_prefix_moe, a_value_by_hand, derivatives_are_those_of_differences,
      powers_cannot_be_told_apart, the_truth_has_no_loss, losses_by_hand,
      an_empty_cell_pays_its_weight, a_tie_is_counted_once);
