/* linear.h - one affine layer over a batch, and its gradient.
 *
 *   y = x W^T + b          dW += dy^T x,  db += sum over rows of dy,  dx = dy W
 *
 * Shapes: x (n, in), y (n, out), W (out, in), b (out).
 * The backward pass adds to dW and db and overwrites dx (NULL when nobody needs it).
 * A batch of one goes through matrix-vector products.
 *
 * Threads: pure functions. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

void linear_forward(float *y, const float *x, const float *w, const float *b, int n,
                    int in, int out);
void linear_backward(float *dw, float *db, float *dx, const float *dy, const float *x,
                     const float *w, int n, int in, int out);

#endif
