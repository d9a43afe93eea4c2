#include "nn/linear.h"

#include "nn/blas.h"

#include <string.h>

void linear_forward(float *y, const float *x, const float *w, const float *b, int n,
                    int in, int out)
{
    for (int i = 0; i < n; i++)
        memcpy(y + (size_t)i * (size_t)out, b, sizeof *b * (size_t)out);
    if (n == 1)
        blas_gemv(y, w, x, out, in, 1.0f);
    else
        blas_gemm_nt(y, x, w, n, out, in, 1.0f);
}

void linear_backward(float *dw, float *db, float *dx, const float *dy, const float *x,
                     const float *w, int n, int in, int out)
{
    blas_gemm_tn(dw, dy, x, out, in, n, 1.0f);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < out; j++)
            db[j] += dy[(size_t)i * (size_t)out + (size_t)j];
    if (dx) blas_gemm_nn(dx, dy, w, n, in, out, 0.0f);
}
