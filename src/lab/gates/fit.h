/* fit.h - one repetition of NoRGa's regression: draw n samples, fit, measure the loss.
 *
 *   X uniform on side x side points of [-1, 1]^2,   Y = g_G*(X) + N(0, nu^2)          (Eq. 16, 23)
 *   G^ = argmin over measures of L' atoms in a box of sum_i (Y_i - g_G(X_i))^2        (Eq. 18, 25)
 *
 * Source: NoRGa (lab/gates/residual.h), Section 4.2 and Appendix A. They leave the distribution of X
 * open. With finitely many points, the mean of Y at each point is all that least squares can use,
 * so a fit costs the same for any n. The fit has several starts, and the lowest one counts. Even
 * starts lie near the truth: each true atom, a random one of them again for every extra atom with
 * its weight shared, and all parameters moved by N(0, spread^2). Odd starts are uniform in half the
 * box. Theta is the box.
 *
 * The minimiser is Levenberg and Marquardt's (Marquardt 1963), in a box:
 *
 *   minimise f(theta) = sum_k w_k r_k(theta)^2,   lo <= theta_i <= hi
 *   (J'WJ + lambda diag(J'WJ)) d = -J'Wr,   theta <- clamp(theta + d)
 *
 * lambda falls to a tenth after a step that lowers f, and rises tenfold after one that does not. A
 * parameter on a bound whose gradient points out of the box does not move in that step. The search
 * ends when `patience` steps in a row each lowered f by less than `tolerance` of it, when lambda
 * passes 1e12, or after `steps`.
 *
 * Threads: pure function of its stream; scratch is on the stack. */
#ifndef LAB_FIT_H
#define LAB_FIT_H

#include "base/rng.h"
#include "lab/gates/prefix_moe.h"

#include <stdint.h>

#define FIT_PARAMS 32 /* at most */
#define FIT_SIDE 24   /* at most */

/* Returns f. If jj is not NULL, writes J'WJ (n, n; the lower triangle is enough) and J'Wr (n). */
typedef double fit_normal(void *ctx, const double *theta, double *jj, double *jr);

struct fit_levmar_cfg {
    int n, steps, patience;
    double lo, hi, tolerance;
};

/* Changes theta to the best one found and returns its f. */
double fit_levmar(double *theta, const struct fit_levmar_cfg *cfg, fit_normal *normal,
                  void *ctx);

struct fit_cfg {
    struct prefix_moe model;
    struct prefix_moe_measure truth; /* L atoms */
    int atoms;                       /* L' >= L */
    int side;
    double noise;  /* nu */
    double box;    /* every parameter lies in -box .. box */
    double spread; /* of the starts near the truth */
    int starts, steps;
};

/* One frozen expert, two true atoms, L' = 3, nu = 0.1. */
struct fit_cfg fit_default(enum residual_kind gate, enum prefix_moe_expert expert,
                           int power);

struct fit {
    struct prefix_moe_measure fitted;
    double l1, l2; /* Eq. 20; Eq. 26 with r = 2 */
    double error;  /* ||g_G^ - g_G*|| in L2(mu) */
    double excess; /* least squares sum of G^ minus that of G*, over n nu^2; <= 0 if the
                      optimiser reached the minimum */
};

void fit_run(struct fit *out, const struct fit_cfg *c, int64_t n, struct rng *r);

#endif
