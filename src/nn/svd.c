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

struct svd {
    int max_rows, max_cols, work_n;
    double *a, *work; /* owned, one block */
    int *iwork;       /* owned */
};

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

struct svd *svd_new(int max_rows, int max_cols, struct err *e)
{
    assert(max_rows > 0 && max_cols > 0);
    int few = smaller(max_rows, max_cols), many = larger(max_rows, max_cols);
    /* dgesdd asks for 3 few + max(many, 7 few); what is above lets it work in blocks */
    int work_n = 3 * few + larger(many, 7 * few) + 64 * (few + 1);
    size_t cells = (size_t)max_rows * (size_t)max_cols;

    struct svd *s = calloc(1, sizeof *s);
    double *block = calloc(cells + (size_t)work_n, sizeof *block);
    int *iwork = calloc(8 * (size_t)few, sizeof *iwork);
    if (!s || !block || !iwork) {
        err_set(e, ERR_MEMORY, "no memory for singular values of a %d x %d matrix",
                max_rows, max_cols);
        free(iwork);
        free(block);
        free(s);
        return NULL;
    }
    *s = (struct svd){max_rows, max_cols, work_n, block, block + cells, iwork};
    return s;
}

void svd_free(struct svd *s)
{
    if (!s) return;
    free(s->iwork);
    free(s->a);
    free(s);
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

    /* row-major A is column-major A^T, whose singular values are the same */
    int info = 0, one = 1;
    dgesdd_("N", &cols, &rows, s->a, &cols, sigma, NULL, &one, NULL, &one, s->work,
            &s->work_n, s->iwork, &info, 1);
    assert(info >= 0);
    if (info > 0)
        return err_set(e, ERR_NUMERIC, "the singular values did not converge (%d)", info);
    return 0;
}
