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
LANE vec not_below_zero(vec v)
{
    return _mm512_max_ps(_mm512_setzero_ps(), v);
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

/* r holds LANES rows; afterwards its columns */
LANE void turn(vec r[LANES])
{
    vec t[LANES];
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
        vec a = _mm512_unpacklo_ps(r[i], r[i + 1]),
            b = _mm512_unpackhi_ps(r[i], r[i + 1]);
        vec c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]);
        vec d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
        t[i] = _mm512_castpd_ps(
            _mm512_unpacklo_pd(_mm512_castps_pd(a), _mm512_castps_pd(c)));
        t[i + 1] = _mm512_castpd_ps(
            _mm512_unpackhi_pd(_mm512_castps_pd(a), _mm512_castps_pd(c)));
        t[i + 2] = _mm512_castpd_ps(
            _mm512_unpacklo_pd(_mm512_castps_pd(b), _mm512_castps_pd(d)));
        t[i + 3] = _mm512_castpd_ps(
            _mm512_unpackhi_pd(_mm512_castps_pd(b), _mm512_castps_pd(d)));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        vec a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88);
        vec b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd);
        vec c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88);
        vec d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
        r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
        r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
        r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
        r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
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
LANE vec not_below_zero(vec v)
{
    return _mm256_max_ps(_mm256_setzero_ps(), v);
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

#endif

#endif
