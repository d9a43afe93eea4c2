#include "lab/gates/residual.h"

#include "support/suites.h"

#include <math.h>

static double score(enum residual_kind kind, double alpha, double tau, double s)
{
    return residual_score(&(struct residual){kind, alpha, tau}, s).score;
}

/* tanh 1 = .7615941559557649, 1 / (1 + e^-1) = .7310585786300049, Phi(1) = .8413447460685429 */
TEST(scores_by_hand)
{
    ck_assert_double_eq(score(RESIDUAL_LINEAR, 9, 9, .5), .5);
    ck_assert_double_eq_tol(score(RESIDUAL_TANH, 2, 2, .5), .5 + 2 * .7615941559557649,
                            1e-14);
    ck_assert_double_eq_tol(score(RESIDUAL_SIGMOID, -1, 2, .5), .5 - .7310585786300049,
                            1e-14);
    ck_assert_double_eq_tol(score(RESIDUAL_GELU, 3, 2, .5), .5 + 3 * .8413447460685429,
                            1e-14);
    ck_assert_double_eq_tol(score(RESIDUAL_SIGMOID, 4, 1, 0), 2, 1e-15);
    ck_assert_str_eq(residual_word(RESIDUAL_GELU), "GELU");
}

TEST(derivatives_are_those_of_differences)
{
    const double h = 1e-6, s = -.7, alpha = 1.3, tau = .8;
    for (int k = 0; k < RESIDUAL_KINDS; k++) {
        enum residual_kind kind = (enum residual_kind)k;
        struct residual_at a = residual_score(&(struct residual){kind, alpha, tau}, s);
        double by_s =
            (score(kind, alpha, tau, s + h) - score(kind, alpha, tau, s - h)) / (2 * h);
        double by_alpha =
            (score(kind, alpha + h, tau, s) - score(kind, alpha - h, tau, s)) / (2 * h);
        double by_tau =
            (score(kind, alpha, tau + h, s) - score(kind, alpha, tau - h, s)) / (2 * h);
        ck_assert_double_eq_tol(a.by_s, by_s, 1e-8);
        ck_assert_double_eq_tol(a.by_alpha, by_alpha, 1e-8);
        ck_assert_double_eq_tol(a.by_tau, by_tau, 1e-8);
    }
}

TEST(far_scores_stay_finite)
{
    for (int k = 0; k < RESIDUAL_KINDS; k++)
        for (double s = -1e4; s <= 1e4; s += 1e4) {
            struct residual_at a =
                residual_score(&(struct residual){(enum residual_kind)k, 1, 1}, s);
            ck_assert(isfinite(a.score) && isfinite(a.by_s) && isfinite(a.by_tau));
        }
}

SUITE(lab_gates_residual, scores_by_hand, derivatives_are_those_of_differences,
      far_scores_stay_finite);
