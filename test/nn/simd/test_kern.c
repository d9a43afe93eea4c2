/* Every table that this CPU can run, against plain loops in double. */
#include "nn/simd/kern.h"

#include "base/rng.h"
#include "nn/act.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TABLES = 3, GUARD = 20 };
static const float MARK = 12345.0f;

/* NULL: this CPU cannot; the plain table is always there */
static const struct kern *table(int i)
{
    const struct kern *k = i < TABLES ? kern_get(i) : NULL;
    ck_assert(k || i > 0);
    return k;
}

static float *draw(size_t n, struct rng *r)
{
    float *x = calloc(n + 1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)rng_normal(r);
    return x;
}

/* ---- products ---- */

static double element(const struct kern_product *p, const float *before, int i, int j)
{
    size_t at = (size_t)i * (size_t)p->n + (size_t)j;
    double sum = p->add ? (double)before[at] : p->bias ? (double)p->bias[j] : 0.0;
    for (int l = 0; l < p->k; l++)
        sum += (double)p->a[p->a_transposed ? l * p->m + i : i * p->k + l] *
               (double)p->b[p->b_transposed ? j * p->k + l : l * p->n + j];
    if (p->relu && sum < 0.0) sum = 0.0;
    if (p->gate && !(p->gate[at] > 0.0f)) sum = 0.0;
    return sum;
}

/* a form: bit 0 A transposed, 1 B transposed, 2 add, 3 bias, 4 relu, 5 gate */
static void try_product(const struct kern *k, int m, int n, int depth, int form)
{
    struct rng r;
    rng_init(&r, 3, (uint64_t)(m * 1000 + n));
    size_t all = (size_t)m * (size_t)n;
    struct kern_product p = {.m = m,
                             .n = n,
                             .k = depth,
                             .a_transposed = form & 1,
                             .b_transposed = form & 2,
                             .add = form & 4,
                             .relu = form & 16};
    float *a = draw((size_t)m * (size_t)depth, &r);
    float *b = draw((size_t)depth * (size_t)n, &r);
    float *bias = draw((size_t)n, &r), *gate = draw(all, &r);
    float *before = draw(all, &r), *c = malloc((all + 2 * GUARD) * sizeof *c);
    ck_assert_ptr_nonnull(c);
    for (size_t i = 0; i < all + 2 * GUARD; i++)
        c[i] = MARK;
    memcpy(c + GUARD, before, all * sizeof *c);
    p.c = c + GUARD, p.a = a, p.b = b;
    if (form & 8) p.bias = bias;
    if (form & 32) p.gate = gate;

    k->product(&p);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            ck_assert_double_eq_tol((double)p.c[i * n + j], element(&p, before, i, j),
                                    1e-6 * (10 + depth));
    for (int i = 0; i < GUARD; i++) {
        ck_assert_float_eq(c[i], MARK);
        ck_assert_float_eq(c[GUARD + all + (size_t)i], MARK);
    }
    free(a), free(b), free(bias), free(gate), free(before), free(c);
}

TEST(products_equal_plain_loops)
{
    const struct kern *k = table(_i);
    if (!k) return;
    static const int forms[] = {0, 1, 2, 4, 5, 2 | 8 | 16, 32, 2 | 8, 16 | 32};
    static const int sizes[] = {1, 2, 3, 7, 8, 13, 18, 31, 64, 65};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (int i = 0; i < 10; i++)
            for (int j = 0; j < 10; j++)
                try_product(k, sizes[i], sizes[j], sizes[(i * 3 + j) % 10], forms[f]);
    for (int f = 0; f < 6; f++) { /* several panels, several passes over k */
        try_product(k, 29, 200, 170, forms[f]);
        try_product(k, 3, 136, 330, forms[f]);
        try_product(k, 0, 5, 5, forms[f]);
        try_product(k, 5, 0, 5, forms[f]);
    }
}

/* n floats, the last of which ends at a page that nobody may touch */
static float *before_a_wall(char *pages, size_t page, size_t n)
{
    ck_assert_uint_le(n * sizeof(float), page);
    return (float *)(void *)(pages + page) - n;
}

/* B in place is read without a mask except where its end is near. The rows behind hold NaN. */
TEST(no_product_touches_what_lies_behind)
{
    const struct kern *k = table(_i);
    if (!k || _i == 0) return; /* BLAS is not ours */
    enum { ARRAYS = 4, PAGES = 4 };
    size_t page = PAGES * (size_t)sysconf(_SC_PAGESIZE);
    char *at[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        at[i] = mmap(NULL, page + page / PAGES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ck_assert(at[i] != MAP_FAILED &&
                  !mprotect(at[i] + page, page / PAGES, PROT_NONE));
    }
    for (int n = 1; n <= 50; n++)
        for (int depth = 1; depth <= 12; depth++)
            for (int form = 0; form < 2; form++) {
                int m = 5;
                size_t all = (size_t)m * (size_t)n;
                float *a = before_a_wall(at[0], page, (size_t)m * (size_t)depth);
                float *b = before_a_wall(at[1], page, (size_t)n * (size_t)depth);
                float *c = before_a_wall(at[2], page, all);
                float *gate = before_a_wall(at[3], page, all);
                for (int i = 0; i < m * depth; i++)
                    a[i] = 1;
                for (int i = 0; i < n * depth; i++) /* the other columns are poison */
                    b[i] = (form ? i / depth : i % n) == n / 2 ? 2 : NAN;
                for (size_t i = 0; i < all; i++)
                    gate[i] = 1;
                k->product(&(struct kern_product){.c = c,
                                                  .a = a,
                                                  .b = b,
                                                  .gate = gate,
                                                  .m = m,
                                                  .n = n,
                                                  .k = depth,
                                                  .b_transposed = form});
                for (int i = 0; i < m; i++)
                    for (int j = 0; j < n; j++)
                        ck_assert(j == n / 2 ? c[i * n + j] == 2.0f * (float)depth
                                             : isnan(c[i * n + j]));
            }
    for (int i = 0; i < ARRAYS; i++)
        munmap(at[i], page + page / PAGES);
}

/* the same row alone, and among others: the same bytes */
TEST(rows_of_a_wide_product_are_independent)
{
    const struct kern *k = table(_i);
    if (!k || _i == 0) return; /* BLAS makes no such promise */
    enum { M = 37, N = 50, K = 70 };
    struct rng r;
    rng_init(&r, 8, 0);
    float *a = draw(M * K, &r), *b = draw(N * K, &r), all[M * N], some[M * N];
    struct kern_product p = {
        .c = all, .a = a, .b = b, .m = M, .n = N, .k = K, .b_transposed = true};
    k->product(&p);
    p.c = some;
    for (p.m = 1; p.m < M; p.m += 5) {
        p.a = a + (M - p.m) * K;
        k->product(&p);
        ck_assert_mem_eq(some, all + (M - p.m) * N, sizeof(float) * (size_t)(p.m * N));
    }
    free(a), free(b);
}

TEST(what_is_not_finite_passes_through)
{
    const struct kern *k = table(_i);
    if (!k) return;
    float a[2] = {NAN, 1.0f}, b[2] = {1.0f, INFINITY}, c[4];
    struct kern_product p = {.c = c, .a = a, .b = b, .m = 2, .n = 2, .k = 1};
    p.relu = true;
    k->product(&p);
    ck_assert(isnan(c[0]) && isnan(c[1]));
    ck_assert_float_eq(c[2], 1.0f);
    ck_assert(isinf(c[3]));

    float bad[40] = {[33] = NAN};
    ck_assert(isnan(k->sumsq(bad, 40)));
    float theta[3] = {1, 1, 1}, m[3] = {0}, v[3] = {0}, g[3] = {1, NAN, 0};
    struct kern_adam s = {1, 0, .9f, .99f, .1f, .01f, .1f, 10, 1e-8f, 0, 0};
    k->adam(theta, m, v, g, 3, &s);
    ck_assert(isfinite(theta[0]) && isnan(theta[1]));
    ck_assert_float_eq(theta[2], 1.0f);

    float logits[3] = {0.0f, NAN, 1.0f}, prob[3], logp[3], entropy;
    uint32_t mask = 7;
    k->softmax(prob, logp, &entropy, logits, &mask, 1, 3);
    ck_assert(isnan(entropy) && isnan(logp[0]) && isnan(prob[0]));
    mask = 5; /* one that does not count */
    k->softmax(prob, logp, &entropy, logits, &mask, 1, 3);
    ck_assert(isfinite(entropy) && isfinite(logp[0]));
}

/* ---- one row, and rows by number ---- */

TEST(one_row_equals_plain_loops)
{
    const struct kern *k = table(_i);
    if (!k) return;
    static const int sizes[] = {1, 2, 7, 8, 15, 16, 17, 18, 33, 48, 130};
    struct rng r;
    rng_init(&r, 6, 1);
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < 11; j++) {
            int out = sizes[i], in = sizes[j];
            float *w = draw((size_t)(out * in), &r), *b = draw((size_t)out, &r);
            float *x = draw((size_t)in, &r), y[131];
            for (int relu = 0; relu < 2; relu++) {
                y[out] = MARK;
                k->affine(y, w, b, x, out, in, relu);
                for (int o = 0; o < out; o++) {
                    double want = (double)b[o];
                    for (int l = 0; l < in; l++)
                        want += (double)w[o * in + l] * (double)x[l];
                    if (relu && want < 0.0) want = 0.0;
                    ck_assert_double_eq_tol((double)y[o], want, 1e-6 * (10 + in));
                }
                ck_assert_float_eq(y[out], MARK);
            }
            free(w), free(b), free(x);
        }
    float w[2] = {NAN, 1.0f}, b[2] = {0.0f, 0.0f}, x = 2.0f, y[2];
    k->affine(y, w, b, &x, 2, 1, true);
    ck_assert(isnan(y[0]));
    ck_assert_float_eq(y[1], 2.0f);
}

TEST(rows_are_gathered_in_order)
{
    const struct kern *k = table(_i);
    if (!k) return;
    static const int order[] = {3, 0, 3, 6, 1};
    for (int dim = 1; dim < 40; dim++) {
        struct rng r;
        rng_init(&r, 7, (uint64_t)dim);
        float *rows = draw((size_t)(7 * dim), &r), out[5 * 40 + 1];
        out[5 * dim] = MARK;
        k->gather(out, rows, order, 5, dim);
        for (int i = 0; i < 5; i++)
            ck_assert_mem_eq(out + i * dim, rows + order[i] * dim,
                             sizeof(float) * (size_t)dim);
        ck_assert_float_eq(out[5 * dim], MARK);
        free(rows);
    }
}

/* as act_argmax chooses */
TEST(choice_is_the_first_of_the_largest)
{
    const struct kern *k = table(_i);
    if (!k) return;
    static const int widths[] = {1, 2, 3, 17, 64};
    for (int w = 0; w < 5; w++) {
        enum { MOST = 35 };
        int n = widths[w], at[MOST + 1];
        struct rng r;
        rng_init(&r, 9, (uint64_t)n);
        float *x = draw((size_t)(MOST * n), &r), *z = draw((size_t)(MOST * n), &r);
        for (int i = 0; i < MOST * n; i++) {
            x[i] = roundf(x[i]), z[i] = roundf(z[i]); /* many are equal */
            if (i % 11 == 0) x[i] = NAN;
        }
        for (int j = 0; j < n; j++)
            x[4 * n + j] = NAN, x[5 * n + j] = -INFINITY;
        for (int rows = 1; rows <= MOST; rows += 17)
            for (int with = 0; with < 2; with++) {
                at[rows] = -7;
                k->choose(at, x, with ? z : NULL, rows, n);
                for (int i = 0; i < rows; i++) {
                    float sum[64];
                    for (int j = 0; j < n; j++)
                        sum[j] = x[i * n + j] + (with ? z[i * n + j] : 0.0f);
                    ck_assert_int_eq(at[i], act_argmax(sum, n));
                }
                ck_assert_int_eq(at[rows], -7);
            }
        free(x), free(z);
    }
}

/* ---- elementwise ---- */

TEST(sums_equal_plain_loops)
{
    const struct kern *k = table(_i);
    if (!k) return;
    struct rng r;
    rng_init(&r, 2, 2);
    float *x = draw(70 * 19, &r), s[19];
    double want[19], all = 0.0;
    for (int j = 0; j < 19; j++)
        s[j] = MARK, want[j] = 0.0;
    for (int i = 0; i < 70 * 19; i++) {
        want[i % 19] += (double)x[i];
        all += (double)x[i] * (double)x[i];
    }
    k->colsum(s, x, 70, 19);
    for (int j = 0; j < 19; j++)
        ck_assert_double_eq_tol((double)s[j], want[j], 1e-4);
    ck_assert_double_eq_tol(k->sumsq(x, 70 * 19), all, 1e-6 * all);
    ck_assert_double_eq(k->sumsq(x, 0), 0.0);
    ck_assert_double_eq_tol(k->sumsq(x, 1), (double)x[0] * (double)x[0], 1e-6);
    free(x);
}

TEST(adam_equals_a_loop_in_double)
{
    const struct kern *k = table(_i);
    if (!k) return;
    enum { N = 53 };
    struct rng r;
    rng_init(&r, 2, 3);
    float *g = draw(N, &r), *theta = draw(N + 1, &r), m[N], v[N];
    struct kern_adam c = {.5f, .01f, .9f, .99f, .1f, .01f, .003f, 3.0f, 1e-5f, 0, 0};
    for (int i = 0; i < N; i++) {
        m[i] = .1f * g[N - 1 - i];
        v[i] = i % 5 ? .2f * g[i] * g[i] : 1e-30f;
        if (i % 7 == 0) g[i] *= 1e-12f;
    }
    float end = theta[N];
    double want[N];
    for (int i = 0; i < N; i++) {
        double t = (double)theta[i], gi = .5 * (double)g[i] + (double)c.decay * t;
        double mi = (double)c.beta1 * (double)m[i] + (double)c.c1 * gi;
        double vi = (double)c.beta2 * (double)v[i] + (double)c.c2 * gi * gi;
        want[i] = t - (double)c.rate * mi / (sqrt(vi) * 3.0 + (double)c.eps);
    }
    k->adam(theta, m, v, g, N, &c);
    for (int i = 0; i < N; i++)
        ck_assert_double_eq_tol((double)theta[i], want[i], 3e-7 * (1 + fabs(want[i])));
    ck_assert_float_eq(theta[N], end);
    free(g), free(theta);
}

/* with noise: the same bytes for the moments, and the noise on top of the step */
TEST(adam_with_noise_is_adam_and_noise)
{
    const struct kern *k = table(_i);
    if (!k) return;
    enum { N = 171 };
    struct rng r;
    rng_init(&r, 2, 5);
    float *g = draw(N, &r), *one = draw(N, &r), two[N], m[2][N] = {0}, v[2][N] = {0};
    memcpy(two, one, sizeof two);
    struct kern_adam c = {1, 0, .9f, .99f, .1f, .01f, .003f, 3.0f, 1e-5f, .5f, 11};
    k->adam(one, m[0], v[0], g, N, &c);
    c.noise = 0.0f;
    k->adam(two, m[1], v[1], g, N, &c);
    k->noise(two, N, .5f, 11);
    ck_assert_mem_eq(m[0], m[1], sizeof m[0]);
    ck_assert_mem_eq(v[0], v[1], sizeof v[0]);
    for (int i = 0; i < N; i++)
        ck_assert_double_eq_tol((double)one[i], (double)two[i], 1e-6);
    free(g), free(one);
}

TEST(exp_is_that_of_the_library)
{
    const struct kern *k = table(_i);
    if (!k) return;
    float x[1001], y[1001];
    for (int i = 0; i <= 1000; i++)
        x[i] = -87.0f + 0.175f * (float)i;
    k->exp(y, x, 1001);
    for (int i = 0; i <= 1000; i++) {
        double want = exp((double)x[i]);
        ck_assert_double_eq_tol((double)y[i] / want, 1.0, 3e-7);
    }
    float zero = 0.0f;
    k->exp(&zero, &zero, 1);
    ck_assert_float_eq(zero, 1.0f);
}

TEST(softmax_equals_plain_loops)
{
    const struct kern *k = table(_i);
    if (!k) return;
    enum { ROWS = 35, N = 12 };
    struct rng r;
    rng_init(&r, 4, 4);
    float *x = draw(ROWS * N, &r), p[ROWS * N], logp[ROWS * N], h[ROWS];
    uint32_t mask[ROWS];
    for (int i = 0; i < ROWS; i++) {
        mask[i] = (1u << (1 + i % N)) - 1;
        if (i % 3 == 0) mask[i] = 0x801;
        for (int j = 0; j < N; j++)
            x[i * N + j] = x[i * N + j] * (float)(1 + i) + 20.0f * (float)(i % 4);
    }
    k->softmax(p, logp, h, x, mask, ROWS, N);
    for (int i = 0; i < ROWS; i++) {
        double top = -INFINITY, sum = 0.0, entropy = 0.0;
        for (int j = 0; j < N; j++)
            if (mask[i] >> j & 1) top = fmax(top, (double)x[i * N + j]);
        for (int j = 0; j < N; j++)
            if (mask[i] >> j & 1) sum += exp((double)x[i * N + j] - top);
        for (int j = 0; j < N; j++) {
            bool on = mask[i] >> j & 1;
            double l = (double)x[i * N + j] - top - log(sum);
            ck_assert_double_eq_tol((double)p[i * N + j], on ? exp(l) : 0.0, 3e-7);
            ck_assert_double_eq_tol((double)logp[i * N + j], on ? l : 0.0, 2e-5);
            if (on) entropy -= exp(l) * l;
        }
        ck_assert_double_eq_tol((double)h[i], entropy, 2e-6);
    }

    /* one row is the same bytes alone */
    float one[N], lone[N], h1;
    k->softmax(one, lone, &h1, x + 19 * N, mask + 19, 1, N);
    ck_assert_mem_eq(one, p + 19 * N, sizeof one);
    ck_assert_mem_eq(lone, logp + 19 * N, sizeof lone);
    ck_assert_float_eq(h1, h[19]);
    free(x);
}

/* ---- noise ---- */

enum { DRAWS = 300000 };

static int rising(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Moments and tails within five standard errors, and Kolmogorov and Smirnov's distance,
 * whose chance of passing 1.95 / sqrt(n) is one in a thousand: as a double-precision Box
 * and Muller (base/rng) must do on the same test. */
static void check_normal(float *x)
{
    double sum[5] = {0}, n = DRAWS;
    double above1 = 0, above3 = 0, above4 = 0;
    for (int i = 0; i < DRAWS; i++) {
        double v = (double)x[i];
        sum[1] += v, sum[2] += v * v, sum[3] += v * v * v, sum[4] += v * v * v * v;
        above1 += fabs(v) > 1.0, above3 += fabs(v) > 3.0, above4 += fabs(v) > 4.0;
    }
    ck_assert_double_eq_tol(sum[1] / n, 0.0, 5 / sqrt(n));
    ck_assert_double_eq_tol(sum[2] / n, 1.0, 5 * sqrt(2 / n));
    ck_assert_double_eq_tol(sum[3] / n, 0.0, 5 * sqrt(15 / n));
    ck_assert_double_eq_tol(sum[4] / n, 3.0, 5 * sqrt(96 / n));
    ck_assert_double_eq_tol(above1 / n, 0.3173105, 5 * sqrt(.22 / n));
    ck_assert_double_eq_tol(above3 / n, 0.0026998, 5 * sqrt(.0027 / n));
    ck_assert_double_eq_tol(above4 / n, 0.00006334, 5 * sqrt(.000064 / n));

    qsort(x, DRAWS, sizeof *x, rising);
    double distance = 0.0;
    for (int i = 0; i < DRAWS; i++) {
        double f = 0.5 * erfc(-(double)x[i] / sqrt(2.0));
        distance = fmax(distance, fmax(f - i / n, (i + 1) / n - f));
    }
    ck_assert_double_lt(distance, 1.95 / sqrt(n));
}

static double correlation(const float *x, const float *y, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += (double)x[i] * (double)y[i];
    return sum / n;
}

TEST(noise_is_normal)
{
    const struct kern *k = table(_i);
    if (!k) return;
    float *x = calloc(DRAWS, sizeof *x), *y = calloc(DRAWS, sizeof *y);
    ck_assert(x && y);
    k->noise(x, DRAWS, 1.0f, 77);
    k->noise(y, DRAWS, 1.0f, 78); /* the next key is another stream */

    /* neighbours, the streams' period of 16, the two halves of a pair, the next block, and
     * squares, where Box and Muller's pairs would show */
    static const int lags[] = {1, 2, 15, 16, 17, 128, 256};
    double limit = 5 / sqrt(DRAWS - 256);
    for (int i = 0; i < 7; i++)
        ck_assert_double_lt(fabs(correlation(x, x + lags[i], DRAWS - 256)), limit);
    ck_assert_double_lt(fabs(correlation(x, y, DRAWS)), limit);
    for (int i = 0; i < DRAWS; i++)
        y[i] = x[i] * x[i] - 1.0f;
    for (int i = 0; i < 7; i++)
        ck_assert_double_lt(fabs(correlation(y, y + lags[i], DRAWS - 256)), 2 * limit);

    check_normal(x);

    /* the first numbers of keys in a row: as if of one stream */
    memset(x, 0, DRAWS * sizeof *x);
    for (int i = 0; i < DRAWS; i += 10)
        k->noise(x + i, 10, 1.0f, (uint64_t)i / 10);
    ck_assert_double_lt(fabs(correlation(x, x + 10, DRAWS - 256)), limit);
    check_normal(x);
    free(y);

    struct rng r;
    rng_init(&r, 5, 0);
    for (int i = 0; i < DRAWS; i++)
        x[i] = (float)rng_normal(&r);
    check_normal(x);
    free(x);
}

TEST(noise_of_every_table_is_the_same)
{
    const struct kern *k = table(_i);
    if (!k) return;
    float x[1000], y[1000];
    for (int i = 0; i < 1000; i++)
        x[i] = y[i] = (float)i;
    table(0)->noise(x, 999, 0.5f, 3);
    k->noise(y, 999, 0.5f, 3);
    int moved = 0;
    for (int i = 0; i < 999; i++) {
        ck_assert_double_eq_tol((double)x[i], (double)y[i], 3e-7 * (1000 + i));
        moved += fabs((double)x[i] - i) > 1e-3;
    }
    ck_assert_int_gt(moved, 980);
    ck_assert_float_eq(y[999], 999.0f);

    /* enough of them for the far tails, which a table of its own may serve */
    float *far = calloc(2 * DRAWS, sizeof *far), *near = far + DRAWS, most = 0;
    ck_assert_ptr_nonnull(far);
    table(0)->noise(far, DRAWS, 1.0f, 4);
    k->noise(near, DRAWS, 1.0f, 4);
    for (int i = 0; i < DRAWS; i++) {
        ck_assert_double_eq_tol((double)far[i], (double)near[i], 3e-6);
        most = fmaxf(most, fabsf(far[i]));
    }
    ck_assert_float_gt(most, 4.2f); /* of p below 2^-15 */
    free(far);

    /* a shorter range gets the first of the same numbers */
    for (int n = 0; n < 300; n += 37) {
        float z[300] = {0}, whole[300] = {0};
        k->noise(z, (size_t)n, 1.0f, 9);
        k->noise(whole, 300, 1.0f, 9);
        ck_assert_mem_eq(z, whole, sizeof(float) * (size_t)n);
        for (int i = n; i < 300; i++)
            ck_assert_float_eq(z[i], 0.0f);
    }
}

TEST(tables_are_in_order)
{
    ck_assert_str_eq(kern_get(0)->name, "plain");
    ck_assert_ptr_null(kern_get(TABLES));
    const struct kern *last = kern_get(0);
    for (int i = 1; i < TABLES; i++)
        if (kern_get(i)) last = kern_get(i);
    ck_assert_ptr_eq(kern_best(), last);
}

SUITE(nn_simd_kern, TIMES(products_equal_plain_loops, TABLES),
      TIMES(no_product_touches_what_lies_behind, TABLES),
      TIMES(rows_of_a_wide_product_are_independent, TABLES),
      TIMES(what_is_not_finite_passes_through, TABLES),
      TIMES(one_row_equals_plain_loops, TABLES),
      TIMES(rows_are_gathered_in_order, TABLES),
      TIMES(choice_is_the_first_of_the_largest, TABLES),
      TIMES(sums_equal_plain_loops, TABLES), TIMES(adam_equals_a_loop_in_double, TABLES),
      TIMES(adam_with_noise_is_adam_and_noise, TABLES),
      TIMES(exp_is_that_of_the_library, TABLES),
      TIMES(softmax_equals_plain_loops, TABLES), TIMES(noise_is_normal, TABLES),
      TIMES(noise_of_every_table_is_the_same, TABLES), tables_are_in_order);
