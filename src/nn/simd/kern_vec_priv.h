/* kern_vec_priv.h - the vectors of AVX2 and AVX-512 under the same names. */
#ifndef NN_KERN_VEC_PRIV_H
#define NN_KERN_VEC_PRIV_H

#include <immintrin.h>

#define LANE static inline __attribute__((always_inline))

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

/* Each quarter of r[4 q + i] holds 4 floats of row 4 * quarter + i, those from 4 q on;
 * afterwards r holds columns. */
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

/* the columns of LANES rows, `stride` apart; quarters come from memory to where they belong,
 * which spares half of the shuffles */
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
LANE void store(float *x, part on, vec v)
{
    _mm256_maskstore_ps(x, on, v);
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
        r[i] = load(x + i * stride, part_of(LANES));
    turn(r);
}

#endif

#endif
