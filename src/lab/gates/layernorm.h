/* layernorm.h - layer normalisation of rows, without gain and offset.
 *
 *   y = (x - mean(x)) / sqrt(var(x) + 1e-5)
 *   dx = (dy - mean(dy) - y mean(dy y)) / sqrt(var(x) + 1e-5)
 *
 * Source: Ba, Kiros and Hinton 2016. Gain and offset are left out, as a product follows wherever the
 * encoder normalises.
 *
 * Shapes: x, y (rows, n); root (rows): 1 / sqrt(var + 1e-5), for the way back. y may be x, dx may be
 * dy. Threads: pure functions. */
#ifndef LAB_LAYERNORM_H
#define LAB_LAYERNORM_H

void layernorm_forward(float *y, float *root, const float *x, int rows, int n);
void layernorm_backward(float *dx, const float *dy, const float *y, const float *root,
                        int rows, int n);

#endif
