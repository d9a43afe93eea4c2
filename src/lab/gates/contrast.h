/* contrast.h - the contrastive term that keeps a new task's features away from old classes.
 *
 *   L = 1 / (n k) sum_(h in H) sum_c ln [ exp(h mu_c / T) /
 *                        (sum_(h' in H) exp(h h' / T) + sum_c' exp(h mu_c' / T)) ]
 *
 * Source: NoRGa (lab/gates/residual.h), Eq. 59, T = .8 there. Differs: H is a batch of n features, not the
 * whole task, and the sums are means, so that its weight does not depend on n and k.
 *
 * Shapes: h, dh (n, dim), mu (k, dim) the means of the k old classes. Threads: pure function. */
#ifndef LAB_CONTRAST_H
#define LAB_CONTRAST_H

#define CONTRAST_BATCH 256 /* n + k at most */

/* Returns L and adds weight * dL/dh to dh. */
double contrast_loss(float *dh, const float *h, int n, const float *mu, int k, int dim,
                     double temperature, double weight);

#endif
