/* kern_loops_priv.h - the elementwise kernels, as loops that the compiler vectorises for
 * the instruction set of the including file. Scalars in the code below are lanes. */
#include "nn/kern.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX2__
#include "kern_vec_priv.h"
#else
#define LANE static inline __attribute__((always_inline))
#endif

/* ---- functions of one float */

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

/* ---- sums */

static void colsum(float *restrict s, const float *restrict x, int rows, int n)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < n; j++)
            s[j] += x[(size_t)i * (size_t)n + (size_t)j];
}

/* 32 sums in a fixed order: independent additions, and the same bytes every time */
static double sumsq(const float *x, size_t n)
{
    enum { SUMS = 32 };
    double s[SUMS] = {0.0}, sum = 0.0;
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        for (size_t j = 0; j < SUMS; j++)
            s[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t j = 0; i + j < n; j++)
        s[j] += (double)x[i + j] * (double)x[i + j];
    for (size_t j = 0; j < SUMS; j++)
        sum += s[j];
    return sum;
}

/* ---- Adam */

#ifdef __AVX512F__

/* Root and quotient as estimates of 14 bits with one Newton step each: the machine's own
 * instructions for them take four times as long. */
LANE __m512 root_of(__m512 v)
{
    /* 0 has no reciprocal root; a NaN in v comes through */
    __m512 x = _mm512_max_ps(_mm512_set1_ps(1e-37f), v);
    __m512 y = _mm512_rsqrt14_ps(x), xy = _mm512_mul_ps(x, y);
    __m512 rest = _mm512_fnmadd_ps(xy, y, _mm512_set1_ps(1.0f));
    return _mm512_fmadd_ps(_mm512_mul_ps(xy, _mm512_set1_ps(0.5f)), rest, xy);
}

LANE __m512 quotient(__m512 a, __m512 b)
{
    __m512 y = _mm512_rcp14_ps(b);
    __m512 rest = _mm512_fnmadd_ps(b, y, _mm512_set1_ps(1.0f));
    return _mm512_mul_ps(a, _mm512_fmadd_ps(y, rest, y));
}

static void adam(float *theta, float *m, float *v, const float *grad, size_t n,
                 const struct kern_adam *c)
{
    __m512 scale = _mm512_set1_ps(c->scale), decay = _mm512_set1_ps(c->decay);
    __m512 b1 = _mm512_set1_ps(c->beta1), b2 = _mm512_set1_ps(c->beta2);
    __m512 c1 = _mm512_set1_ps(c->c1), c2 = _mm512_set1_ps(c->c2);
    __m512 rate = _mm512_set1_ps(c->rate), root = _mm512_set1_ps(c->root);
    __m512 eps = _mm512_set1_ps(c->eps);
    for (size_t i = 0; i < n; i += 16) {
        __mmask16 on = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xffff;
        __m512 t = _mm512_maskz_loadu_ps(on, theta + i);
        __m512 g = _mm512_mul_ps(scale, _mm512_maskz_loadu_ps(on, grad + i));
        g = _mm512_fmadd_ps(decay, t, g);
        __m512 mi = _mm512_mul_ps(b1, _mm512_maskz_loadu_ps(on, m + i));
        mi = _mm512_fmadd_ps(c1, g, mi);
        __m512 vi = _mm512_mul_ps(b2, _mm512_maskz_loadu_ps(on, v + i));
        vi = _mm512_fmadd_ps(_mm512_mul_ps(c2, g), g, vi);
        __m512 below = _mm512_fmadd_ps(root_of(vi), root, eps);
        t = _mm512_sub_ps(t, quotient(_mm512_mul_ps(rate, mi), below));
        _mm512_mask_storeu_ps(m + i, on, mi);
        _mm512_mask_storeu_ps(v + i, on, vi);
        _mm512_mask_storeu_ps(theta + i, on, t);
    }
}

#else

/* restrict: the compiler vectorises only what it may reorder, see the no-overlap rule */
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
}

#endif

/* ---- noise */

enum { STREAMS = 16, ROUNDS = 8, HALF = STREAMS * ROUNDS, WHOLE = 2 * HALF };

struct streams {
    uint32_t s[4][STREAMS];
};

/* 32 bits from 64, all of which matter (the finaliser of splitmix64) */
LANE uint32_t hashed(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

static void streams_init(struct streams *g, uint64_t key)
{
    uint32_t *s = g->s[0];
    for (uint64_t i = 0; i < 4 * STREAMS; i++)
        s[i] = hashed(key + i * UINT64_C(0x9e3779b97f4a7c15)) | (i < STREAMS);
}

/* `words` rounds of every stream: out (words, STREAMS) */
static void streams_fill(uint32_t *restrict out, struct streams *restrict g, int words)
{
    struct streams l = *g;
    for (int w = 0; w < words; w++, out += STREAMS)
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

/* Two normal numbers from a length and an angle. The angle's top bits say whether sine and
 * cosine change places and the cosine its sign; the rest lies within an eighth of a turn
 * on both sides of 0. */
LANE void box_muller(float *x, float *y, uint32_t length, uint32_t angle, float scale)
{
    float u = ((float)(int32_t)(length >> 1) + 0.5f) * 0x1p-31f; /* (0, 1] */
    float r = scale * sqrtf(-2.0f * lane_log(u));
    float t = (float)((int32_t)(angle << 2) >> 2) * 0x1p-30f; /* -1/2 .. 1/2 quarters */
    float q = t * t;
    float sine = -0.0046021492f, cosine = -0.0204081584f;
    sine = sine * q + 0.0796802176f;
    sine = sine * q - 0.6459634777f;
    sine = r * t * (sine * q + 1.5707963220f);
    cosine = cosine * q + 0.2535986713f;
    cosine = cosine * q - 1.2336970074f;
    cosine = cosine * q + 0.9999999723f;
    cosine = float_of(bits_of(r * cosine) ^ (angle & 0x80000000u));
    uint32_t swap = (uint32_t)((int32_t)(angle << 1) >> 31);
    uint32_t c = bits_of(cosine), s = bits_of(sine), both = (c ^ s) & swap;
    *x = float_of(c ^ both);
    *y = float_of(s ^ both);
}

/* WHOLE numbers at a time; the draws of a whole block are used up even by a short one */
static void noise(float *w, size_t n, float scale, uint64_t key)
{
    struct streams g;
    uint32_t bits[WHOLE];
    float x[HALF], y[HALF];
    streams_init(&g, key);
    while (n > 0) {
        streams_fill(bits, &g, 2 * ROUNDS);
        for (int i = 0; i < HALF; i++)
            box_muller(&x[i], &y[i], bits[i], bits[HALF + i], scale);
        size_t first = n < HALF ? n : HALF, second = n < WHOLE ? n - first : HALF;
        for (size_t i = 0; i < first; i++)
            w[i] += x[i];
        for (size_t i = 0; i < second; i++)
            w[HALF + i] += y[i];
        w += first + second;
        n -= first + second;
    }
}

/* ---- softmax */

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

/* t holds x and receives ln p, e receives p; `lanes` of both are in use, a constant
 * wherever this is expanded */
LANE void softmax_columns(float (*e)[ROWS], float (*t)[ROWS], float *h,
                          const uint32_t *bits, int n, int lanes)
{
    float top[ROWS], sum[ROWS], ln[ROWS];
    for (int i = 0; i < lanes; i++)
        top[i] = -INFINITY, sum[i] = 0.0f, h[i] = 0.0f;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < lanes; i++) { /* a NaN wins and stays, or is seen in sum */
            float x = !bits || bits[i] >> j & 1 ? t[j][i] : -INFINITY;
            top[i] = x < top[i] ? top[i] : x;
            t[j][i] = x;
        }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < lanes; i++) {
            float d = t[j][i] -= top[i];
            e[j][i] = d == -INFINITY ? 0.0f : lane_exp(d < -87.0f ? -87.0f : d);
            sum[i] += e[j][i];
        }
    for (int i = 0; i < lanes; i++) {
        ln[i] = lane_log(sum[i]) + (sum[i] - sum[i]); /* NaN stays NaN */
        sum[i] = 1.0f / sum[i];
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < lanes; i++) {
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
    softmax_columns(e, t, h, mask ? bits : NULL, n, ROWS);
    to_rows(p, e, rows, n);
    if (logp) to_rows(logp, t, rows, n);
    if (entropy) memcpy(entropy, h, sizeof *h * (size_t)rows);
}

/* the same for one row, without the lanes that nobody would look at */
static void softmax_row(float *p, float *logp, float *entropy, const float *x,
                        const uint32_t *mask, int n)
{
    float t[KERN_SOFTMAX_MAX][ROWS], e[KERN_SOFTMAX_MAX][ROWS], h[ROWS];
    for (int j = 0; j < n; j++)
        t[j][0] = x[j];
    softmax_columns(e, t, h, mask, n, 1);
    for (int j = 0; j < n; j++)
        p[j] = e[j][0];
    for (int j = 0; logp && j < n; j++)
        logp[j] = t[j][0];
    if (entropy) *entropy = h[0];
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
