/* blas.h - the one door to BLAS: single-precision products of row-major matrices.
 *
 *   blas_gemm_nn   C (m, n) = A (m, k)   B (k, n)   + beta C
 *   blas_gemm_nt   C (m, n) = A (m, k)   B (n, k)^T + beta C
 *   blas_gemm_tn   C (m, n) = A (k, m)^T B (k, n)   + beta C
 *   blas_gemv      y (m)    = A (m, n)   x (n)      + beta y
 *   blas_gemv_t    y (n)    = A (m, n)^T x (m)      + beta y
 *
 * Matrices are dense (no row padding) and the output overlaps no input. beta = 0 writes,
 * whatever the output held before; an empty output is legal.
 *
 * Determinism: a caller gets one BLAS thread, set once before main() starts, so a result
 * depends on the inputs, their shapes and the CPU's kernel, never on how many threads the
 * program runs. The last bits may differ between shapes (gemv against gemm) and CPU
 * types.
 *
 * Errors: sizes that are negative are a bug (assert).
 * Threads: pure functions. No heap: OpenBLAS keeps its own mapped buffers (blas_reserve), and
 * starts no threads of its own. */
#ifndef NN_BLAS_H
#define NN_BLAS_H

#include "base/err.h"

void blas_gemm_nn(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta);
void blas_gemm_nt(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta);
void blas_gemm_tn(float *c, const float *a, const float *b, int m, int n, int k,
                  float beta);
void blas_gemv(float *y, const float *a, const float *x, int m, int n, float beta);
void blas_gemv_t(float *y, const float *a, const float *x, int m, int n, float beta);

/* Maps the buffers of so many calls at a time, 128 MB of address space each, once and for all.
 * Otherwise OpenBLAS maps them when they are first needed, and tries for ever if it cannot. Before
 * the first product, from the only thread. ERR_MEMORY: they do not fit (says what to raise). */
int blas_reserve(int callers, struct err *e) __attribute__((warn_unused_result));

/* The library and the kernels it chose ("OpenBLAS 0.3.21 ... Haswell"), for `bench` and
 * provenance files. Static storage. */
const char *blas_config(void);

#endif
