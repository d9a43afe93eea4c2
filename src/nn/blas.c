#include "nn/blas.h"

#include <assert.h>
#include <cblas.h>

/* Two BLAS threads made batches of this size 1.6-2.8 times slower, and would take cores
 * from the callers' own threads. A constructor, because the setting is global to the
 * library and must not race with a product under way. */
__attribute__((constructor)) static void one_thread_per_caller(void)
{
    openblas_set_num_threads(1);
}

void blas_gemm_nn(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta)
{
    assert(m >= 0 && n >= 0 && k > 0);
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1.0f, a, k, b, n,
                beta, c, n);
}

void blas_gemm_nt(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta)
{
    assert(m >= 0 && n >= 0 && k > 0);
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1.0f, a, k, b, k, beta,
                c, n);
}

void blas_gemm_tn(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta)
{
    assert(m >= 0 && n >= 0 && k > 0);
    if (m == 0 || n == 0) return;
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1.0f, a, m, b, n, beta,
                c, n);
}

void blas_gemv(float *y, const float *a, const float *x, int m, int n, float beta)
{
    assert(m >= 0 && n > 0);
    if (m == 0) return;
    cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1.0f, a, n, x, 1, beta, y, 1);
}

void blas_gemv_t(float *y, const float *a, const float *x, int m, int n, float beta)
{
    assert(m > 0 && n >= 0);
    if (n == 0) return;
    cblas_sgemv(CblasRowMajor, CblasTrans, m, n, 1.0f, a, n, x, 1, beta, y, 1);
}

const char *blas_config(void)
{
    return openblas_get_config();
}
