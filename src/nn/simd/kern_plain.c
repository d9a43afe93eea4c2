/* The table for every CPU: products by BLAS, loops that the compiler vectorises with what every CPU of
 * the architecture has. */
#include "nn/simd/kern.h"

#include "nn/blas.h"

#include <assert.h>
#include <string.h>

static void product(const struct kern_product *p)
{
    int m = p->m, n = p->n;
    float beta = p->add || p->bias ? 1.0f : 0.0f;
    for (int i = 0; p->bias && i < m; i++)
        memcpy(p->c + (size_t)i * (size_t)n, p->bias, sizeof(float) * (size_t)n);
    assert(!(p->a_transposed && p->b_transposed) && !(p->add && p->bias));
    if (p->a_transposed)
        blas_gemm_tn(p->c, p->a, p->b, m, n, p->k, beta);
    else if (p->b_transposed)
        blas_gemm_nt(p->c, p->a, p->b, m, n, p->k, beta);
    else
        blas_gemm_nn(p->c, p->a, p->b, m, n, p->k, beta);

    size_t all = (size_t)m * (size_t)n;
    for (size_t i = 0; p->relu && i < all; i++)
        p->c[i] = p->c[i] < 0.0f ? 0.0f : p->c[i];
    for (size_t i = 0; p->gate && i < all; i++)
        p->c[i] = p->gate[i] > 0.0f ? p->c[i] : 0.0f;
}

static void affine(float *y, const float *w, const float *b, const float *x, int out,
                   int in, bool relu)
{
    memcpy(y, b, sizeof *b * (size_t)out);
    blas_gemv(y, w, x, out, in, 1.0f);
    for (int i = 0; relu && i < out; i++)
        y[i] = y[i] < 0.0f ? 0.0f : y[i];
}

#define KERN_TABLE kern_plain
#define KERN_WORD "plain"
#include "kern_priv.h"
