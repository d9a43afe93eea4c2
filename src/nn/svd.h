/* svd.h - the singular values of a small matrix.
 *
 *   A = U diag(sigma) V^T,   sigma_1 >= sigma_2 >= ... >= 0
 *
 * LAPACK's dgesdd without vectors, as OpenBLAS exports it; only this module calls it. A is float and
 * is converted to double, so the values carry the rounding of A alone. When A has at least 16 times as
 * many rows as columns, sigma are the roots of the singular values of A^T A, which is many times
 * faster. Values below 1e-7 sigma_1 are then rounding, as they are in A itself.
 *
 * Shapes: A (rows, cols) row-major; sigma (min(rows, cols)), largest first.
 * Errors: ERR_NUMERIC when A is not finite, or (never seen) LAPACK does not converge; ERR_MEMORY from
 * svd_new.
 * Ownership: struct svd is scratch for matrices up to its size; nothing allocates after svd_new.
 * Threads: not shared, one per thread. */
#ifndef NN_SVD_H
#define NN_SVD_H

#include "base/err.h"

struct svd;

struct svd *svd_new(int max_rows, int max_cols, struct err *e);
void svd_free(struct svd *s);

/* 1 <= rows <= max_rows, 1 <= cols <= max_cols. row_scale (rows) or NULL: gives sigma of
 * diag(row_scale) A. */
int svd_values(double *sigma, struct svd *s, const float *a, const double *row_scale,
               int rows, int cols, struct err *e) __attribute__((warn_unused_result));

#endif
