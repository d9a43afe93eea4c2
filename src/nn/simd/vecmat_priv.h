/* vecmat_priv.h - the body of the kernels of vecmat.h, compiled once per instruction set. The flags of
 * the including file choose the vector's width. */
#include "nn/simd/vecmat.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined __AVX512F__
enum { W = 16 };
#elif defined __AVX2__ && defined __FMA__
enum { W = 8 };
#else
enum { W = 4 };
#endif

typedef float vec __attribute__((vector_size(4 * W)));
typedef int32_t ivec __attribute__((vector_size(4 * W)));
typedef float loose __attribute__((vector_size(4 * W), aligned(4), may_alias));

#if defined __AVX512F__
#include <immintrin.h>
#define FMA(a, b, c) ((vec)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#elif defined __AVX2__ && defined __FMA__
#include <immintrin.h>
#define FMA(a, b, c) ((vec)_mm256_fmadd_ps((__m256)(a), (__m256)(b), (__m256)(c)))
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

/* b when one of them is NaN */
#if defined __AVX512F__
#define MAX(a, b) ((vec)_mm512_max_ps((__m512)(a), (__m512)(b)))
#else
#define MAX(a, b) pick((a) > (b), a, b)
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE vec splat(float x)
{
    return x - (vec){0};
}

INLINE vec load(const float *x)
{
    return *(const loose *)x;
}

/* a where the mask is set, else b */
INLINE vec pick(ivec mask, vec a, vec b)
{
    return (vec)(((ivec)a & mask) | ((ivec)b & ~mask));
}

/* v vectors of y at once, u inputs side by side, so that enough sums are in flight to hide the latency
 * of an addition. v and u are constants where this is inlined. */
INLINE void block(float *y, const float *w, const float *b, const float *x, const int *at,
                  int n, int pad, bool relu, int v, int u)
{
    vec sum[8];
    for (int c = 0; c < v * u; c++)
        sum[c] = c < v ? load(b + c * W) : (vec){0};

    int i = 0;
    for (; i + u <= n; i += u)
        for (int r = 0; r < u; r++) {
            const float *row = w + (size_t)at[i + r] * (size_t)pad;
            vec xs = splat(x[at[i + r]]);
            for (int c = 0; c < v; c++)
                sum[r * v + c] = FMA(xs, load(row + c * W), sum[r * v + c]);
        }
    for (; i < n; i++) {
        const float *row = w + (size_t)at[i] * (size_t)pad;
        vec xs = splat(x[at[i]]);
        for (int c = 0; c < v; c++)
            sum[c] = FMA(xs, load(row + c * W), sum[c]);
    }

    for (int c = 0; c < v; c++) {
        for (int half = u / 2; half; half /= 2)
            for (int r = 0; r < half; r++)
                sum[r * v + c] += sum[(r + half) * v + c];
        if (relu) sum[c] = pick(sum[c] < (vec){0}, (vec){0}, sum[c]);
        *(loose *)(y + c * W) = sum[c];
    }
}

static void affine(float *y, const float *w, const float *b, const float *x,
                   const int *at, int n, int pad, bool relu)
{
    int c = 0;
    for (; c + 8 * W <= pad; c += 8 * W)
        block(y + c, w + c, b + c, x, at, n, pad, relu, 8, 1);
    if (c + 4 * W <= pad) {
        block(y + c, w + c, b + c, x, at, n, pad, relu, 4, 2);
        c += 4 * W;
    }
    if (c + 2 * W <= pad) {
        block(y + c, w + c, b + c, x, at, n, pad, relu, 2, 4);
        c += 2 * W;
    }
    if (c + W <= pad) block(y + c, w + c, b + c, x, at, n, pad, relu, 1, 8);
}

/* Places are counted without a branch, since no predictor knows which units are active. */
static int nonzero(int *at, const float *x, int n)
{
    int found = 0, i = 0;
#if defined __AVX512F__
    __m512i place =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + W <= n; i += W) {
        __mmask16 m =
            _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_setzero_ps(), _CMP_NEQ_UQ);
        /* places behind the found ones are overwritten later; at has room since found <= i */
        _mm512_storeu_si512(at + found, _mm512_maskz_compress_epi32(m, place));
        found += __builtin_popcount(m);
        place = _mm512_add_epi32(place, _mm512_set1_epi32(W));
    }
#endif
    for (; i < n; i++) {
        at[found] = i;
        found += x[i] != 0.0f;
    }
    at[found] = 0;
    return found;
}

/* e^x = 2^k e^r with k = round(x / ln 2), |r| <= ln 2 / 2: the Taylor polynomial of e^r
 * to r^7 is exact to 6e-9. ln 2 in two parts keeps r exact. */
INLINE vec exponential(vec v)
{
    vec low = splat(-87.0f);
    ivec tiny = v < low;
    v = pick(tiny, low, v);
    /* adding 1.5 * 2^23 rounds to an integer */
    vec shifted = FMA(v, splat(0x1.715476p+0f), splat(0x1.8p23f));
    vec k = shifted - splat(0x1.8p23f);
    vec r = FMA(k, splat(-0x1.62e4p-1f), v);
    r = FMA(k, splat(-0x1.7f7d1cp-20f), r);
    vec p = splat(1.0f / 5040);
    p = FMA(p, r, splat(1.0f / 720));
    p = FMA(p, r, splat(1.0f / 120));
    p = FMA(p, r, splat(1.0f / 24));
    p = FMA(p, r, splat(1.0f / 6));
    p = FMA(p, r, splat(0.5f));
    p = FMA(p, r, splat(1.0f));
    p = FMA(p, r, splat(1.0f));
    ivec power = ((ivec)shifted - (ivec)splat(0x1.8p23f) + 127) << 23;
    return pick(tiny, (vec){0}, p * (vec)power);
}

/* The largest lane of a vector, found by halves. */
INLINE float largest(vec v)
{
#if defined __AVX512F__
    return _mm512_reduce_max_ps((__m512)v);
#else
    float x[W];
    *(loose *)x = v;
    for (int half = W / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            x[i] = x[i + half] > x[i] ? x[i + half] : x[i];
    return x[0];
#endif
}

INLINE float total(vec v)
{
#if defined __AVX512F__
    return _mm512_reduce_add_ps((__m512)v);
#else
    float x[W];
    *(loose *)x = v;
    for (int half = W / 2; half; half /= 2)
        for (int i = 0; i < half; i++)
            x[i] += x[i + half];
    return x[0];
#endif
}

/* Lanes i .. of x where the mask's bit is set, -inf in the other lanes. */
INLINE vec chosen_lanes(const float *x, int i, uint64_t mask)
{
#if defined __AVX512F__
    return (vec)_mm512_mask_loadu_ps(_mm512_set1_ps(-__builtin_inff()),
                                     (__mmask16)(mask >> i), x + i);
#else
    ivec set;
    for (int k = 0; k < W; k++)
        set[k] = -(int32_t)(mask >> (i + k) & 1);
    return pick(set, load(x + i), splat(-__builtin_inff()));
#endif
}

static float softmax(float *p, float *sum, const float *x, int n, uint64_t mask)
{
    vec most = chosen_lanes(x, 0, mask), all = {0};
    for (int i = W; i < n; i += W) {
        vec v = chosen_lanes(x, i, mask);
        most = pick(v > most, v, most);
    }
    float top = largest(most);
    for (int i = 0; i < n; i += W) {
        vec e = exponential(chosen_lanes(x, i, mask) - splat(top));
        *(loose *)(p + i) = e;
        all += e;
    }
    *sum = total(all);
    vec scale = splat(1.0f / *sum);
    for (int i = 0; i < n; i += W)
        *(loose *)(p + i) *= scale;
    return top;
}

/* ==== quantized layers ====
 * Two rows at a time: their words side by side make pairs, and one instruction multiplies
 * pairs and adds the two products to a sum of 32 bits. */

#if defined __AVX512BW__ && defined __AVX512VNNI__
typedef __m512i words;
#define WORDS_LOAD(p) _mm512_loadu_si512(p)
#define WORDS_LOW(a, b) _mm512_unpacklo_epi16(a, b)
#define WORDS_HIGH(a, b) _mm512_unpackhi_epi16(a, b)
#define WORDS_ADD(sum, a, b) _mm512_dpwssd_epi32(sum, a, b)
#define WORDS_SPLAT(x) _mm512_set1_epi32(x)
#define WORDS_FLOAT(a) ((vec)_mm512_cvtepi32_ps(a))
#elif defined __AVX2__
typedef __m256i words;
#define WORDS_LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define WORDS_LOW(a, b) _mm256_unpacklo_epi16(a, b)
#define WORDS_HIGH(a, b) _mm256_unpackhi_epi16(a, b)
#define WORDS_ADD(sum, a, b) _mm256_add_epi32(sum, _mm256_madd_epi16(a, b))
#define WORDS_SPLAT(x) _mm256_set1_epi32(x)
#define WORDS_FLOAT(a) ((vec)_mm256_cvtepi32_ps(a))
#elif defined __SSE2__
#include <emmintrin.h>
typedef __m128i words;
#define WORDS_LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define WORDS_LOW(a, b) _mm_unpacklo_epi16(a, b)
#define WORDS_HIGH(a, b) _mm_unpackhi_epi16(a, b)
#define WORDS_ADD(sum, a, b) _mm_add_epi32(sum, _mm_madd_epi16(a, b))
#define WORDS_SPLAT(x) _mm_set1_epi32(x)
#define WORDS_FLOAT(a) ((vec)_mm_cvtepi32_ps(a))
#endif

#ifdef WORDS_LOAD

/* v vectors of a row at once, so 2 v sums in flight. v is a constant where this is inlined;
 * c: which vectors of the row */
INLINE void quant_block(float *y, const struct vecmat_quant *m,
                        const struct vecmat_entries *x, bool relu, int c, int v)
{
    words sum[8];
    for (int i = 0; i < 2 * v; i++)
        sum[i] = WORDS_SPLAT(0);
    const int16_t *w = m->q + 2 * W * c;
    for (int i = 0; i < x->n; i += 2) {
        const int16_t *a = w + (size_t)x->at[i] * (size_t)m->pad;
        const int16_t *b = w + (size_t)x->at[i + 1] * (size_t)m->pad;
        int32_t both;
        memcpy(&both, x->q + i, sizeof both);
        words xs = WORDS_SPLAT(both);
        for (int k = 0; k < v; k++) {
            words ra = WORDS_LOAD(a + 2 * W * k), rb = WORDS_LOAD(b + 2 * W * k);
            sum[2 * k] = WORDS_ADD(sum[2 * k], WORDS_LOW(ra, rb), xs);
            sum[2 * k + 1] = WORDS_ADD(sum[2 * k + 1], WORDS_HIGH(ra, rb), xs);
        }
    }
    vec unit = splat(x->step);
    for (int k = 0; k < 2 * v; k++) {
        /* a row's low words are the first half of a block of columns */
        int part = (c + k / 2) * W;
        int at = part / 16 * VECMAT_BLOCK + part % 16 + k % 2 * 16;
        vec s = WORDS_FLOAT(sum[k]) * (unit * load(m->step + at)) + load(m->bias + at);
        if (relu) s = pick(s < (vec){0}, (vec){0}, s);
        *(loose *)(y + at) = s;
    }
}

static void quant_affine(float *y, const struct vecmat_quant *m,
                         const struct vecmat_entries *x, bool relu)
{
    int c = 0, vectors = m->pad / (2 * W);
    for (; c + 4 <= vectors; c += 4)
        quant_block(y, m, x, relu, c, 4);
    if (c + 2 <= vectors) {
        quant_block(y, m, x, relu, c, 2);
        c += 2;
    }
    if (c < vectors) quant_block(y, m, x, relu, c, 1);
}

#else

static void quant_affine(float *y, const struct vecmat_quant *m,
                         const struct vecmat_entries *x, bool relu)
{
    for (int c = 0; c < m->pad; c++) {
        const int16_t *w = m->q + vecmat_word(c);
        int32_t sum = 0;
        for (int i = 0; i < x->n; i++)
            sum += w[(size_t)x->at[i] * (size_t)m->pad] * x->q[i];
        float s = (float)sum * (x->step * m->step[c]) + m->bias[c];
        y[c] = relu && s < 0.0f ? 0.0f : s;
    }
}

#endif

/* Largest and sum of |x|; two sums at a time, as each waits for the one before. */
INLINE void sizes(float *most, float *all, const float *x, int n)
{
    vec m[2] = {{0}, {0}}, s[2] = {{0}, {0}};
    int i = 0;
    for (; i + 2 * W <= n; i += 2 * W)
        for (int k = 0; k < 2; k++) {
            vec v = (vec)((ivec)load(x + i + k * W) & INT32_MAX);
            m[k] = MAX(v, m[k]);
            s[k] += v;
        }
    *most = largest(MAX(m[0], m[1]));
    *all = total(s[0] + s[1]);
    for (; i < n; i++) {
        float v = fabsf(x[i]);
        *most = v > *most ? v : *most;
        *all += v;
    }
}

/* 1 / t, below infinity; NaN when the sum is not finite */
INLINE float quant_scale(float most, float all, int n)
{
    float a = VECMAT_ENTRY_MAX / most, b = (float)(VECMAT_SUM_MAX - n) / all;
    float scale = a < b ? a : b;
    return all - all == 0.0f ? scale < 1e30f ? scale : 1e30f : NAN;
}

static float quantize(int16_t *q, const float *x, int n)
{
    float most, all;
    sizes(&most, &all, x, n);
    float scale = quant_scale(most, all, n);
    int found = 0, i = 0;
#if defined __AVX512BW__
    for (; i + W <= n; i += W) {
        __m512 v = _mm512_loadu_ps(x + i);
        __mmask16 m = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NEQ_UQ);
        __m512i whole = _mm512_cvtps_epi32(_mm512_mul_ps(v, _mm512_set1_ps(scale)));
        /* what lies behind the found ones is written over, and q has room */
        _mm256_storeu_si256((__m256i *)(void *)(q + found),
                            _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(m, whole)));
        found += __builtin_popcount(m);
    }
#endif
    for (; i < n; i++) {
        q[found] = (int16_t)lrintf(x[i] * scale);
        found += x[i] != 0.0f;
    }
    q[found] = 0;
    return 1.0f / scale;
}
