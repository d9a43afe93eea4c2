#include "learn/inject.h"

#include "nn/simd/kern.h"

#include <math.h>

/* where the tail begins, and the area of each layer, for 128 layers (the paper's values) */
static const double TAIL = 3.442619855899;
static const double AREA = 9.91256303526217e-3;

static double density(double x)
{
    return exp(-0.5 * x * x);
}

void inject_init(struct inject *z)
{
    z->edge[0] = AREA / density(TAIL);
    z->edge[1] = TAIL;
    for (int i = 2; i < INJECT_LAYERS; i++) {
        double x = z->edge[i - 1];
        z->edge[i] = sqrt(-2.0 * log(AREA / x + density(x)));
    }
    z->edge[INJECT_LAYERS] = 0.0;
    for (int i = 0; i < INJECT_LAYERS; i++)
        z->ratio[i] = z->edge[i + 1] / z->edge[i];
}

static double tail(struct rng *r)
{
    double x, y;
    do {
        x = -log(1.0 - rng_uniform(r)) / TAIL;
        y = -log(1.0 - rng_uniform(r));
    } while (y + y < x * x);
    return TAIL + x;
}

double inject_normal(const struct inject *z, struct rng *r)
{
    for (;;) {
        /* one draw: 7 low bits choose the layer, 53 high bits the place in (-1, 1) */
        uint64_t bits = rng_u64(r);
        int i = (int)(bits & (INJECT_LAYERS - 1));
        double u = (double)(bits >> 11) * 0x1p-52 - 1.0;
        if (fabs(u) < z->ratio[i]) return u * z->edge[i];
        if (i == 0) return u < 0.0 ? -tail(r) : tail(r);

        /* between the layer's inner and outer edge: accept under the curve */
        double x = u * z->edge[i];
        double top = density(z->edge[i + 1]), bottom = density(z->edge[i]);
        if (bottom + rng_uniform(r) * (top - bottom) < density(x)) return x;
    }
}

void inject_noise(float *w, size_t n, double scale, struct rng *r)
{
    kern_best()->noise(w, n, (float)scale, rng_u64(r));
}
