/* kern_adam_priv.h - the Adam step, for the instruction set of the including file. */
#include "nn/simd/kern.h"

#include <math.h>

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
    if (c->noise != 0.0f) noise(theta, n, c->noise, c->key);
}

#endif
