/* kern_loops_priv.h - the elementwise kernels, as loops that the compiler vectorises for
 * the instruction set of the including file. Scalars in the code below are lanes. */
#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include "kern_vec_priv.h"
#else
#define LANE static inline __attribute__((always_inline))
#endif

/* ---- functions of one float ---- */

LANE float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

LANE uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The polynomials interpolate at Chebyshev nodes; relative errors below 1.1e-8 (exp) and
 * 2e-8 (ln), so that rounding is what remains. */

/* x = k ln 2 + r, |r| <= ln 2 / 2: 2^k (1 + r + r^2 q(r)); within -87 .. 88 */
LANE float lane_exp(float x)
{
    float shifted = x * 1.44269504f + 12582912.0f; /* 1.5 2^23: rounds to an integer */
    float k = shifted - 12582912.0f;
    float r = x - k * 0.693145752f - k * 1.42860677e-6f;
    float q = 0.0013926176f;
    q = q * r + 0.0083631731f;
    q = q * r + 0.0416665547f;
    q = q * r + 0.1666657703f;
    q = q * r + 0.5f;
    float power = float_of((bits_of(shifted) - 0x4b400000u + 127u) << 23);
    return power * (1.0f + (r + r * r * q));
}

/* x = 2^e (1 + f), f within sqrt(1/2) - 1 .. sqrt 2 - 1: e ln 2 + f - f^2/2 + f^3 q(f);
 * x positive and normal */
LANE float lane_log(float x)
{
    uint32_t bits = bits_of(x) - 0x3f3504f3u; /* sqrt(1/2) */
    float e = (float)((int32_t)bits >> 23);
    float f = float_of((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float q = -0.0790274377f;
    q = q * f + 0.1262231985f;
    q = q * f - 0.1299818376f;
    q = q * f + 0.1421449592f;
    q = q * f - 0.1664128146f;
    q = q * f + 0.2000104510f;
    q = q * f - 0.2500030642f;
    q = q * f + 0.3333333073f;
    float square = f * f;
    return e * 0.693147181f + (f + square * (f * q - 0.5f));
}

static void exp_all(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = lane_exp(x[i]);
}

/* ---- sums ---- */

#ifdef __AVX2__

static void colsum(float *s, const float *x, int rows, int n)
{
    for (int j = 0; j < n; j += LANES) {
        part on = part_of(n - j);
        const float *from = x + j;
        vec even = all(0.0f), odd = all(0.0f);
        int i = 0;
        for (; i + 2 <= rows; i += 2, from += 2 * n) {
            even = even + load(from, on);
            odd = odd + load(from + n, on);
        }
        if (i < rows) even = even + load(from, on);
        store(s + j, on, even + odd);
    }
}

#else

static void colsum(float *restrict s, const float *restrict x, int rows, int n)
{
    memset(s, 0, sizeof *s * (size_t)n);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++)
            s[j] += x[(size_t)i * (size_t)n + (size_t)j];
}

#endif

/* 64 sums in a fixed order: independent additions, and the same bytes every time. In float
 * for a while only, so that small squares are not lost beside large sums, and in double
 * where they do not fit a float. */
static double sumsq(const float *x, size_t n)
{
    enum { SUMS = 64, ROUNDS = 32, BLOCK = SUMS * ROUNDS };
    double sum = 0.0;
    for (size_t at = 0; at < n; at += BLOCK) {
        const float *from = x + at;
        size_t count = n - at < BLOCK ? n - at : BLOCK, i = 0;
        float s[SUMS] = {0.0f};
        for (; i + SUMS <= count; i += SUMS)
            for (size_t j = 0; j < SUMS; j++)
                s[j] += from[i + j] * from[i + j];
        for (size_t j = 0; i + j < count; j++)
            s[j] += from[i + j] * from[i + j];
        double block = 0.0;
        for (size_t j = 0; j < SUMS; j++)
            block += (double)s[j];
        if (!isfinite(block)) {
            block = 0.0;
            for (size_t j = 0; j < count; j++)
                block += (double)from[j] * (double)from[j];
        }
        sum += block;
    }
    return sum;
}

/* ---- rows ---- */

static void gather(float *restrict out, const float *restrict rows, const int *order,
                   int n, int dim)
{
    for (int i = 0; i < n; i++, out += dim) {
        const float *from = rows + (size_t)order[i] * (size_t)dim;
#ifdef __AVX2__
        for (int j = 0; j < dim; j += LANES)
            store(out + j, part_of(dim - j), load(from + j, part_of(dim - j)));
#else
        memcpy(out, from, sizeof *out * (size_t)dim);
#endif
    }
}

/* ---- softmax ---- */

enum { ROWS = 16 }; /* at a time: one lane each */

/* rows x to columns t, and back */
#ifdef __AVX512F__

LANE void to_columns(float (*t)[ROWS], const float *x, int rows, int n)
{
    for (int j = 0; j < n; j += LANES) {
        vec r[LANES];
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = load(x + (i < rows ? i : 0) * n + j, part_of(n - j));
        turn(r);
        int end = n - j < LANES ? n - j : LANES;
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i < end) store(t[j + i], part_of(LANES), r[i]);
    }
}

LANE void to_rows(float *x, float (*t)[ROWS], int rows, int n)
{
    for (int j = 0; j < n; j += LANES) {
        vec r[LANES];
        int end = n - j < LANES ? n - j : LANES;
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            r[i] = i < end ? load(t[j + i], part_of(LANES)) : all(0.0f);
        turn(r);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i < rows) store(x + i * n + j, part_of(n - j), r[i]);
    }
}

#else

LANE void to_columns(float (*t)[ROWS], const float *x, int rows, int n)
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < n; j++)
            t[j][i] = x[(i < rows ? i : 0) * n + j];
}

LANE void to_rows(float *x, float (*t)[ROWS], int rows, int n)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++)
            x[i * n + j] = t[j][i];
}

#endif

/* t holds x and receives ln p, e receives p */
LANE void softmax_columns(float (*e)[ROWS], float (*t)[ROWS], float *h,
                          const uint32_t *bits, int n)
{
    float top[ROWS], sum[ROWS], ln[ROWS];
    for (int i = 0; i < ROWS; i++)
        top[i] = -INFINITY, sum[i] = 0.0f, h[i] = 0.0f;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < ROWS; i++) { /* a NaN wins and stays, or is seen in sum */
            float x = !bits || bits[i] >> j & 1 ? t[j][i] : -INFINITY;
            top[i] = x < top[i] ? top[i] : x;
            t[j][i] = x;
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < ROWS; i++) {
            float d = t[j][i] -= top[i];
            e[j][i] = d == -INFINITY ? 0.0f : lane_exp(d < -87.0f ? -87.0f : d);
            sum[i] += e[j][i];
        }
    for (int i = 0; i < ROWS; i++) {
        ln[i] = lane_log(sum[i]) + (sum[i] - sum[i]); /* NaN stays NaN */
        sum[i] = 1.0f / sum[i];
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < ROWS; i++) {
            e[j][i] *= sum[i];
            t[j][i] = t[j][i] == -INFINITY ? 0.0f : t[j][i] - ln[i];
            h[i] -= e[j][i] * t[j][i];
        }
}

static void softmax_block(float *p, float *logp, float *entropy, const float *x,
                          const uint32_t *mask, int rows, int n)
{
    float t[KERN_SOFTMAX_MAX][ROWS], e[KERN_SOFTMAX_MAX][ROWS], h[ROWS];
    uint32_t bits[ROWS] = {0};
    if (mask) memcpy(bits, mask, sizeof *mask * (size_t)rows);
    to_columns(t, x, rows, n);
    softmax_columns(e, t, h, mask ? bits : NULL, n);
    to_rows(p, e, rows, n);
    if (logp) to_rows(logp, t, rows, n);
    if (entropy) memcpy(entropy, h, sizeof *h * (size_t)rows);
}

/* The same for one row, whose numbers then fill the lanes. Sums go in the same order, so the
 * bytes are those of a block. */
static void softmax_row(float *p, float *logp, float *entropy, const float *x,
                        const uint32_t *mask, int n)
{
    float t[KERN_SOFTMAX_MAX], e[KERN_SOFTMAX_MAX], top = -INFINITY, sum = 0.0f, h = 0.0f;
    int wide = (n + ROWS - 1) / ROWS * ROWS;
    for (int j = 0; j < n; j++) {
        t[j] = !mask || *mask >> j & 1 ? x[j] : -INFINITY;
        top = t[j] < top ? top : t[j];
    }
    for (int j = n; j < wide; j++)
        t[j] = -INFINITY;
    for (int at = 0; at < wide; at += ROWS)
        for (int j = at; j < at + ROWS; j++) {
            float d = t[j] -= top;
            e[j] = d == -INFINITY ? 0.0f : lane_exp(d < -87.0f ? -87.0f : d);
        }
    for (int j = 0; j < n; j++)
        sum += e[j];
    float ln = lane_log(sum) + (sum - sum), scale = 1.0f / sum;
    for (int at = 0; at < wide; at += ROWS)
        for (int j = at; j < at + ROWS; j++) {
            e[j] *= scale;
            t[j] = t[j] == -INFINITY ? 0.0f : t[j] - ln;
        }
    memcpy(p, e, sizeof *p * (size_t)n);
    if (logp) memcpy(logp, t, sizeof *logp * (size_t)n);
    for (int j = 0; entropy && j < n; j++)
        h -= e[j] * t[j];
    if (entropy) *entropy = h;
}

static void softmax(float *p, float *logp, float *entropy, const float *x,
                    const uint32_t *mask, int rows, int n)
{
    assert(n > 0 && n <= (mask ? 32 : KERN_SOFTMAX_MAX));
    for (int i = 0; i < rows; i += ROWS) {
        size_t at = (size_t)i * (size_t)n;
        int left = rows - i < ROWS ? rows - i : ROWS;
        const uint32_t *bits = mask ? mask + i : NULL;
        float *l = logp ? logp + at : NULL, *h = entropy ? entropy + i : NULL;
        if (left == 1)
            softmax_row(p + at, l, h, x + at, bits, n);
        else
            softmax_block(p + at, l, h, x + at, bits, left, n);
    }
}

/* ---- choice ---- */

/* t (n, ROWS) holds x + z; a number is better than a NaN */
#ifdef __AVX512F__

LANE void choose_columns(int *at, float (*t)[ROWS], int n)
{
    vec top = load(t[0], part_of(LANES));
    __m512i best = _mm512_setzero_si512();
    for (int j = 1; j < n; j++) {
        vec x = load(t[j], part_of(LANES));
        part better = _mm512_cmp_ps_mask(x, top, _CMP_NLE_UQ); /* or one is a NaN */
        better = _mm512_mask_cmp_ps_mask(better, x, x, _CMP_ORD_Q);
        top = _mm512_mask_mov_ps(top, better, x);
        best = _mm512_mask_mov_epi32(best, better, _mm512_set1_epi32(j));
    }
    _mm512_storeu_si512(at, best);
}

#else

LANE void choose_columns(int *at, float (*t)[ROWS], int n)
{
    float top[ROWS];
    for (int i = 0; i < ROWS; i++)
        top[i] = t[0][i], at[i] = 0;
    for (int j = 1; j < n; j++)
        for (int i = 0; i < ROWS; i++) {
            float x = t[j][i];
            int better = (x > top[i]) | ((top[i] != top[i]) & (x == x));
            top[i] = better ? x : top[i];
            at[i] = better ? j : at[i];
        }
}

#endif

static int choose_row(const float *x, const float *z, int n)
{
    int best = 0;
    float top = z ? x[0] + z[0] : x[0];
    for (int j = 1; j < n; j++) {
        float v = z ? x[j] + z[j] : x[j];
        if (!(v > top) && !(isnan(top) && !isnan(v))) continue;
        best = j;
        top = v;
    }
    return best;
}

static void choose(int *at, const float *x, const float *z, int rows, int n)
{
    assert(n > 0 && n <= KERN_SOFTMAX_MAX);
    for (int i = 0; i < rows; i += ROWS) {
        float t[KERN_SOFTMAX_MAX][ROWS], s[KERN_SOFTMAX_MAX][ROWS];
        int from = i * n, left = rows - i < ROWS ? rows - i : ROWS, found[ROWS];
        if (left == 1) {
            at[i] = choose_row(x + from, z ? z + from : NULL, n);
            continue;
        }
        to_columns(t, x + from, left, n);
        if (z) {
            to_columns(s, z + from, left, n);
            for (int j = 0; j < n; j++)
                for (int k = 0; k < ROWS; k++)
                    t[j][k] += s[j][k];
        }
        choose_columns(found, t, n);
        memcpy(at + i, found, sizeof *at * (size_t)left);
    }
}
