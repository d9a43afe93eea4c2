/* linear.h - one affine layer over a batch, and its gradient.
 *
 *   y = x W^T + b          dW = dy^T x,  db = sum over rows of dy,  dx = dy W
 *
 * forward_relu gives max(y, 0). backward_relu is for an x that is the output of a ReLU: dx is then the
 * gradient of the ReLU's input, 0 where x is not > 0. The backward pass overwrites dW, db and dx; dx
 * may be NULL. A batch of one goes forward through matrix-vector products.
 *
 * Shapes: x (n, in), y (n, out), W (out, in), b (out).
 * Threads: pure functions. */
#ifndef NN_LINEAR_H
#define NN_LINEAR_H

void linear_forward(float *y, const float *x, const float *w, const float *b, int n,
                    int in, int out);
void linear_forward_relu(float *y, const float *x, const float *w, const float *b, int n,
                         int in, int out);
void linear_backward(float *dw, float *db, float *dx, const float *dy, const float *x,
                     const float *w, int n, int in, int out);
void linear_backward_relu(float *dw, float *db, float *dx, const float *dy,
                          const float *x, const float *w, int n, int in, int out);

#endif
