/* vecmat_quant_priv.h - the body of the quantized kernels, compiled once per instruction set.
 *
 * Two rows at a time: their words side by side make pairs, and one instruction multiplies
 * pairs and adds the two products to a sum of 32 bits. */
#ifndef VECMAT_QUANT_PRIV_H
#define VECMAT_QUANT_PRIV_H

#include "vecmat_kernel_priv.h"

#include <math.h>
#include <string.h>

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

#endif
