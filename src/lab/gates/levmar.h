/* levmar.h - least squares in a box by the method of Levenberg and Marquardt.
 *
 *   minimise f(theta) = sum_k w_k r_k(theta)^2,   lo <= theta_i <= hi
 *   (J'WJ + lambda diag(J'WJ)) d = -J'Wr,   theta <- clamp(theta + d)
 *
 * Source: Marquardt 1963; lambda falls to a tenth after a step that lowers f and rises tenfold after
 * one that does not. A parameter on a bound whose gradient points out of the box stands still
 * for that step. Ends when `patience` steps in a row lowered f by less than `tolerance` of it each,
 * when lambda passes 1e12, or after `steps`.
 *
 * normal(ctx, theta, jj, jr) returns f and, when jj is not NULL, writes J'WJ (n, n;
 * the lower triangle is enough) and J'Wr (n).
 *
 * Threads: not shared (scratch is on the stack). */
#ifndef LAB_LEVMAR_H
#define LAB_LEVMAR_H

#define LEVMAR_PARAMS 32 /* at most */

typedef double levmar_normal(void *ctx, const double *theta, double *jj, double *jr);

struct levmar_cfg {
    int n, steps, patience;
    double lo, hi, tolerance;
};

/* Changes theta to the best one found and returns its f. */
double levmar_fit(double *theta, const struct levmar_cfg *cfg, levmar_normal *normal,
                  void *ctx);

#endif
