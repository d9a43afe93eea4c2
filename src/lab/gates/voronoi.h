/* voronoi.h - how far a fitted mixing measure is from the true one, by Voronoi cells.
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
 * Source: NoRGa (lab/gates/residual.h), Section 4.2 and Appendix A. A tie goes to the lower j, as an atom
 * on a border of two cells would else be counted twice. An empty cell pays e^(beta0*_j).
 *
 * Threads: pure functions. */
#ifndef LAB_VORONOI_H
#define LAB_VORONOI_H

#include "lab/gates/prefix_moe.h"

/* cell[i] = j: atom i of g lies in V_j. */
void voronoi_cells(int cell[PREFIX_MOE_ATOMS], const struct prefix_moe_measure *g,
                   const struct prefix_moe_measure *truth);

double voronoi_l1(const struct prefix_moe_measure *g,
                  const struct prefix_moe_measure *truth);
double voronoi_l2(const struct prefix_moe_measure *g,
                  const struct prefix_moe_measure *truth, double r);

#endif
