/* blas.h - single-precision products of row-major matrices, by BLAS.
 *
 *   blas_gemm_nn   C (m, n) = A (m, k)   B (k, n)   + beta C
 *   blas_gemm_nt   C (m, n) = A (m, k)   B (n, k)^T + beta C
 *   blas_gemm_tn   C (m, n) = A (k, m)^T B (k, n)   + beta C
 *   blas_gemv      y (m)    = A (m, n)   x (n)      + beta y
 *
 * Only this module includes <cblas.h>. Matrices are dense (no row padding), and the output overlaps
 * no input. With beta = 0 the former content of the output does not matter. An empty output is legal.
 *
 * Determinism: BLAS runs one thread per caller, set once before main() starts. A result depends on
 * the inputs, their shapes and the CPU's kernel, never on the number of threads of the program. The
 * last bits may differ between shapes (gemv and gemm) and CPU types.
 *
 * Errors: negative sizes are a bug (assert).
 * Ownership: no heap; OpenBLAS keeps its own mapped buffers (blas_reserve).
 * Threads: pure functions. OpenBLAS starts no threads of its own. */
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

/* Maps the buffers of `callers` simultaneous calls, 128 MB of address space each. Without it OpenBLAS
 * maps them on first use, and retries for ever when that fails. Call it before the first product, from
 * the only thread. ERR_MEMORY: they do not fit; the message says which limit to raise. */
int blas_reserve(int callers, struct err *e) __attribute__((warn_unused_result));

/* The library and the kernels it chose ("OpenBLAS 0.3.21 ... Haswell"), for `bench` and
 * provenance files. Static storage. */
const char *blas_config(void);

#endif
