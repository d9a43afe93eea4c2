/* kern_priv.h - the body of the kernels of learning, compiled once per instruction set.
 *
 * The including file defines KERN_TABLE and KERN_WORD; the Makefile gives it its flags. The plain file
 * also defines product and affine beforehand. Loops are vectorised by the compiler: scalars in them
 * are lanes. */
#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define LANE static inline __attribute__((always_inline))

#ifdef __AVX2__

#include <immintrin.h>

/* ==== vectors of AVX2 and AVX-512 under the same names ==== */

#ifdef __AVX512F__

enum { LANES = 16 };
typedef __m512 vec;
typedef __mmask16 part;

LANE part part_of(int n)
{
    return n >= LANES ? (part)0xffff : (part)((1u << n) - 1);
}
LANE vec load(const float *x, part on)
{
    return _mm512_maskz_loadu_ps(on, x);
}
LANE void store(float *x, part on, vec v)
{
    _mm512_mask_storeu_ps(x, on, v);
}
LANE vec load_whole(const float *x)
{
    return _mm512_loadu_ps(x);
}
LANE void store_whole(float *x, vec v)
{
    _mm512_storeu_ps(x, v);
}
/* the first n lanes, n <= LANES */
LANE void store_first(float *x, int n, vec v)
{
    store(x, part_of(n), v);
}
LANE vec all(float x)
{
    return _mm512_set1_ps(x);
}
LANE vec multiply_add(vec a, vec b, vec c)
{
    return _mm512_fmadd_ps(a, b, c);
}
/* a NaN in v stays */
LANE vec not_below(vec floor, vec v)
{
    return _mm512_max_ps(floor, v);
}
LANE vec where_positive(vec gate, vec v)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(gate, _mm512_setzero_ps(), _CMP_GT_OQ),
                               v);
}
LANE float total(vec v)
{
    return _mm512_reduce_add_ps(v);
}

/* Each quarter of r[4 q + i] holds 4 floats of row 4 * quarter + i, from column 4 q on. Afterwards r
 * holds columns. */
LANE void turn_quarters(vec r[LANES])
{
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        vec a = _mm512_unpacklo_ps(r[i], r[i + 1]);
        vec b = _mm512_unpackhi_ps(r[i], r[i + 1]);
        vec c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
        vec d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
        r[i] = _mm512_shuffle_ps(a, c, 0x44);
        r[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
        r[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
        r[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
}

/* r holds LANES rows; afterwards its columns */
LANE void turn(vec r[LANES])
{
    vec t[LANES];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        vec a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x44);
        vec b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xee);
        vec c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x44);
        vec d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xee);
        t[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(a, c, 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(b, d, 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
    turn_quarters(t);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        r[i] = t[i];
}

/* The columns of LANES rows, `stride` apart. Quarters are loaded to their final place, which saves half
 * of the shuffles. */
LANE void load_turned(vec r[LANES], const float *x, long stride)
{
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const float *from = x + i * stride + 4 * q;
            vec v = _mm512_castps128_ps512(_mm_loadu_ps(from));
            v = _mm512_insertf32x4(v, _mm_loadu_ps(from + 4 * stride), 1);
            v = _mm512_insertf32x4(v, _mm_loadu_ps(from + 8 * stride), 2);
            r[4 * q + i] = _mm512_insertf32x4(v, _mm_loadu_ps(from + 12 * stride), 3);
        }
    turn_quarters(r);
}

#else

enum { LANES = 8 };
typedef __m256 vec;
typedef __m256i part;

LANE part part_of(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
LANE vec load(const float *x, part on)
{
    return _mm256_maskload_ps(x, on);
}
LANE vec load_whole(const float *x)
{
    return _mm256_loadu_ps(x);
}
LANE void store_whole(float *x, vec v)
{
    _mm256_storeu_ps(x, v);
}
/* The first n lanes, n <= LANES. In pieces: a store under a mask takes 12 to 20 cycles on AMD's
 * processors without AVX-512 (microcode). */
LANE void store_first(float *x, int n, vec v)
{
    if (n == LANES) {
        store_whole(x, v);
        return;
    }
    __m128 piece = _mm256_castps256_ps128(v);
    if (n & 4) {
        _mm_storeu_ps(x, piece);
        piece = _mm256_extractf128_ps(v, 1);
        x += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)x, piece);
        piece = _mm_movehl_ps(piece, piece);
        x += 2;
    }
    if (n & 1) _mm_store_ss(x, piece);
}
LANE vec all(float x)
{
    return _mm256_set1_ps(x);
}
LANE vec multiply_add(vec a, vec b, vec c)
{
    return _mm256_fmadd_ps(a, b, c);
}
LANE vec not_below(vec floor, vec v)
{
    return _mm256_max_ps(floor, v);
}
LANE vec where_positive(vec gate, vec v)
{
    return _mm256_and_ps(_mm256_cmp_ps(gate, _mm256_setzero_ps(), _CMP_GT_OQ), v);
}
LANE float total(vec v)
{
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
}

LANE void turn(vec r[LANES])
{
    vec t[LANES];
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
        vec a = _mm256_unpacklo_ps(r[i], r[i + 1]),
            b = _mm256_unpackhi_ps(r[i], r[i + 1]);
        vec c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]);
        vec d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm256_shuffle_ps(a, c, 0x44);
        t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
        t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
        t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
        r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
}

LANE void load_turned(vec r[LANES], const float *x, long stride)
{
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i++)
        r[i] = load_whole(x + i * stride);
    turn(r);
}

#endif

#endif

/* ==== elementwise kernels ==== */

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

/* The polynomials interpolate at Chebyshev nodes. Their relative errors are below 1.1e-8 (exp) and
 * 2e-8 (ln), less than float rounding. */

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
        store_first(s + j, n - j < LANES ? n - j : LANES, even + odd);
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

/* 64 sums in a fixed order: independent additions, and the same bytes every time. They stay in float
 * only for a while, so that small squares are not lost in large sums. They are in double where they
 * do not fit a float. */
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
        int j = 0;
        for (; j + LANES <= dim; j += LANES)
            store_whole(out + j, load_whole(from + j));
        if (j < dim) store_first(out + j, dim - j, load(from + j, part_of(dim - j)));
#else
        memcpy(out, from, sizeof *out * (size_t)dim);
#endif
    }
}

/* ---- softmax ---- */

enum { ROWS = 16 }; /* at a time: one lane each */

/* rows x to columns t, and back */
#ifdef __AVX2__

LANE void to_columns(float (*t)[ROWS], const float *x, int rows, int n)
{
    for (int at = 0; at < ROWS; at += LANES)
        for (int j = 0; j < n; j += LANES) {
            vec r[LANES];
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                r[i] = load(x + (at + i < rows ? at + i : 0) * n + j, part_of(n - j));
            turn(r);
            int end = n - j < LANES ? n - j : LANES;
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                if (i < end) store_whole(t[j + i] + at, r[i]);
        }
}

LANE void to_rows(float *x, float (*t)[ROWS], int rows, int n)
{
    for (int at = 0; at < rows; at += LANES)
        for (int j = 0; j < n; j += LANES) {
            vec r[LANES];
            int end = n - j < LANES ? n - j : LANES;
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                r[i] = i < end ? load_whole(t[j + i] + at) : all(0.0f);
            turn(r);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                if (at + i < rows) store_first(x + (at + i) * n + j, end, r[i]);
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

#if defined(__AVX2__) && !defined(__AVX512F__)

/* lane_exp and lane_log of 8 numbers: with AVX2 the compiler does not vectorise what contains a choice */
typedef uint32_t words __attribute__((vector_size(4 * LANES)));

LANE vec lanes_exp(vec x)
{
    vec shifted = x * 1.44269504f + 12582912.0f;
    vec k = shifted - 12582912.0f;
    vec r = x - k * 0.693145752f - k * 1.42860677e-6f;
    vec q = r * 0.0013926176f + 0.0083631731f;
    q = q * r + 0.0416665547f;
    q = q * r + 0.1666657703f;
    q = q * r + 0.5f;
    vec power = (vec)(((words)shifted - 0x4b400000u + 127u) << 23);
    return power * (1.0f + (r + r * r * q));
}

LANE vec lanes_log(vec x)
{
    words bits = (words)x - 0x3f3504f3u;
    vec e = _mm256_cvtepi32_ps(_mm256_srai_epi32((__m256i)bits, 23));
    vec f = (vec)((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    vec q = f * -0.0790274377f + 0.1262231985f;
    q = q * f - 0.1299818376f;
    q = q * f + 0.1421449592f;
    q = q * f - 0.1664128146f;
    q = q * f + 0.2000104510f;
    q = q * f - 0.2500030642f;
    q = q * f + 0.3333333073f;
    vec square = f * f;
    return e * 0.693147181f + (f + square * (f * q - 0.5f));
}

/* 8 of the rows, from `at` on; the numbers are those of the loops below */
LANE void softmax_half(float (*e)[ROWS], float (*t)[ROWS], float *h, const uint32_t *bits,
                       int n, int at)
{
    const vec none = all(-INFINITY), least = all(-87.0f);
    __m256i mask =
        bits ? _mm256_loadu_si256((const __m256i *)(bits + at)) : _mm256_set1_epi32(-1);
    vec top = none, sum = all(0.0f), entropy = sum;
    for (int j = 0; j < n; j++) {
        vec on = (vec)_mm256_sll_epi32(mask, _mm_cvtsi32_si128(31 - j % 32));
        vec x = _mm256_blendv_ps(none, load_whole(t[j] + at), on);
        top = _mm256_max_ps(top, x);
        store_whole(t[j] + at, x);
    }
    for (int j = 0; j < n; j++) {
        vec d = load_whole(t[j] + at) - top;
        vec out = _mm256_cmp_ps(d, none, _CMP_EQ_OQ);
        vec x = _mm256_andnot_ps(out, lanes_exp(_mm256_max_ps(least, d)));
        sum = sum + x;
        store_whole(t[j] + at, d);
        store_whole(e[j] + at, x);
    }
    vec ln = lanes_log(sum) + (sum - sum), scale = 1.0f / sum;
    for (int j = 0; j < n; j++) {
        vec d = load_whole(t[j] + at), p = load_whole(e[j] + at) * scale;
        vec out = _mm256_cmp_ps(d, none, _CMP_EQ_OQ);
        d = _mm256_andnot_ps(out, d - ln);
        entropy = entropy - p * d;
        store_whole(t[j] + at, d);
        store_whole(e[j] + at, p);
    }
    store_whole(h + at, entropy);
}

LANE void softmax_columns(float (*e)[ROWS], float (*t)[ROWS], float *h,
                          const uint32_t *bits, int n)
{
    softmax_half(e, t, h, bits, n, 0);
    softmax_half(e, t, h, bits, n, LANES);
}

#else

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

#endif

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

/* The same for one row, whose numbers fill the lanes. The order of the sums is the same, so the bytes
 * equal those of a block. */
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

#elif defined(__AVX2__)

LANE void choose_columns(int *at, float (*t)[ROWS], int n)
{
    for (int half = 0; half < ROWS; half += LANES) {
        vec top = load_whole(t[0] + half), best = all(0.0f); /* best: integers */
        for (int j = 1; j < n; j++) {
            vec x = load_whole(t[j] + half);
            vec better = _mm256_cmp_ps(x, top, _CMP_NLE_UQ); /* or one is a NaN */
            better = _mm256_and_ps(better, _mm256_cmp_ps(x, x, _CMP_ORD_Q));
            top = _mm256_blendv_ps(top, x, better);
            best = _mm256_blendv_ps(best, (vec)_mm256_set1_epi32(j), better);
        }
        _mm256_storeu_si256((__m256i *)(at + half), (__m256i)best);
    }
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

/* ==== normal numbers, 16 at a time ==== */

enum { STREAMS = 16 };

/* ---- bits: 16 streams of xoshiro128+ ---- */

struct streams {
    uint32_t s[4][STREAMS];
};

/* Every stream starts from two halves of hashes (the finaliser of splitmix64). */
LANE void streams_init(struct streams *g, uint64_t key)
{
    for (uint64_t i = 0; i < STREAMS; i++)
        for (uint64_t j = 0; j < 2; j++) {
            uint64_t z = key + (i + STREAMS * j) * UINT64_C(0x9e3779b97f4a7c15);
            z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
            z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
            z ^= z >> 31;
            g->s[j][i] = (uint32_t)(z >> 32) | (j == 0); /* never all 0 */
            g->s[2 + j][i] = (uint32_t)z;
        }
}

/* ---- one number from 32 bits
 *
 * The top bit is the sign. The other bits, as an odd number n, are the probability p = n / 2^31 that a
 * normal number lies further out on either side; x is the place where that holds. Within an octave of
 * p it is a cubic in p's mantissa, which interpolates at Chebyshev nodes with an error below 2.4e-4.
 * Rounding also gives n = 2^31, whose x is 0. The octave from 2^e has place e + 31 mod 32, the low
 * bits of the exponent. */
enum { OCTAVES = 32, CUBIC = 4 };
/* clang-format off */
static const float NORMAL[CUBIC][OCTAVES] = {
    {6.35498941f, 6.24765752f, 6.13854237f, 6.02755375f, 5.91459363f, 5.7995553f, 5.68232214f, 5.56276644f, 5.44074775f, 5.31611116f, 5.18868508f, 5.05827872f, 4.92467896f, 4.78764658f, 4.64691169f, 4.50216803f, 4.35306594f, 4.19920344f, 4.04011507f, 3.87525737f, 3.70399025f, 3.52555245f, 3.33902913f, 3.14330856f, 2.93702412f, 2.71847692f, 2.48553521f, 2.23551824f, 1.96527493f, 1.67965749f, 0.0f, 6.46062135f},
    {-0.328578752f, -0.334232346f, -0.340183245f, -0.346458182f, -0.353087355f, -0.360105022f, -0.367550227f, -0.375467688f, -0.383908897f, -0.392933491f, -0.402610965f, -0.413022861f, -0.424265566f, -0.436453938f, -0.449726077f, -0.464249672f, -0.480230574f, -0.497924586f, -0.517653967f, -0.539831011f, -0.564992546f, -0.593851722f, -0.627378078f, -0.666925527f, -0.71444466f, -0.772849842f, -0.846683678f, -0.943395355f, -1.07639355f, -1.29243411f, 0.0f, -0.323198703f},
    {0.110648007f, 0.112501707f, 0.11445005f, 0.116501267f, 0.118664619f, 0.120950562f, 0.123370955f, 0.125939303f, 0.128671066f, 0.13158403f, 0.134698765f, 0.138039212f, 0.141633407f, 0.145514408f, 0.149721492f, 0.154301692f, 0.159311831f, 0.164821193f, 0.17091511f, 0.177699789f, 0.185308869f, 0.193912299f, 0.203728178f, 0.215037748f, 0.228201311f, 0.24366382f, 0.261906255f, 0.283195661f, 0.307008552f, 0.347797261f, 0.0f, 0.108881602f},
    {-0.0163901264f, -0.0166624889f, -0.0169486381f, -0.0172497622f, -0.0175671964f, -0.0179024467f, -0.0182572189f, -0.0186334531f, -0.0190333669f, -0.0194595073f, -0.0199148159f, -0.0204027089f, -0.0209271796f, -0.021492926f, -0.0221055167f, -0.0227716026f, -0.0234991958f, -0.0242980357f, -0.0251800782f, -0.0261601533f, -0.0272568592f, -0.0284937828f, -0.029901167f, -0.0315181669f, -0.0333958336f, -0.0356010454f, -0.0382234503f, -0.0414106333f, -0.0457708564f, -0.0607621507f, 0.0f, -0.0161304891f},
};
/* clang-format on */

#ifdef __AVX512F__

struct source {
    __m512i a, b, c, d;
};

LANE struct source source_of(uint64_t key)
{
    struct streams g;
    streams_init(&g, key);
    return (struct source){_mm512_loadu_si512(g.s[0]), _mm512_loadu_si512(g.s[1]),
                           _mm512_loadu_si512(g.s[2]), _mm512_loadu_si512(g.s[3])};
}

enum { XOR_ALL = 0x96, A_XOR_B_AND_C = 0x78, A_AND_B_OR_C = 0xea };

/* The round of streams_fill, with a shorter chain of dependent steps. */
LANE __m512i next_bits(struct source *g)
{
    __m512i a = g->a, b = g->b, c = g->c, bd = _mm512_xor_si512(b, g->d);
    __m512i out = _mm512_add_epi32(a, g->d);
    g->a = _mm512_xor_si512(a, bd);
    g->b = _mm512_ternarylogic_epi32(a, b, c, XOR_ALL);
    g->c = _mm512_ternarylogic_epi32(a, c, _mm512_slli_epi32(b, 9), XOR_ALL);
    g->d = _mm512_rol_epi32(bd, 11);
    return out;
}

LANE __m512 coefficient(int i, __m512i octave)
{
    return _mm512_permutex2var_ps(_mm512_loadu_ps(NORMAL[i]), octave,
                                  _mm512_loadu_ps(NORMAL[i] + 16));
}

LANE __m512 next_normal(struct source *g)
{
    __m512i bits = next_bits(g), one = _mm512_set1_epi32(1);
    __m512i n =
        _mm512_ternarylogic_epi32(bits, _mm512_set1_epi32(INT32_MAX), one, A_AND_B_OR_C);
    __m512i p = _mm512_castps_si512(_mm512_cvtepi32_ps(n));
    __m512i octave = _mm512_srli_epi32(p, 23);
    __m512 m = _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        p, _mm512_set1_epi32(0x7fffff), _mm512_set1_epi32(0x3f800000), A_AND_B_OR_C));
    __m512 x = coefficient(3, octave);
    for (int i = 2; i >= 0; i--)
        x = _mm512_fmadd_ps(x, m, coefficient(i, octave));
    return _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        _mm512_castps_si512(x), bits, _mm512_set1_epi32(INT32_MIN), A_XOR_B_AND_C));
}

static void noise(float *w, size_t n, float scale, uint64_t key)
{
    struct source g = source_of(key);
    __m512 factor = _mm512_set1_ps(scale);
    for (size_t i = 0; i < n; i += STREAMS) {
        part on = part_of(n - i < STREAMS ? (int)(n - i) : STREAMS);
        store(w + i, on, multiply_add(factor, next_normal(&g), load(w + i, on)));
    }
}

#else

#if defined(__AVX2__)

/* one half of the streams; both take turns */
struct source {
    __m256i a, b, c, d;
};

LANE void sources_of(struct source half[2], uint64_t key)
{
    struct streams g;
    streams_init(&g, key);
    for (int i = 0; i < 2; i++) {
        half[i].a = _mm256_loadu_si256((const __m256i *)(g.s[0] + 8 * i));
        half[i].b = _mm256_loadu_si256((const __m256i *)(g.s[1] + 8 * i));
        half[i].c = _mm256_loadu_si256((const __m256i *)(g.s[2] + 8 * i));
        half[i].d = _mm256_loadu_si256((const __m256i *)(g.s[3] + 8 * i));
    }
}

LANE __m256i next_bits(struct source *g)
{
    __m256i a = g->a, b = g->b, c = g->c, bd = _mm256_xor_si256(b, g->d);
    __m256i ac = _mm256_xor_si256(a, c), out = _mm256_add_epi32(a, g->d);
    g->a = _mm256_xor_si256(a, bd);
    g->b = _mm256_xor_si256(b, ac);
    g->c = _mm256_xor_si256(ac, _mm256_slli_epi32(b, 9));
    g->d = _mm256_or_si256(_mm256_slli_epi32(bd, 11), _mm256_srli_epi32(bd, 21));
    return out;
}

/* From tables in registers for p of 2^17 and more. Only one of 16,000 numbers is below: then memory is
 * read, which takes several times as long. */
LANE vec coefficient(int i, __m256i octave)
{
    vec low = _mm256_permutevar8x32_ps(_mm256_loadu_ps(NORMAL[i] + 16), octave);
    vec high = _mm256_permutevar8x32_ps(_mm256_loadu_ps(NORMAL[i] + 24), octave);
    return _mm256_blendv_ps(low, high,
                            _mm256_castsi256_ps(_mm256_slli_epi32(octave, 28)));
}

LANE vec coefficient_far(int i, __m256i octave)
{
    return _mm256_i32gather_ps(
        NORMAL[i], _mm256_and_si256(octave, _mm256_set1_epi32(OCTAVES - 1)), 4);
}

LANE vec next_normal(struct source *g)
{
    __m256i bits = next_bits(g), high = _mm256_set1_epi32(INT32_MIN);
    __m256i n = _mm256_or_si256(_mm256_andnot_si256(high, bits), _mm256_set1_epi32(1));
    __m256i p = _mm256_castps_si256(_mm256_cvtepi32_ps(n));
    __m256i octave = _mm256_srli_epi32(p, 23); /* with the exponent's higher bits */
    __m256i far = _mm256_cmpgt_epi32(_mm256_set1_epi32(127 + 17), octave);
    vec m = _mm256_castsi256_ps(_mm256_or_si256(
        _mm256_and_si256(p, _mm256_set1_epi32(0x7fffff)), _mm256_set1_epi32(0x3f800000)));
    vec x;
    if (__builtin_expect(_mm256_testz_si256(far, far), 1)) {
        x = coefficient(3, octave);
        for (int i = 2; i >= 0; i--)
            x = multiply_add(x, m, coefficient(i, octave));
    } else {
        x = coefficient_far(3, octave);
        for (int i = 2; i >= 0; i--)
            x = multiply_add(x, m, coefficient_far(i, octave));
    }
    return _mm256_castsi256_ps(
        _mm256_xor_si256(_mm256_castps_si256(x), _mm256_and_si256(bits, high)));
}

static void noise(float *w, size_t n, float scale, uint64_t key)
{
    struct source half[2];
    vec factor = all(scale);
    sources_of(half, key);
    size_t i = 0;
    for (; i + STREAMS <= n; i += STREAMS)
#pragma GCC unroll 2
        for (int h = 0; h < 2; h++) {
            float *to = w + i + (size_t)h * LANES;
            vec x = next_normal(&half[h]);
            store_whole(to, multiply_add(factor, x, load_whole(to)));
        }
    for (int h = 0; i < n; h++, i += LANES) {
        int left = n - i < LANES ? (int)(n - i) : LANES;
        vec x = next_normal(&half[h]);
        store_first(w + i, left, multiply_add(factor, x, load(w + i, part_of(left))));
    }
}

#else

/* `rounds` of every stream: out (rounds, STREAMS) */
static void streams_fill(uint32_t *restrict out, struct streams *restrict g, int rounds)
{
    struct streams l = *g;
    for (int w = 0; w < rounds; w++, out += STREAMS)
        for (int i = 0; i < STREAMS; i++) {
            uint32_t *a = l.s[0] + i, *b = l.s[1] + i, *c = l.s[2] + i, *d = l.s[3] + i;
            uint32_t t = *b << 9;
            out[i] = *a + *d;
            *c ^= *a;
            *d ^= *b;
            *b ^= *c;
            *a ^= *d;
            *c ^= t;
            *d = *d << 11 | *d >> 21;
        }
    *g = l;
}

LANE float normal_of(uint32_t bits)
{
    uint32_t p = bits_of((float)(int32_t)((bits & 0x7fffffffu) | 1u));
    int octave = (int)(p >> 23 & (OCTAVES - 1));
    float m = float_of((p & 0x7fffffu) | 0x3f800000u), x = NORMAL[3][octave];
    for (int i = 2; i >= 0; i--)
        x = x * m + NORMAL[i][octave];
    return float_of(bits_of(x) ^ (bits & 0x80000000u));
}

static void noise(float *w, size_t n, float scale, uint64_t key)
{
    enum { ROUNDS = 8, BLOCK = ROUNDS * STREAMS };
    struct streams g;
    uint32_t bits[BLOCK];
    streams_init(&g, key);
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t count = n - at < BLOCK ? n - at : BLOCK;
        streams_fill(bits, &g, ROUNDS);
        for (size_t i = 0; i < count; i++)
            w[at + i] += scale * normal_of(bits[i]);
    }
}

#endif

#endif

/* ==== the Adam step ==== */

#ifdef __AVX512F__

/* noisy is a constant wherever this is expanded */
LANE void adam_loop(float *theta, float *m, float *v, const float *grad, size_t n,
                    const struct kern_adam *c, bool noisy)
{
    __m512 scale = _mm512_set1_ps(c->scale), decay = _mm512_set1_ps(c->decay);
    __m512 b1 = _mm512_set1_ps(c->beta1), b2 = _mm512_set1_ps(c->beta2);
    __m512 c1 = _mm512_set1_ps(c->c1), c2 = _mm512_set1_ps(c->c2);
    __m512 rate = _mm512_set1_ps(c->rate), root = _mm512_set1_ps(c->root);
    __m512 eps = _mm512_set1_ps(c->eps), factor = _mm512_set1_ps(c->noise);
    struct source draws = {0};
    if (noisy) draws = source_of(c->key);
    for (size_t i = 0; i < n; i += LANES) {
        part on = part_of(n - i < LANES ? (int)(n - i) : LANES);
        __m512 t = load(theta + i, on);
        __m512 g = _mm512_mul_ps(scale, load(grad + i, on));
        g = _mm512_fmadd_ps(decay, t, g);
        __m512 mi = _mm512_fmadd_ps(c1, g, _mm512_mul_ps(b1, load(m + i, on)));
        __m512 vi = _mm512_mul_ps(b2, load(v + i, on));
        vi = _mm512_fmadd_ps(_mm512_mul_ps(c2, g), g, vi);
        __m512 below = _mm512_fmadd_ps(_mm512_sqrt_ps(vi), root, eps);
        t = _mm512_sub_ps(t, _mm512_div_ps(_mm512_mul_ps(rate, mi), below));
        if (noisy) t = _mm512_fmadd_ps(factor, next_normal(&draws), t);
        store(m + i, on, mi);
        store(v + i, on, vi);
        store(theta + i, on, t);
    }
}

static void adam(float *theta, float *m, float *v, const float *grad, size_t n,
                 const struct kern_adam *c)
{
    if (c->noise != 0.0f)
        adam_loop(theta, m, v, grad, n, c, true);
    else
        adam_loop(theta, m, v, grad, n, c, false);
}

#else

/* restrict: the compiler vectorises only what it may reorder; the arrays do not overlap (adam.h) */
static void adam(float *restrict theta, float *restrict m, float *restrict v,
                 const float *restrict grad, size_t n, const struct kern_adam *c)
{
    const struct kern_adam k = *c;
    for (size_t i = 0; i < n; i++) {
        float g = k.scale * grad[i] + k.decay * theta[i];
        m[i] = k.beta1 * m[i] + k.c1 * g;
        v[i] = k.beta2 * v[i] + k.c2 * g * g;
        theta[i] -= k.rate * m[i] / (sqrtf(v[i]) * k.root + k.eps);
    }
    if (c->noise != 0.0f) noise(theta, n, c->noise, c->key);
}

#endif

#ifdef __AVX2__

/* ==== small products by register tiles ====
 * C is cut into tiles of a few rows and 1 .. TILE_VECS vectors, whose sums stay in
 * registers while k runs. B is read in place, its last vector under a mask; a transposed B
 * is turned into a panel first. No packing of A, no blocking of m and n: for matrices
 * that fit the second-level cache, where general libraries lose more to copies than they
 * gain. */

/* ---- one tile ---- */

/* Rows by vectors per row: all sums, one row of B and one of A in the registers. */
#ifdef __AVX512F__
enum { TILE_VECS = 4 };
static const int TILE_ROWS[TILE_VECS + 1] = {0, 14, 12, 8, 6};
#else
enum { TILE_VECS = 3 };
static const int TILE_ROWS[TILE_VECS + 1] = {0, 8, 6, 4};
#endif

/* Common to the tiles of one pass over k. b is the panel's first row. */
struct pass {
    const float *b, *start, *gate;
    float *c;
    long ldb, ldc, ldstart, a_row, a_col; /* ldstart 0: the same start for each row */
    int k, lanes;                         /* lanes of the last vector */
    int edge;    /* of the k rows of B, the last ones of which only `lanes` may be read */
    float floor; /* 0, or -inf: no relu */
};

/* Adds the next n rows of B, from b on. rows, vecs and masked are constants wherever this is expanded. */
LANE void tile_add(vec sum[14][TILE_VECS], const struct pass *p, const float *a,
                   const float *b, int n, int rows, int vecs, bool masked, part last)
{
    long a_row = p->a_row, a_col = p->a_col, ldb = p->ldb;
    for (; n > 0; n--, a += a_col, b += ldb) {
        vec v[TILE_VECS];
#pragma GCC unroll 4
        for (int j = 0; j < vecs; j++)
            v[j] = masked && j == vecs - 1 ? load(b + j * LANES, last)
                                           : load_whole(b + j * LANES);
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            vec x = all(a[i * a_row]);
#pragma GCC unroll 4
            for (int j = 0; j < vecs; j++)
                sum[i][j] = multiply_add(x, v[j], sum[i][j]);
        }
    }
}

/* rows and vecs are constants wherever this is expanded */
LANE void tile(const struct pass *p, const float *a, long row, int rows, int vecs)
{
    int lanes = p->lanes;
    part last = part_of(lanes);
    vec sum[14][TILE_VECS];
    const float *start = p->start + row * p->ldstart;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vecs; j++) {
            const float *from = start + i * p->ldstart + j * LANES;
            sum[i][j] = j == vecs - 1 ? load(from, last) : load_whole(from);
        }

    a += row * p->a_row;
#ifdef __AVX512F__
    tile_add(sum, p, a, p->b, p->k, rows, vecs, true, last);
#else
    int inner = p->k - p->edge; /* a mask would be one register too many */
    tile_add(sum, p, a, p->b, inner, rows, vecs, false, last);
    tile_add(sum, p, a + inner * p->a_col, p->b + inner * p->ldb, p->edge, rows, vecs,
             true, last);
#endif

    float *c = p->c + row * p->ldc;
    vec floor = all(p->floor);
    if (p->gate) {
        const float *gate = p->gate + row * p->ldc;
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
            for (int j = 0; j < vecs; j++) {
                const float *from = gate + i * p->ldc + j * LANES;
                vec open = j == vecs - 1 ? load(from, last) : load_whole(from);
                sum[i][j] = where_positive(open, sum[i][j]);
            }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
        for (int j = 0; j < vecs; j++) {
            float *to = c + i * p->ldc + j * LANES;
            vec v = not_below(floor, sum[i][j]);
            if (j == vecs - 1)
                store_first(to, lanes, v);
            else
                store_whole(to, v);
        }
}

typedef void tile_fn(const struct pass *p, const float *a, long row);

#define TILE(vecs, rows)                                                             \
    static void tile_##vecs##_##rows(const struct pass *p, const float *a, long row) \
    {                                                                                \
        tile(p, a, row, rows, vecs);                                                 \
    }

/* clang-format off */
TILE(1, 1) TILE(1, 2) TILE(1, 3) TILE(1, 4) TILE(1, 5) TILE(1, 6) TILE(1, 7) TILE(1, 8)
TILE(2, 1) TILE(2, 2) TILE(2, 3) TILE(2, 4) TILE(2, 5) TILE(2, 6)
TILE(3, 1) TILE(3, 2) TILE(3, 3) TILE(3, 4)
#ifdef __AVX512F__
TILE(1, 9) TILE(1, 10) TILE(1, 11) TILE(1, 12) TILE(1, 13) TILE(1, 14)
TILE(2, 7) TILE(2, 8) TILE(2, 9) TILE(2, 10) TILE(2, 11) TILE(2, 12)
TILE(3, 5) TILE(3, 6) TILE(3, 7) TILE(3, 8)
TILE(4, 1) TILE(4, 2) TILE(4, 3) TILE(4, 4) TILE(4, 5) TILE(4, 6)
#endif

static tile_fn *const tiles[TILE_VECS + 1][15] = {
#ifdef __AVX512F__
    [1] = {NULL, tile_1_1, tile_1_2, tile_1_3, tile_1_4, tile_1_5, tile_1_6, tile_1_7, tile_1_8,
           tile_1_9, tile_1_10, tile_1_11, tile_1_12, tile_1_13, tile_1_14},
    [2] = {NULL, tile_2_1, tile_2_2, tile_2_3, tile_2_4, tile_2_5, tile_2_6, tile_2_7, tile_2_8,
           tile_2_9, tile_2_10, tile_2_11, tile_2_12},
    [3] = {NULL, tile_3_1, tile_3_2, tile_3_3, tile_3_4, tile_3_5, tile_3_6, tile_3_7, tile_3_8},
    [4] = {NULL, tile_4_1, tile_4_2, tile_4_3, tile_4_4, tile_4_5, tile_4_6},
#else
    [1] = {NULL, tile_1_1, tile_1_2, tile_1_3, tile_1_4, tile_1_5, tile_1_6, tile_1_7, tile_1_8},
    [2] = {NULL, tile_2_1, tile_2_2, tile_2_3, tile_2_4, tile_2_5, tile_2_6},
    [3] = {NULL, tile_3_1, tile_3_2, tile_3_3, tile_3_4},
#endif
};
/* clang-format on */

/* ---- the product ---- */

/* turn_panel for a corner, where rows and depth are LANES at most */
static void turn_corner(float *panel, int wide, const float *b, long ldb, int rows,
                        int depth)
{
#ifdef __AVX512F__
    enum { FEW = 4 };
    if (rows <= FEW || depth <= FEW) {
        for (int j = 0; j < rows; j++)
            for (int k = 0; k < depth; k++)
                panel[k * wide + j] = b[j * ldb + k];
        return;
    }
#endif
    vec r[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        r[i] = i < rows ? load(b + i * ldb, part_of(depth)) : all(0.0f);
    turn(r);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        if (i < depth) store_whole(panel + i * wide, r[i]);
}

/* B (rows, ldb) to panel (depth, wide); nobody uses columns behind the rows, and with AVX2 they are 0 */
static void turn_panel(float *panel, int wide, const float *b, long ldb, int rows,
                       int depth)
{
    for (int j = 0; j < rows; j += LANES)
        for (int k = 0; k < depth; k += LANES) {
            float *to = panel + k * wide + j;
            const float *from = b + j * ldb + k;
            int down = rows - j < LANES ? rows - j : LANES;
            int over = depth - k < LANES ? depth - k : LANES;
            if (down < LANES || over < LANES) {
                turn_corner(to, wide, from, ldb, down, over);
                continue;
            }
            vec r[LANES];
            load_turned(r, from, ldb);
#pragma GCC unroll 16
            for (int i = 0; i < LANES; i++)
                store_whole(to + i * wide, r[i]);
        }
}

/* size of a panel that stays in the first-level cache while all rows of A pass */
enum { DEPTH = 160 };

/* the start of a product without bias or add */
static const float nothing[TILE_VECS * LANES];

/* the columns from j on, `cols` of them in `vecs` vectors */
static void columns(const struct kern_product *q, int j, int cols, int vecs)
{
    float panel[DEPTH * TILE_VECS * LANES] __attribute__((aligned(64)));
    int passes = (q->k + DEPTH - 1) / DEPTH, wide = vecs * LANES;
    /* tiles of two heights, one row apart, as tall as they can be */
    int count = (q->m + TILE_ROWS[vecs] - 1) / TILE_ROWS[vecs];
    int least = q->m / count, more = q->m % count;
    struct pass p = {.c = q->c + j,
                     .ldb = q->b_transposed ? wide : q->n,
                     .ldc = q->n,
                     .a_row = q->a_transposed ? 1 : q->k,
                     .a_col = q->a_transposed ? q->m : 1,
                     .lanes = cols - (vecs - 1) * LANES};
    int beyond = q->b_transposed ? 0 : wide - cols; /* of B's row, into the next ones */
    int edge = (beyond + q->n - 1) / q->n;
    for (int i = 0; i < passes; i++) {
        int k = passes == 1 ? 0 : (int)((long)q->k * i / passes);
        bool end = i == passes - 1;
        p.k = end ? q->k - k : (int)((long)q->k * (i + 1) / passes) - k;
        p.edge = edge < p.k ? edge : p.k;
        p.b = q->b_transposed ? panel : q->b + (long)k * q->n + j;
        bool add = q->add || i;
        p.start = add ? p.c : q->bias ? q->bias + j : nothing;
        p.ldstart = add ? p.ldc : 0;
        p.gate = q->gate && end ? q->gate + j : NULL;
        p.floor = q->relu && end ? 0.0f : -INFINITY;
        if (q->b_transposed)
            turn_panel(panel, wide, q->b + (long)j * q->k + k, q->k, cols, p.k);
        for (int t = 0, row = 0; t < count; t++) {
            int rows = least + (t < more);
            tiles[vecs][rows](&p, q->a + k * p.a_col, row);
            row += rows;
        }
    }
}

static void product(const struct kern_product *q)
{
    assert(q->m >= 0 && q->n >= 0 && q->k > 0);
    assert(!(q->a_transposed && q->b_transposed) && !(q->add && q->bias));
    if (q->m == 0 || q->n == 0) return;
    int vecs = (q->n + LANES - 1) / LANES;
    int panels = (vecs + TILE_VECS - 1) / TILE_VECS;
    for (int i = 0; i < panels; i++) {
        int from = vecs * i / panels, to = vecs * (i + 1) / panels;
        int j = from * LANES, end = to * LANES < q->n ? to * LANES : q->n;
        columns(q, j, end - j, to - from);
    }
}

/* ==== one row through a layer ====
 * The weights are read as they lie, a vector of one output's at a time; the lanes of LANES
 * outputs are added up together. */

/* Lane i: b[i] plus the product of output i's weights, row i of w (rows, in), with x. rows is
 * LANES at most, a constant where that is known. */
LANE vec dots(const float *w, const float *b, const float *x, int in, int rows)
{
    vec sum[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
        sum[i] = all(0.0f);
    for (int k = 0; k < in; k += LANES) {
        part on = part_of(in - k);
        vec v = load(x + k, on);
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++)
            if (i < rows) sum[i] = multiply_add(load(w + i * in + k, on), v, sum[i]);
    }
    turn(sum);
#pragma GCC unroll 4
    for (int half = LANES / 2; half; half /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < half; i++)
            sum[i] = sum[i] + sum[i + half];
    return load(b, part_of(rows)) + sum[0];
}

/* the same for one output */
LANE float dot(const float *w, const float *x, int in)
{
    vec sum = all(0.0f);
    for (int k = 0; k < in; k += LANES) {
        part on = part_of(in - k);
        sum = multiply_add(load(w + k, on), load(x + k, on), sum);
    }
    return total(sum);
}

static void affine(float *y, const float *w, const float *b, const float *x, int out,
                   int in, bool relu)
{
    enum { FEW = 4 }; /* so many outputs are quicker one by one */
    vec floor = all(relu ? 0.0f : -INFINITY);
    int j = 0;
    for (; j + LANES <= out; j += LANES) {
        vec v = dots(w + (long)j * in, b + j, x, in, LANES);
        store_whole(y + j, not_below(floor, v));
    }
    if (out - j > FEW) {
        vec v = dots(w + (long)j * in, b + j, x, in, out - j);
        store_first(y + j, out - j, not_below(floor, v));
        return;
    }
    for (; j < out; j++) {
        float v = b[j] + dot(w + (long)j * in, x, in);
        y[j] = relu && v < 0.0f ? 0.0f : v;
    }
}

#endif

const struct kern KERN_TABLE = {
    .name = KERN_WORD,
    .product = product,
    .affine = affine,
    .gather = gather,
    .choose = choose,
    .colsum = colsum,
    .adam = adam,
    .sumsq = sumsq,
    .noise = noise,
    .softmax = softmax,
    .exp = exp_all,
};
