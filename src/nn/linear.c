#include "nn/linear.h"

#include "nn/simd/kern.h"

static void linear_forward_one(float *y, const float *x, const float *w, const float *b,
                               int n, int in, int out, bool relu)
{
    if (n == 1) {
        kern_best()->affine(y, w, b, x, out, in, relu);
        return;
    }
    kern_best()->product(&(struct kern_product){.c = y,
                                                .a = x,
                                                .b = w,
                                                .bias = b,
                                                .m = n,
                                                .n = out,
                                                .k = in,
                                                .b_transposed = true,
                                                .relu = relu});
}

void linear_forward(float *y, const float *x, const float *w, const float *b, int n,
                    int in, int out)
{
    linear_forward_one(y, x, w, b, n, in, out, false);
}

void linear_forward_relu(float *y, const float *x, const float *w, const float *b, int n,
                         int in, int out)
{
    linear_forward_one(y, x, w, b, n, in, out, true);
}

static void backward(float *dw, float *db, float *dx, const float *dy, const float *x,
                     const float *w, int n, int in, int out, const float *gate)
{
    const struct kern *k = kern_best();
    k->product(&(struct kern_product){
        .c = dw, .a = dy, .b = x, .m = out, .n = in, .k = n, .a_transposed = true});
    k->colsum(db, dy, n, out);
    if (!dx) return;
    k->product(&(struct kern_product){
        .c = dx, .a = dy, .b = w, .gate = gate, .m = n, .n = in, .k = out});
}

void linear_backward(float *dw, float *db, float *dx, const float *dy, const float *x,
                     const float *w, int n, int in, int out)
{
    backward(dw, db, dx, dy, x, w, n, in, out, NULL);
}

void linear_backward_relu(float *dw, float *db, float *dx, const float *dy,
                          const float *x, const float *w, int n, int in, int out)
{
    backward(dw, db, dx, dy, x, w, n, in, out, x);
}
