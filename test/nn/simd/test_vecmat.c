#include "nn/simd/vecmat.h"

#include "base/rng.h"

#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 131, OUT = 300 };

static void random_layer(float *w, float *b, float *x, int in, int out, struct rng *r)
{
    for (int i = 0; i < in * out; i++)
        w[i] = (float)rng_normal(r);
    for (int i = 0; i < out; i++)
        b[i] = (float)rng_normal(r);
    /* a third of the inputs is not there, one of them as -0 */
    for (int j = 0; j < in; j++)
        x[j] = rng_below(r, 3) ? (float)rng_normal(r) : j % 2 ? 0.0f : -0.0f;
}

/* Every kernel that runs here against sums in double over the unpacked weights. */
TEST(products_equal_plain_loops)
{
    static const int ins[] = {1, 7, 16, 48, 128, IN};
    static const int outs[] = {1, 3, 12, 16, 17, 18, 33, 64, 100, 128, 129, 255, OUT};
    static float w[IN * OUT], wt[IN * (OUT + 16)], b[OUT + 16], x[IN], y[OUT + 16];
    struct rng r;
    rng_init(&r, 1, 0);
    const struct vecmat_kernel *k;
    const char *last = "";
    for (int which = 0; (k = vecmat_kernel(which)); last = k->isa, which++)
        for (size_t a = 0; a < sizeof ins / sizeof *ins; a++)
            for (size_t c = 0; c < sizeof outs / sizeof *outs; c++) {
                int in = ins[a], out = outs[c], pad = vecmat_pad(out),
                    at[IN + VECMAT_LANES];
                memset(b, 0, sizeof b);
                random_layer(w, b, x, in, out, &r);
                vecmat_pack(wt, w, in, out);
                int n = k->nonzero(at, x, in), seen = 0;
                for (int j = 0; j < in; j++)
                    if (x[j] != 0.0f) ck_assert_int_eq(at[seen++], j);
                ck_assert_int_eq(n, seen);
                ck_assert_int_eq(at[n], 0);

                bool relu = c % 2;
                k->affine(y, wt, b, x, at, n, pad, relu);
                for (int i = 0; i < pad; i++) {
                    double want = i < out ? (double)b[i] : 0.0, size = fabs(want);
                    for (int j = 0; i < out && j < in; j++) {
                        double term = (double)w[i * in + j] * (double)x[j];
                        want += term;
                        size += fabs(term);
                    }
                    if (relu && want < 0.0) want = 0.0;
                    ck_assert_msg(fabs((double)y[i] - want) <= 1e-6 * size + 1e-12,
                                  "%s, %d to %d, output %d: %.9g, not %.9g", k->isa, in,
                                  out, i, (double)y[i], want);
                }
            }
    ck_assert_str_eq(last, "base"); /* runs everywhere */
}

/* y of the header's equation, integers first; what the kernels do to the last bit */
static float plain_quant(const struct vecmat_quant *m, const int *at, const int16_t *q,
                         float step, int n, int i, bool relu)
{
    int64_t sum = 0;
    for (int e = 0; e < n; e++)
        sum += m->q[at[e] * m->pad + vecmat_word(i)] * q[e];
    ck_assert_int_eq(sum, (int32_t)sum);
    float y = (float)sum * (step * m->step[i]);
    y += m->bias[i];
    return relu && y < 0.0f ? 0.0f : y;
}

static void check_entries(const int16_t *q, const int *at, float step, const float *x,
                          int n)
{
    int64_t size = 0;
    for (int e = 0; e < n; e++) {
        double whole = (double)x[at[e]] / (double)step;
        ck_assert_msg(fabs(q[e] - whole) <= .501, "%d for %g", q[e], whole);
        ck_assert_int_le(abs(q[e]), VECMAT_ENTRY_MAX);
        size += abs(q[e]);
    }
    ck_assert_int_eq(q[n], 0);
    ck_assert_int_le(size, VECMAT_SUM_MAX);
}

TEST(quantized_products_equal_integer_sums)
{
    static const int ins[] = {1, 7, 16, 48, 128, IN};
    static const int outs[] = {1, 18, 32, 33, 64, 96, 100, 128, 129, 255, OUT};
    static float w[IN * OUT], b[OUT + VECMAT_BLOCK], step[OUT + VECMAT_BLOCK], x[IN];
    static float y[OUT + VECMAT_BLOCK];
    static int16_t rows[IN * (OUT + VECMAT_BLOCK)], q[IN + VECMAT_LANES];
    int at[IN + VECMAT_LANES];
    struct rng r;
    rng_init(&r, 3, 0);
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++)
        for (size_t a = 0; a < sizeof ins / sizeof *ins; a++)
            for (size_t c = 0; c < sizeof outs / sizeof *outs; c++) {
                int in = ins[a], out = outs[c];
                struct vecmat_quant m = {rows, step, b, vecmat_quant_pad(out)};
                memset(b, 0, sizeof b);
                random_layer(w, b, x, in, out, &r);
                vecmat_quant_pack(rows, step, w, in, out);
                int n = k->nonzero(at, x, in);
                struct vecmat_entries e = {at, q, k->quantize(q, x, in), n};
                check_entries(q, at, e.step, x, n);
                bool relu = c % 2;
                k->quant_affine(y, &m, &e, relu);
                for (int i = 0; i < m.pad; i++) {
                    float same = plain_quant(&m, at, q, e.step, n, i, relu);
                    ck_assert_msg(y[i] == same, "%s, %d to %d, output %d: %.9g, not %.9g",
                                  k->isa, in, out, i, (double)y[i], (double)same);
                    if (i >= out) continue;
                    /* half a step of every weight, half a step of every entry */
                    double want = (double)b[i], off = 1e-6;
                    for (int j = 0; j < in; j++) {
                        double wj = (double)w[i * in + j], xj = (double)x[j];
                        want += wj * xj;
                        off += .51 * (double)step[i] * fabs(xj) +
                               .51 * (double)e.step * fabs(wj);
                    }
                    if (relu && want < 0.0) want = 0.0;
                    ck_assert_msg(fabs((double)y[i] - want) <= off,
                                  "%s, %d to %d: off by %g, not %g", k->isa, in, out,
                                  (double)y[i] - want, off);
                }
            }
}

/* All weights and entries alike: the largest sums there are. */
TEST(quantized_sums_stay_within_32_bits)
{
    enum { MANY = 4096 };
    static int16_t rows[MANY * VECMAT_BLOCK], q[MANY + VECMAT_LANES];
    static float w[MANY * VECMAT_BLOCK], x[MANY], y[VECMAT_BLOCK];
    static int at[MANY + VECMAT_LANES];
    float step[VECMAT_BLOCK], b[VECMAT_BLOCK] = {0};
    struct vecmat_quant m = {rows, step, b, VECMAT_BLOCK};
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++)
        for (int in = 1; in <= MANY; in *= 4) {
            for (int j = 0; j < in; j++)
                x[j] = -7.0f;
            for (int j = 0; j < in * VECMAT_BLOCK; j++)
                w[j] = 3e-5f;
            vecmat_quant_pack(rows, step, w, in, VECMAT_BLOCK);
            int n = k->nonzero(at, x, in);
            struct vecmat_entries e = {at, q, k->quantize(q, x, in), n};
            check_entries(q, at, e.step, x, n);
            k->quant_affine(y, &m, &e, false);
            for (int i = 0; i < VECMAT_BLOCK; i++)
                ck_assert_double_eq_tol((double)y[i] / (in * -21e-5), 1.0, .01);
        }
}

TEST(quantized_edges)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    int16_t rows[20 * VECMAT_BLOCK], q[20 + VECMAT_LANES];
    float w[20 * VECMAT_BLOCK], y[VECMAT_BLOCK], step[VECMAT_BLOCK];
    float b[VECMAT_BLOCK] = {0, 0, 0, -2.0f};
    int at[20 + VECMAT_LANES];
    for (int i = 0; i < 20 * VECMAT_BLOCK; i++)
        w[i] = i < 20 ? 0.0f : -1.0f; /* the first column is empty */
    vecmat_quant_pack(rows, step, w, 20, VECMAT_BLOCK);
    struct vecmat_quant m = {rows, step, b, VECMAT_BLOCK};
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++) {
        /* nothing that is finite may come of what is not, a ReLU notwithstanding */
        for (int i = 0; i < 60; i++) {
            float x[20] = {[3] = 1.0f, [11] = -2.0f};
            x[i % 20] = bad[i / 20];
            int n = k->nonzero(at, x, 20);
            struct vecmat_entries e = {at, q, k->quantize(q, x, 20), n};
            ck_assert(isnan(e.step));
            k->quant_affine(y, &m, &e, true);
            for (int c = 0; c < VECMAT_BLOCK; c++)
                ck_assert(isnan(y[c]));
        }
        /* nothing at all, and so little that its inverse would be infinite: the bias */
        for (int i = 0; i < 2; i++) {
            float x[20] = {[3] = i ? 1e-42f : -0.0f};
            int n = k->nonzero(at, x, 20);
            ck_assert_int_eq(n, i);
            struct vecmat_entries e = {at, q, k->quantize(q, x, 20), n};
            k->quant_affine(y, &m, &e, false);
            ck_assert(y[0] == 0.0f && y[3] == -2.0f);
        }
    }
    for (int c = 0, seen[64] = {0}; c < 64; c++)
        ck_assert_int_eq(seen[vecmat_word(c)]++, 0);
}

TEST(softmax_equals_the_definition)
{
    struct rng r;
    rng_init(&r, 2, 0);
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++)
        for (int i = 0; i < 2000; i++) {
            int n = 1 + (int)rng_below(&r, 64), pad = vecmat_pad(n);
            float x[64], p[64], sum;
            uint64_t mask = 0;
            double scale = exp(rng_range(&r, -8, 4)), most = -INFINITY, total = 0.0;
            for (int j = 0; j < pad; j++) {
                bool there = j == 0 || (j < n && rng_below(&r, 4));
                x[j] = (float)(scale * rng_normal(&r));
                if (!there && rng_below(&r, 4) == 0) x[j] = NAN; /* is not looked at */
                if (there) most = fmax(most, (double)x[j]);
                mask |= (uint64_t)there << j;
            }
            for (int j = 0; j < pad; j++)
                if (mask >> j & 1) total += exp((double)x[j] - most);
            float top = k->softmax(p, &sum, x, pad, mask);
            ck_assert(top == (float)most);
            ck_assert_double_eq_tol((double)sum / total, 1.0, 5e-7);
            for (int j = 0; j < pad; j++) {
                bool there = mask >> j & 1;
                double below = there ? most - (double)x[j] : 1e9;
                double want = exp(-below) / total;
                ck_assert_msg(fabs((double)p[j] - want) <=
                                  (5e-7 + 1e-7 * fmin(below, 100)) * want + 1e-30,
                              "%s: p(%g below the top) %.9g, not %.9g", k->isa, below,
                              (double)p[j], want);
                if (!there) ck_assert(p[j] == 0.0f);
            }
        }
}

TEST(what_is_not_finite_shows)
{
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++) {
        float x[48] = {0}, w[48 * 16], b[16] = {0}, y[16], p[16], sum;
        int at[48 + VECMAT_LANES];
        for (int i = 0; i < 48 * 16; i++)
            w[i] = 1.0f;
        x[40] = NAN;
        ck_assert_int_eq(k->nonzero(at, x, 48), 1);
        ck_assert_int_eq(at[0], 40);
        k->affine(y, w, b, x, at, 1, 16, true);
        ck_assert(isnan(y[0]) && isnan(y[15]));
        /* no input at all: the bias */
        b[3] = -2.0f;
        k->affine(y, w, b, x, at, 0, 16, false);
        ck_assert(y[3] == -2.0f && y[4] == 0.0f);

        static const float bad[] = {NAN, INFINITY};
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 16; j++) {
                float z[16] = {1.0f, 2.0f};
                z[j] = bad[i];
                k->softmax(p, &sum, z, 16, 0xffff);
                for (int l = 0; l < 16; l++)
                    ck_assert_msg(!isfinite(p[l]) || (i == 1 && l != j),
                                  "%s: lane %d of %d", k->isa, l, j);
                ck_assert(!isfinite(sum));
            }
    }
}

SUITE(nn_simd_vecmat, products_equal_plain_loops, quantized_products_equal_integer_sums,
      quantized_sums_stay_within_32_bits, quantized_edges, softmax_equals_the_definition,
      what_is_not_finite_shows);
