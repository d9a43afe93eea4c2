/* Singular values against spectra known by construction, and against a twin: one-sided
 * Jacobi in plain loops, which turns columns until they are orthogonal. */
#include "nn/svd.h"

#include "base/rng.h"
#include "nn/init.h"
#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 70 };

/* one turn of columns i and j of a (rows, cols); how far from orthogonal they were */
static double turn(double *a, int rows, int cols, int i, int j)
{
    double ii = 0, jj = 0, ij = 0;
    for (int r = 0; r < rows; r++) {
        ii += a[r * cols + i] * a[r * cols + i];
        jj += a[r * cols + j] * a[r * cols + j];
        ij += a[r * cols + i] * a[r * cols + j];
    }
    if (ij == 0 || fabs(ij) <= 1e-15 * sqrt(ii * jj)) return 0;
    double zeta = (jj - ii) / (2 * ij);
    double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t), s = c * t;
    for (int r = 0; r < rows; r++) {
        double x = a[r * cols + i], y = a[r * cols + j];
        a[r * cols + i] = c * x - s * y;
        a[r * cols + j] = s * x + c * y;
    }
    return fabs(ij) / sqrt(ii * jj);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* for matrices of full rank: columns of length 0 have no angle */
static void twin_values(double *sigma, const float *a, int m, int n)
{
    static double w[MAX * MAX];
    double lengths[MAX] = {0};
    int rows = m < n ? n : m, cols = m < n ? m : n; /* tall, or transposed */
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            w[m < n ? j * cols + i : i * cols + j] = (double)a[i * n + j];
    for (double worst = 1; worst > 1e-13;) {
        worst = 0;
        for (int i = 0; i < cols; i++)
            for (int j = i + 1; j < cols; j++)
                worst = fmax(worst, turn(w, rows, cols, i, j));
    }
    for (int j = 0; j < cols; j++) {
        for (int r = 0; r < rows; r++)
            lengths[j] += w[r * cols + j] * w[r * cols + j];
        lengths[j] = sqrt(lengths[j]);
    }
    qsort(lengths, (size_t)cols, sizeof *lengths, descending);
    memcpy(sigma, lengths, sizeof *sigma * (size_t)cols);
}

TEST(equal_to_the_twin_whatever_the_shape)
{
    static const int shapes[][2] = {{1, 1},   {1, 9},   {9, 1},   {2, 3},
                                    {6, 6},   {5, 40},  {40, 5},  {64, 18},
                                    {18, 64}, {70, 70}, {70, 33}, {33, 70}};
    static float a[MAX * MAX];
    struct svd *s = svd_new(MAX, MAX, NULL);
    ck_assert_ptr_nonnull(s);
    struct rng r;
    rng_init(&r, 5, 0);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int rows = shapes[i][0], cols = shapes[i][1], n = rows < cols ? rows : cols;
        init_normal(a, (size_t)(rows * cols), 1.0f, &r);
        double sigma[MAX], twin[MAX];
        ck_assert_int_eq(svd_values(sigma, s, a, NULL, rows, cols, NULL), 0);
        twin_values(twin, a, rows, cols);
        for (int k = 0; k < n; k++) {
            ck_assert_double_eq_tol(sigma[k], twin[k], 1e-11 * twin[0]);
            if (k) ck_assert_double_le(sigma[k], sigma[k - 1]);
        }
        ck_assert_double_gt(fabs(sigma[0] - twin[n - 1]) + (n == 1), 1e-3);
    }
    svd_free(s);
}

TEST(values_by_hand)
{
    struct svd *s = svd_new(4, 4, NULL);
    double sigma[4];

    const float eye[] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    ck_assert_int_eq(svd_values(sigma, s, eye, NULL, 3, 3, NULL), 0);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(sigma[k], 1, 1e-15);

    const float none[8] = {0};
    ck_assert_int_eq(svd_values(sigma, s, none, NULL, 4, 2, NULL), 0);
    ck_assert(sigma[0] == 0 && sigma[1] == 0);

    /* rank 1: u v^T with |u| = 3, |v| = 5 */
    const float outer[] = {3, 4, 6, 8, 6, 8};
    ck_assert_int_eq(svd_values(sigma, s, outer, NULL, 3, 2, NULL), 0);
    ck_assert_double_eq_tol(sigma[0], 15, 1e-13);
    ck_assert_double_eq_tol(sigma[1], 0, 1e-13);

    /* diag(2, -7) among zeros, and [3 0; 4 5] with sigma 3 sqrt 5 and sqrt 5 */
    const float diag[] = {2, 0, 0, 0, 0, -7};
    ck_assert_int_eq(svd_values(sigma, s, diag, NULL, 2, 3, NULL), 0);
    ck_assert_double_eq_tol(sigma[0], 7, 1e-14);
    ck_assert_double_eq_tol(sigma[1], 2, 1e-14);
    const float strang[] = {3, 0, 4, 5};
    ck_assert_int_eq(svd_values(sigma, s, strang, NULL, 2, 2, NULL), 0);
    ck_assert_double_eq_tol(sigma[0], 3 * sqrt(5), 1e-14);
    ck_assert_double_eq_tol(sigma[1], sqrt(5), 1e-14);
    svd_free(s);
}

TEST(a_scaled_row_counts_as_many)
{
    const float a[] = {1, 2, -3, 0, 1, 5, 4, 4, 1};
    const float repeated[] = {1, 2, -3, 1, 2, -3, 1, 2, -3, 0, 1, 5};
    const double scale[] = {sqrt(3), 1, 0};
    struct svd *s = svd_new(4, 3, NULL);
    double x[3], y[3];
    ck_assert_int_eq(svd_values(x, s, a, scale, 3, 3, NULL), 0);
    ck_assert_int_eq(svd_values(y, s, repeated, NULL, 4, 3, NULL), 0);
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol(x[k], y[k], 1e-13);
    svd_free(s);
}

/* Very tall matrices take another way. Rows that repeat every 40 are those 40 rows with
 * each row scaled by the root of how often it is there. */
TEST(a_tall_matrix_has_the_values_of_its_repeated_rows)
{
    enum { ROWS = 40, COLS = 18, TIMES = 50 };
    static float a[ROWS * COLS * TIMES], twin_a[MAX * MAX];
    struct svd *s = svd_new(ROWS * TIMES, COLS, NULL);
    ck_assert_ptr_nonnull(s);
    struct rng r;
    rng_init(&r, 6, 0);
    init_normal(a, ROWS * COLS, 1.0f, &r);
    memcpy(twin_a, a, sizeof *a * ROWS * COLS);
    for (int i = 1; i < TIMES; i++)
        memcpy(a + (ptrdiff_t)i * ROWS * COLS, a, sizeof *a * ROWS * COLS);
    double sigma[COLS], twin[MAX];
    ck_assert_int_eq(svd_values(sigma, s, a, NULL, ROWS * TIMES, COLS, NULL), 0);
    twin_values(twin, twin_a, ROWS, COLS);
    for (int k = 0; k < COLS; k++)
        ck_assert_double_eq_tol(sigma[k], sqrt(TIMES) * twin[k], 1e-12 * sigma[0]);

    /* a column twice: one value is 0, but for rounding, and far below float's own */
    for (int i = 0; i < ROWS * TIMES; i++)
        a[i * COLS + 1] = a[i * COLS];
    ck_assert_int_eq(svd_values(sigma, s, a, NULL, ROWS * TIMES, COLS, NULL), 0);
    ck_assert_double_le(sigma[COLS - 1], 1e-7 * sigma[0]);
    ck_assert_double_ge(sigma[COLS - 2], 1e-2 * sigma[0]);
    svd_free(s);
}

TEST(what_is_not_finite_is_named)
{
    const float a[] = {1, 2, 3, NAN, 5, 6}, b[] = {1, INFINITY};
    struct svd *s = svd_new(3, 2, NULL);
    double sigma[2];
    struct err e = {0};
    ck_assert_int_eq(svd_values(sigma, s, a, NULL, 3, 2, &e), ERR_NUMERIC);
    ck_assert_ptr_nonnull(strstr(e.detail, "row 1, column 1"));
    ck_assert_int_eq(svd_values(sigma, s, b, NULL, 1, 2, NULL), ERR_NUMERIC);
    svd_free(s);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return svd_new(50, 20, e);
}

static void destroy(void *s)
{
    svd_free(s);
}

TEST(memory_is_got_at_the_start_only)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, NULL), 3);
    struct svd *s = svd_new(3, 2, NULL);
    const float a[] = {1, 2, 3, 4, 5, 6};
    double sigma[2];
    alloc_watch();
    int rc = svd_values(sigma, s, a, NULL, 3, 2, NULL);
    long calls = alloc_calls();
    ck_assert_int_eq(rc, 0);
    ck_assert_int_eq(calls, 0);
    svd_free(s);
    svd_free(NULL);
}

SUITE(nn_svd, equal_to_the_twin_whatever_the_shape, values_by_hand,
      a_scaled_row_counts_as_many, a_tall_matrix_has_the_values_of_its_repeated_rows,
      what_is_not_finite_is_named, memory_is_got_at_the_start_only);
