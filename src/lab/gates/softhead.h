/* softhead.h - a linear softmax classifier of features, over a mask of its classes.
 *
 *   p_c = exp(w_c f + b_c) / sum_(c' in mask) exp(w_c' f + b_c'),   loss = mean of -ln p_label
 *
 * Shapes: x, dx (n, in), bit c of a mask is class c, classes <= 32. Learning is Adam, betas 0.9 and
 * 0.999 (NoRGa, Appendix E).
 *
 * Errors: softhead_new ERR_MEMORY. Threads: not shared. */
#ifndef LAB_SOFTHEAD_H
#define LAB_SOFTHEAD_H

#include "base/err.h"
#include "base/rng.h"

#include <stdint.h>

struct softhead;

/* For up to `batch` rows at a time. Weights begin at 0, so at first all classes are equally likely. */
struct softhead *softhead_new(int in, int classes, int batch, struct err *e);
void softhead_free(struct softhead *h);

/* Mean loss of n rows; dx (may be NULL) its gradient by x. */
double softhead_loss(struct softhead *h, float *dx, const float *x, const int *label,
                     uint32_t mask, int n);
/* The same, then one step. dx is the gradient before the step. */
double softhead_learn(struct softhead *h, float *dx, const float *x, const int *label,
                      uint32_t mask, int n, double lr);
/* The likeliest class of the mask, for each of n rows. */
void softhead_classify(struct softhead *h, int *label, const float *x, uint32_t mask,
                       int n);

#endif
