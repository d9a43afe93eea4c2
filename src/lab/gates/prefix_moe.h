/* prefix_moe.h - one row of one attention head as a regression function with parameters.
 *
 *   g_G(x) = [ sum_j e^(x'B_j x + c_j) h(x, eta0_j) + sum_i e^(s_i(x)) h(x, eta_i) ] / T(x)
 *   s_i(x) = u + alpha sigma(tau u) + beta0_i,   u = beta1_i'x,   T(x) = sum of all e^(.)
 *   h(x, (a, b)) = (a'x + b)^p, or GELU(a'x + b)
 *
 * Source: NoRGa (lab/gates/residual.h), Eq. 17; with the linear gate Eq. 24. The frozen experts
 * (B, c, eta0) are known; a fit looks for the mixing measure
 * G = sum_i e^(beta0_i) delta_(beta1_i, eta_i).
 *
 * An atom of G is one (beta0_i, beta1_i, eta_i). Two facts about experts (a'x + b)^p hold for every
 * gate, because atoms with the same beta1 have the same score. Each splits an atom into two of half
 * its weight and does not change g:
 *   - p = 1: the halves have b + t and b - t. Appendix A proves its lower bound for the linear gate
 *     with a sequence of such splits.
 *   - any p: the halves have c_1 eta and c_2 eta with c_1^p + c_2^p = 2, since
 *     h(x, c eta) = c^p h(x, eta). By Euler's theorem a'dh/da + b dh/db = p h. So these experts are
 *     not algebraically independent in the sense of Definition 4.2. The paper says that they are.
 * GELU is not homogeneous; for it the premise of Theorem 4.3 holds.
 *
 * The distance of a fitted measure from the true one is a sum over Voronoi cells:
 *
 *   V_j = {i: ||w_i - w*_j|| <= ||w_i - w*_l|| for all l},   w = (beta1, eta)        (Eq. 21)
 *
 *   L1   = sum_j {|V_j| > 1} sum_(i in V_j) e^(beta0_i) (||d beta1_ij||^2 + ||d eta_ij||^2)
 *        + sum_j {|V_j| = 1} sum_(i in V_j) e^(beta0_i) (||d beta1_ij|| + ||d eta_ij||)
 *        + sum_j |sum_(i in V_j) e^(beta0_i) - e^(beta0*_j)|                         (Eq. 20)
 *
 *   L2,r = the last sum + sum_j sum_(i in V_j) e^(beta0_i) (||d beta1||^r + ||d a||^r + |d b|^r)
 *                                                                                   (Eq. 26)
 *
 * A tie goes to the lower j: an atom on the border of two cells counts once. An empty cell costs
 * e^(beta0*_j).
 *
 * Threads: pure functions. */
#ifndef LAB_PREFIX_MOE_H
#define LAB_PREFIX_MOE_H

#include "lab/gates/residual.h"

#define PREFIX_MOE_DIM 2    /* of x: N d of the paper */
#define PREFIX_MOE_ATOMS 4  /* of a measure, at most */
#define PREFIX_MOE_FROZEN 2 /* frozen experts, at most */

enum prefix_moe_expert { PREFIX_MOE_POWER, PREFIX_MOE_GELU };

/* Only doubles, so without padding: a fit changes the atoms of a measure as one flat vector. */
struct prefix_moe_atom {
    double beta0, beta1[PREFIX_MOE_DIM], a[PREFIX_MOE_DIM], b;
};
#define PREFIX_MOE_EACH ((int)(sizeof(struct prefix_moe_atom) / sizeof(double)))

struct prefix_moe_measure {
    int n;
    struct prefix_moe_atom atom[PREFIX_MOE_ATOMS];
};

struct prefix_moe_frozen {
    double q[PREFIX_MOE_DIM][PREFIX_MOE_DIM], c; /* B, c of the score */
    double a[PREFIX_MOE_DIM], b;                 /* eta of the expert */
};

struct prefix_moe {
    struct residual gate;
    enum prefix_moe_expert expert;
    int power; /* p of PREFIX_MOE_POWER, >= 1 */
    int frozen;
    struct prefix_moe_frozen known[PREFIX_MOE_FROZEN];
};

/* Returns g_G(x). by (n * PREFIX_MOE_EACH, may be NULL) gets its derivatives with respect to the
 * atoms. */
double prefix_moe_value(const struct prefix_moe *m, const struct prefix_moe_measure *g,
                        const double x[PREFIX_MOE_DIM], double *by);

/* cell[i] = j: atom i of g lies in V_j. */
void prefix_moe_cells(int cell[PREFIX_MOE_ATOMS], const struct prefix_moe_measure *g,
                      const struct prefix_moe_measure *truth);

double prefix_moe_l1(const struct prefix_moe_measure *g,
                     const struct prefix_moe_measure *truth);
double prefix_moe_l2(const struct prefix_moe_measure *g,
                     const struct prefix_moe_measure *truth, double r);

#endif
