#include "lab/gates/residual.h"

#include <math.h>
#include <stddef.h>

static const double SQRT_HALF = .70710678118654752440084436210485;
static const double DENSITY_0 = .39894228040143267793994605993438; /* 1 / sqrt(2 pi) */

double residual_gelu(double x, double *slope)
{
    double below = .5 * erfc(-x * SQRT_HALF);
    if (slope) *slope = below + x * DENSITY_0 * exp(-.5 * x * x);
    return x * below;
}

/* sigma(u) and its derivative; not for the linear gate */
static double activation(enum residual_kind kind, double u, double *slope)
{
    if (kind == RESIDUAL_GELU) return residual_gelu(u, slope);
    double y = kind == RESIDUAL_TANH ? tanh(u) : 1 / (1 + exp(-u));
    *slope = kind == RESIDUAL_TANH ? 1 - y * y : y * (1 - y);
    return y;
}

struct residual_at residual_score(const struct residual *g, double s)
{
    if (g->kind == RESIDUAL_LINEAR) return (struct residual_at){.score = s, .by_s = 1};
    double slope, y = activation(g->kind, g->tau * s, &slope);
    return (struct residual_at){.score = s + g->alpha * y,
                                .by_s = 1 + g->alpha * g->tau * slope,
                                .by_alpha = y,
                                .by_tau = g->alpha * s * slope};
}

const char *residual_word(enum residual_kind kind)
{
    static const char *const words[RESIDUAL_KINDS] = {"linear", "tanh", "sigmoid",
                                                      "GELU"};
    return words[kind];
}
