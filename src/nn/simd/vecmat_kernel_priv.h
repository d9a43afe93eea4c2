/* vecmat_kernel_priv.h - the body of the kernels, compiled once per instruction set. The flags of
 * the including file choose the vector's width. */
#ifndef VECMAT_KERNEL_PRIV_H
#define VECMAT_KERNEL_PRIV_H

#include "vecmat_priv.h"

#include <stddef.h>
#include <stdint.h>

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

/* b where one of them is NaN */
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

/* v vectors of y at once; u inputs side by side, so that there are always enough sums in
 * flight to hide the latency of an addition. v and u are constants where this is inlined.
 */
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

/* Places are counted without a branch: which unit is active is as good as a coin's toss. */
static int nonzero(int *at, const float *x, int n)
{
    int found = 0, i = 0;
#if defined __AVX512F__
    __m512i place =
        _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + W <= n; i += W) {
        __mmask16 m =
            _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_setzero_ps(), _CMP_NEQ_UQ);
        /* what lies behind the found ones is written over, and at has room: found <= i */
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
    /* 1.5 * 2^23: what is added to it is rounded to an integer */
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

/* Over the lanes of a vector, in halves. */
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

/* Lanes i .. of x whose bit is set in the mask, -inf in the others. */
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

#endif
