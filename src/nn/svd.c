#include "nn/svd.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* LAPACK is Fortran: column-major, everything by address, and the length of each string
 * behind the last argument. OpenBLAS exports it without a header of its own. */
extern void dgesdd_(const char *jobz, const int *m, const int *n, double *a,
                    const int *lda, double *s, double *u, const int *ldu, double *vt,
                    const int *ldvt, double *work, const int *lwork, int *iwork,
                    int *info, size_t jobz_length);
/* C (n, n) = alpha A A^T + beta C, its lower half; A (n, k) column-major */
extern void dsyrk_(const char *uplo, const char *trans, const int *n, const int *k,
                   const double *alpha, const double *a, const int *lda,
                   const double *beta, double *c, const int *ldc, size_t uplo_length,
                   size_t trans_length);

enum { TALL = 16 }; /* from here on the products of the columns are the quicker way */

struct svd {
    int max_rows, max_cols, work_n;
    double *a, *gram, *work; /* owned, one block */
    int *iwork;              /* owned */
};

static int svd_smaller(int a, int b)
{
    return a < b ? a : b;
}

static int svd_larger(int a, int b)
{
    return a > b ? a : b;
}

struct svd *svd_new(int max_rows, int max_cols, struct err *e)
{
    assert(max_rows > 0 && max_cols > 0);
    int few = svd_smaller(max_rows, max_cols), many = svd_larger(max_rows, max_cols);
    /* dgesdd asks for 3 few + max(many, 7 few); what is above lets it work in blocks */
    int work_n = 3 * few + svd_larger(many, 7 * few) + 64 * (few + 1);
    size_t cells = (size_t)max_rows * (size_t)max_cols;

    struct svd *s = calloc(1, sizeof *s);
    size_t products = (size_t)few * (size_t)few;
    double *block = calloc(cells + products + (size_t)work_n, sizeof *block);
    int *iwork = calloc(8 * (size_t)few, sizeof *iwork);
    if (!s || !block || !iwork) {
        err_set(e, ERR_MEMORY, "no memory for singular values of a %d x %d matrix",
                max_rows, max_cols);
        free(iwork);
        free(block);
        free(s);
        return NULL;
    }
    *s = (struct svd){.max_rows = max_rows,
                      .max_cols = max_cols,
                      .work_n = work_n,
                      .a = block,
                      .gram = block + cells,
                      .work = block + cells + products,
                      .iwork = iwork};
    return s;
}

void svd_free(struct svd *s)
{
    if (!s) return;
    free(s->iwork);
    free(s->a);
    free(s);
}

/* Row-major A is column-major A^T, whose singular values are the same. m, n as LAPACK counts. */
static int svd_values_one(double *sigma, struct svd *s, double *a, int m, int n,
                          struct err *e)
{
    int info = 0, one = 1;
    dgesdd_("N", &m, &n, a, &m, sigma, NULL, &one, NULL, &one, s->work, &s->work_n,
            s->iwork, &info, 1);
    assert(info >= 0);
    if (info > 0)
        return err_set(e, ERR_NUMERIC, "the singular values did not converge (%d)", info);
    return 0;
}

/* sigma^2 are the singular values of A^T A (n, n). */
static int values_of_gram(double *sigma, struct svd *s, int rows, int n, struct err *e)
{
    const double zero = 0.0, unit = 1.0;
    dsyrk_("L", "N", &n, &rows, &unit, s->a, &n, &zero, s->gram, &n, 1, 1);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            s->gram[i * n + j] = s->gram[j * n + i];
    int rc = svd_values_one(sigma, s, s->gram, n, n, e);
    for (int k = 0; !rc && k < n; k++)
        sigma[k] = sqrt(sigma[k]);
    return rc;
}

int svd_values(double *sigma, struct svd *s, const float *a, const double *row_scale,
               int rows, int cols, struct err *e)
{
    assert(rows > 0 && rows <= s->max_rows && cols > 0 && cols <= s->max_cols);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            size_t at = (size_t)i * (size_t)cols + (size_t)j;
            s->a[at] = (double)a[at] * (row_scale ? row_scale[i] : 1.0);
            if (!isfinite(s->a[at]))
                return err_set(e, ERR_NUMERIC, "row %d, column %d is not finite", i, j);
        }

    if (rows >= TALL * cols) return values_of_gram(sigma, s, rows, cols, e);
    return svd_values_one(sigma, s, s->a, cols, rows, e);
}
