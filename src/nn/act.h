/* act.h - elementwise and row functions between the matrix products.
 *
 *   relu      x <- max(x, 0)
 *   softmax   p_i = exp(x_i - lse),  lse = max + ln sum_j exp(x_j - max)
 *
 * NaN passes through: relu keeps it, softmax gives NaN everywhere. So the caller's check for finite
 * numbers finds it.
 *
 * Threads: pure functions. */
#ifndef NN_ACT_H
#define NN_ACT_H

#include <stddef.h>

void act_relu(float *x, size_t n);

/* Both return lse, so ln p_i = x_i - lse; n >= 1. p may be x. */
float act_softmax(float *p, const float *x, int n);
float act_lse(const float *x, int n);

/* Index of the largest (lowest on ties, 0 if all are NaN). */
int act_argmax(const float *x, int n);

#endif
