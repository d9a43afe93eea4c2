/* kern_noise_priv.h - normal numbers, 16 at a time, for the instruction set of the including
 * file. */
#include "nn/simd/kern.h"

#include <stdint.h>
#include <string.h>

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
 * The top bit is the sign. The others, as an odd number n, are the chance p = n / 2^31 that
 * a normal number lies further out on either side, and x is where that is so: within an
 * octave of p a cubic in p's mantissa, which interpolates at Chebyshev nodes and is off by
 * less than 2.4e-4. Rounding gives n = 2^31 as well: 0. The octave from 2^e has place
 * e + 31 mod 32, where the exponent's low bits are. */
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

/* streams_fill's round, with fewer steps one behind the other */
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
