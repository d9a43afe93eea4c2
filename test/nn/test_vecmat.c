#include "nn/vecmat.h"

#include "base/rng.h"

#include <check.h>
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
START_TEST(products_equal_plain_loops)
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
                int in = ins[a], out = outs[c], pad = vecmat_pad(out), at[IN];
                memset(b, 0, sizeof b);
                random_layer(w, b, x, in, out, &r);
                vecmat_pack(wt, w, in, out);
                int n = k->nonzero(at, x, in), seen = 0;
                for (int j = 0; j < in; j++)
                    if (x[j] != 0.0f) ck_assert_int_eq(at[seen++], j);
                ck_assert_int_eq(n, seen);

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
END_TEST

START_TEST(softmax_equals_the_definition)
{
    struct rng r;
    rng_init(&r, 2, 0);
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++)
        for (int i = 0; i < 2000; i++) {
            int n = 1 + (int)rng_below(&r, 64), pad = vecmat_pad(n);
            float x[64], p[64], sum;
            double scale = exp(rng_range(&r, -8, 4)), most = -INFINITY, total = 0.0;
            for (int j = 0; j < pad; j++) {
                bool there = j == 0 || (j < n && rng_below(&r, 4));
                x[j] = there ? (float)(scale * rng_normal(&r)) : -INFINITY;
                most = fmax(most, (double)x[j]);
            }
            for (int j = 0; j < pad; j++)
                total += exp((double)x[j] - most);
            float top = k->softmax(p, &sum, x, pad);
            ck_assert(top == (float)most);
            ck_assert_double_eq_tol((double)sum / total, 1.0, 5e-7);
            for (int j = 0; j < pad; j++) {
                double below = most - (double)x[j], want = exp(-below) / total;
                ck_assert_msg(fabs((double)p[j] - want) <=
                                  (5e-7 + 1e-7 * fmin(below, 100)) * want + 1e-30,
                              "%s: p(%g below the top) %.9g, not %.9g", k->isa,
                              most - (double)x[j], (double)p[j], want);
                if (!isfinite(x[j])) ck_assert(p[j] == 0.0f);
            }
        }
}
END_TEST

START_TEST(what_is_not_finite_shows)
{
    const struct vecmat_kernel *k;
    for (int which = 0; (k = vecmat_kernel(which)); which++) {
        float x[48] = {0}, w[48 * 16], b[16] = {0}, y[16], p[16], sum;
        int at[48];
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
                k->softmax(p, &sum, z, 16);
                for (int l = 0; l < 16; l++)
                    ck_assert_msg(!isfinite(p[l]) || (i == 1 && l != j),
                                  "%s: lane %d of %d", k->isa, l, j);
                ck_assert(!isfinite(sum));
            }
    }
}
END_TEST

Suite *suite_nn_vecmat(void);
Suite *suite_nn_vecmat(void)
{
    Suite *s = suite_create("nn/vecmat");
    TCase *t = tcase_create("nn/vecmat");
    tcase_add_test(t, products_equal_plain_loops);
    tcase_add_test(t, softmax_equals_the_definition);
    tcase_add_test(t, what_is_not_finite_shows);
    suite_add_tcase(s, t);
    return s;
}
