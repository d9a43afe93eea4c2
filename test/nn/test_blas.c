/* Every product against plain loops, at the edges of the kernels' tiles and within. */
#include "nn/blas.h"

#include "base/pool.h"
#include "base/rng.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int SIZES[] = {1, 2, 3, 5, 8, 17, 33, 64, 70};
enum { N_SIZES = sizeof SIZES / sizeof *SIZES, MAX = 70 };

struct bed {
    float a[MAX * MAX], b[MAX * MAX], c[MAX * MAX], start[MAX * MAX];
};

static struct bed *bed_new(void)
{
    struct bed *b = malloc(sizeof *b);
    struct rng r;
    rng_init(&r, 1, 2);
    for (int i = 0; i < MAX * MAX; i++) {
        b->a[i] = (float)rng_normal(&r);
        b->b[i] = (float)rng_normal(&r);
        b->start[i] = (float)rng_normal(&r);
    }
    return b;
}

/* c = op(a) op(b) + beta start; strides say how a and b are stored */
static void expect(const struct bed *x, int m, int n, int k, int a_row, int a_col,
                   int b_row, int b_col, float beta)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = beta != 0.0f ? (double)(beta * x->start[i * n + j]) : 0.0;
            for (int l = 0; l < k; l++)
                sum += (double)x->a[i * a_row + l * a_col] *
                       (double)x->b[l * b_row + j * b_col];
            ck_assert_msg(fabs(sum - (double)x->c[i * n + j]) < 1e-4,
                          "(%d, %d, %d) at %d, %d: %g, not %g", m, n, k, i, j,
                          (double)x->c[i * n + j], sum);
        }
}

static void fill(struct bed *x, float beta)
{
    /* with beta 0 the output's old content must not matter, not even a NaN */
    for (int i = 0; i < MAX * MAX; i++)
        x->c[i] = beta != 0.0f ? x->start[i] : NAN;
}

TEST(products_equal_plain_loops)
{
    struct bed *x = bed_new();
    int m = SIZES[_i];
    for (int p = 0; p < N_SIZES; p++)
        for (int q = 0; q < N_SIZES; q++)
            for (float beta = 0.0f; beta <= 1.0f; beta += 0.5f) {
                int n = SIZES[p], k = SIZES[q];
                fill(x, beta);
                blas_gemm_nn(x->c, x->a, x->b, m, n, k, beta);
                expect(x, m, n, k, k, 1, n, 1, beta);
                fill(x, beta);
                blas_gemm_nt(x->c, x->a, x->b, m, n, k, beta);
                expect(x, m, n, k, k, 1, 1, k, beta);
                fill(x, beta);
                blas_gemm_tn(x->c, x->a, x->b, m, n, k, beta);
                expect(x, m, n, k, 1, m, n, 1, beta);
            }
    free(x);
}

TEST(vectors_equal_plain_loops)
{
    struct bed *x = bed_new();
    int m = SIZES[_i];
    for (int p = 0; p < N_SIZES; p++)
        for (float beta = 0.0f; beta <= 1.0f; beta += 0.5f) {
            int n = SIZES[p];
            fill(x, beta);
            blas_gemv(x->c, x->a, x->b, m, n, beta);
            expect(x, m, 1, n, n, 1, 1, 1, beta);
        }
    free(x);
}

TEST(empty_outputs_are_legal)
{
    float c[1] = {3.0f};
    blas_gemm_nn(c, NULL, NULL, 0, 4, 4, 0.0f);
    blas_gemm_nt(c, NULL, NULL, 4, 0, 4, 0.0f);
    blas_gemm_tn(c, NULL, NULL, 0, 0, 4, 0.0f);
    blas_gemv(c, NULL, NULL, 0, 4, 0.0f);
    ck_assert(c[0] == 3.0f);
}

struct crowd {
    struct bed *x;
    float out[64][64 * 64];
};

static void one_product(void *ctx, int i)
{
    struct crowd *c = ctx;
    for (int turn = 0; turn < 20; turn++)
        blas_gemm_nt(c->out[i], c->x->a, c->x->b, 64, 64, 64, 0.0f);
}

TEST(many_threads_get_the_same_bytes)
{
    struct crowd *c = malloc(sizeof *c);
    c->x = bed_new();
    blas_gemm_nt(c->x->c, c->x->a, c->x->b, 64, 64, 64, 0.0f);
    pool_run(64, 4, one_product, c);
    for (int i = 0; i < 64; i++)
        ck_assert_mem_eq(c->out[i], c->x->c, sizeof c->out[i]);
    free(c->x);
    free(c);
}

TEST(the_kernels_are_named)
{
    ck_assert_ptr_nonnull(strstr(blas_config(), "OpenBLAS"));
}

SUITE_WITHIN(nn_blas, 60, TIMES(products_equal_plain_loops, N_SIZES),
             TIMES(vectors_equal_plain_loops, N_SIZES), empty_outputs_are_legal,
             many_threads_get_the_same_bytes, the_kernels_are_named);
