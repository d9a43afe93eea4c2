#include "abr/train/forecast_fit.h"

#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64, Q = FORECAST_QUANTILES, U = FORECAST_OWN_UNITS };
static const double DECAY[2] = {.9, .999}, MEAN_OF = 100; /* steps of the running mean */

struct forecast_fit {
    float weights[FORECAST_OWN], mean[FORECAST_OWN];
    double gradient[FORECAST_OWN], moment[2][FORECAST_OWN];
    uint64_t seed;
    struct rng rng;
    long steps;
};

double forecast_example_of(struct forecast_example *out, const struct view *v)
{
    double entries[FORECAST_ENTRIES], logs[FORECAST_OUTPUTS];
    struct forecast f = {0};
    if (!forecast_look(&f, entries, logs, v)) return 0;
    forecast_own_inputs(out->x, entries, f.mean_kbps);
    for (int j = 0; j < FORECAST_OUTPUTS; j++)
        out->off[j] = (float)-logs[j];
    return f.mean_kbps;
}

void forecast_example_came(struct forecast_example *x, double next_kbps,
                           double later_kbps, double mean_kbps)
{
    for (int j = 0; j < FORECAST_OUTPUTS; j++)
        x->off[j] += (float)log((j < Q ? next_kbps : later_kbps) / mean_kbps);
}

struct forecast_fit *forecast_fit_new(uint64_t seed, struct err *e)
{
    struct forecast_fit *f = calloc(1, sizeof *f);
    if (!f) {
        err_set(e, ERR_MEMORY, "no memory for the fit of the forecast");
        return NULL;
    }
    f->seed = seed;
    rng_init(&f->rng, seed, 0x666f7265);
    forecast_fit_put(f, NULL);
    return f;
}

void forecast_fit_free(struct forecast_fit *f)
{
    free(f);
}

/* The share of downloads below quantile j. */
static double fit_quantile(int j)
{
    double below = 0;
    for (int i = 0; i < j; i++)
        below += forecast_share[i];
    return below + forecast_share[j] / 2;
}

double forecast_fit_loss(const float *weights, const struct forecast_example *x,
                         bool known, double anchor)
{
    float r[FORECAST_OUTPUTS], hidden[2][U];
    forecast_own_network(r, hidden, weights, x->x);
    double sum = 0;
    for (int j = 0; j < FORECAST_OUTPUTS; j++) {
        double q = fit_quantile(j % Q), above = (double)(x->off[j] - r[j]);
        double held = anchor / 2 * (double)(r[j] * r[j]);
        sum += known ? held : above > 0 ? q * above : (q - 1) * above;
    }
    return sum;
}

/* Gradients of a layer (inputs, outputs) whose outputs have the gradient d; down (inputs) those of its
 * inputs, NULL: not needed. A unit at rest passes nothing on. */
static void fit_layer(double *gradient, float *down, const float *w, const float *x,
                      int inputs, const float *d, int outputs)
{
    for (int i = 0; i < inputs; i++) {
        float sum = 0;
        if (x[i] != 0)
            for (int j = 0; j < outputs; j++) {
                gradient[i * outputs + j] += (double)(x[i] * d[j]);
                sum += w[i * outputs + j] * d[j];
            }
        if (down) down[i] = sum;
    }
    for (int j = 0; j < outputs; j++)
        gradient[inputs * outputs + j] += (double)d[j];
}

void forecast_fit_gradient(double *gradient, const float *weights,
                           const struct forecast_example *x, bool known, double anchor,
                           double scale)
{
    float r[FORECAST_OUTPUTS], hidden[2][U], down[2][U];
    forecast_own_network(r, hidden, weights, x->x);
    for (int j = 0; j < FORECAST_OUTPUTS; j++) {
        double d =
            known ? anchor * (double)r[j] : (x->off[j] < r[j]) - fit_quantile(j % Q);
        r[j] = (float)(d * scale);
    }
    fit_layer(gradient + FORECAST_OWN_W3, down[1], weights + FORECAST_OWN_W3, hidden[1],
              U, r, FORECAST_OUTPUTS);
    fit_layer(gradient + FORECAST_OWN_W2, down[0], weights + FORECAST_OWN_W2, hidden[0],
              U, down[1], U);
    fit_layer(gradient, NULL, weights, x->x, FORECAST_OWN_INPUTS, down[0], U);
}

static void fit_adam(struct forecast_fit *f, double rate)
{
    double *m = f->moment[0], *v = f->moment[1], *g = f->gradient;
    f->steps++;
    double warm = 1 - pow(DECAY[0], (double)f->steps);
    double warmer = 1 - pow(DECAY[1], (double)f->steps);
    for (int i = 0; i < FORECAST_OWN; i++) {
        m[i] += (1 - DECAY[0]) * (g[i] - m[i]);
        v[i] += (1 - DECAY[1]) * (g[i] * g[i] - v[i]);
        double step = rate * (m[i] / warm) / (sqrt(v[i] / warmer) + 1e-8);
        f->weights[i] -= (float)step;
        f->mean[i] += (f->weights[i] - f->mean[i]) / (float)MEAN_OF;
    }
}

void forecast_fit_steps(struct forecast_fit *f, const struct forecast_example *own,
                        int n_own, const struct forecast_example *known, int n_known,
                        double anchor, double rate, int steps)
{
    for (int s = 0; s < steps; s++) {
        memset(f->gradient, 0, sizeof f->gradient);
        for (int b = 0; b < BATCH; b++) {
            bool is_known = b % 2;
            const struct forecast_example *x =
                is_known ? &known[rng_below(&f->rng, (uint32_t)n_known)]
                         : &own[rng_below(&f->rng, (uint32_t)n_own)];
            forecast_fit_gradient(f->gradient, f->weights, x, is_known, anchor,
                                  1.0 / BATCH / FORECAST_OUTPUTS);
        }
        fit_adam(f, rate);
    }
}

const float *forecast_fit_weights(const struct forecast_fit *f)
{
    return f->mean;
}

/* The last layer is 0, the others are random (He et al. 2015), so that it can learn. */
static void fit_begin(float *weights, uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0x626567696e);
    memset(weights, 0, sizeof *weights * FORECAST_OWN);
    for (int i = 0; i < FORECAST_OWN_B1; i++)
        weights[i] = (float)(sqrt(2.0 / FORECAST_OWN_INPUTS) * rng_normal(&r));
    for (int i = FORECAST_OWN_W2; i < FORECAST_OWN_B2; i++)
        weights[i] = (float)(sqrt(2.0 / U) * rng_normal(&r));
}

void forecast_fit_put(struct forecast_fit *f, const float *weights)
{
    if (weights)
        memcpy(f->weights, weights, sizeof f->weights);
    else
        fit_begin(f->weights, f->seed);
    memcpy(f->mean, f->weights, sizeof f->mean);
    memset(f->moment, 0, sizeof f->moment);
    f->steps = 0;
}
