#include "abr/train/forecast_fit.h"

#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { BATCH = 64, Q = FORECAST_QUANTILES, U = FORECAST_OWN_UNITS };
static const float DECAY[2] = {.9f, .999f};

struct fit {
    float *weights; /* (FORECAST_OWN), the caller's */
    float gradient[FORECAST_OWN], moment[2][FORECAST_OWN];
};

struct forecast forecast_example_of(struct forecast_example *out, const struct view *v)
{
    double entries[FORECAST_ENTRIES], logs[FORECAST_OUTPUTS];
    struct forecast f = {0};
    if (!forecast_look(&f, entries, logs, v)) return f;
    forecast_own_inputs(out->history.x, entries, f.mean_kbps);
    for (int j = 0; j < FORECAST_OUTPUTS; j++)
        out->off[j] = (float)-logs[j];
    return f;
}

void forecast_example_came(struct forecast_example *x, const struct forecast *f,
                           double next_kbps, double next_bytes, double later_kbps)
{
    double usual_kbps = forecast_usual_kbps(f, next_kbps, next_bytes);
    for (int j = 0; j < FORECAST_OUTPUTS; j++)
        x->off[j] += (float)log((j < Q ? usual_kbps : later_kbps) / f->mean_kbps);
}

/* The share of downloads below each quantile. */
static void fit_quantiles(double q[FORECAST_OUTPUTS])
{
    double below = 0;
    for (int i = 0; i < Q; i++) {
        q[i] = q[Q + i] = below + forecast_share[i] / 2;
        below += forecast_share[i];
    }
}

/* The loss of a known example's correction r, and its slope. */
static double held_loss(double r)
{
    double size = fabs(r);
    return size < FORECAST_FIT_FREE ? r * r / (2 * FORECAST_FIT_FREE)
                                    : size - FORECAST_FIT_FREE / 2;
}

static double held_slope(double r)
{
    return fmax(fmin(r / FORECAST_FIT_FREE, 1), -1);
}

double forecast_fit_loss(const float *weights, const struct forecast_history *x,
                         const float *off, double anchor)
{
    float r[FORECAST_OUTPUTS], hidden[2][U];
    double q[FORECAST_OUTPUTS], sum = 0;
    forecast_own_network(r, hidden, weights, x->x);
    fit_quantiles(q);
    for (int j = 0; j < FORECAST_OUTPUTS; j++) {
        double served = forecast_own_bounded(r[j]);
        if (!off) {
            sum += anchor * held_loss(served);
            continue;
        }
        double above = (double)off[j] - served;
        sum += above > 0 ? q[j] * above : (q[j] - 1) * above;
    }
    return sum;
}

/* Gradients of a layer (inputs, outputs) whose outputs have the gradient d; down (inputs) those of its
 * inputs, NULL: not needed. A unit at rest passes nothing on. */
static void fit_layer(float *gradient, float *down, const float *w, const float *x,
                      int inputs, const float *d, int outputs)
{
    for (int i = 0; i < inputs; i++) {
        float sum = 0;
        if (x[i] != 0)
            for (int j = 0; j < outputs; j++) {
                gradient[i * outputs + j] += x[i] * d[j];
                sum += w[i * outputs + j] * d[j];
            }
        if (down) down[i] = sum;
    }
    for (int j = 0; j < outputs; j++)
        gradient[inputs * outputs + j] += d[j];
}

void forecast_fit_gradient(float *gradient, const float *weights,
                           const struct forecast_history *x, const float *off,
                           double anchor, double scale)
{
    float r[FORECAST_OUTPUTS], hidden[2][U], down[2][U];
    double q[FORECAST_OUTPUTS];
    forecast_own_network(r, hidden, weights, x->x);
    fit_quantiles(q);
    for (int j = 0; j < FORECAST_OUTPUTS; j++) {
        double d = off ? (off[j] < r[j]) - q[j] : anchor * held_slope((double)r[j]);
        bool outwards = fabs((double)r[j]) >= FORECAST_OWN_MOST && (d < 0) == (r[j] > 0);
        r[j] = outwards ? 0 : (float)(d * scale);
    }
    fit_layer(gradient + FORECAST_OWN_W3, down[1], weights + FORECAST_OWN_W3, hidden[1],
              U, r, FORECAST_OUTPUTS);
    fit_layer(gradient + FORECAST_OWN_W2, down[0], weights + FORECAST_OWN_W2, hidden[0],
              U, down[1], U);
    fit_layer(gradient, NULL, weights, x->x, FORECAST_OWN_INPUTS, down[0], U);
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

/* step: 1, 2, ... */
static void fit_adam(struct fit *f, int step, double rate)
{
    float *m = f->moment[0], *v = f->moment[1];
    double warm = 1 - pow((double)DECAY[0], step);
    float size = (float)(rate / warm);
    float warmer = (float)(1 - pow((double)DECAY[1], step));
    for (int i = 0; i < FORECAST_OWN; i++) {
        float g = f->gradient[i];
        m[i] += (1 - DECAY[0]) * (g - m[i]);
        v[i] += (1 - DECAY[1]) * (g * g - v[i]);
        f->weights[i] -= size * m[i] / (sqrtf(v[i] / warmer) + 1e-8f);
    }
}

void forecast_fit(float *weights, const struct forecast_fit_cfg *cfg,
                  const struct forecast_lesson *lesson)
{
    struct fit f = {.weights = weights};
    struct rng r;
    rng_init(&r, cfg->seed, 0x666f7265);
    fit_begin(weights, cfg->seed);
    for (int s = 0; s < cfg->steps; s++) {
        memset(f.gradient, 0, sizeof f.gradient);
        for (int b = 0; b < BATCH; b++) {
            bool known = b % 2;
            int n = known ? lesson->n_known : lesson->n_own;
            uint32_t at = rng_below(&r, (uint32_t)n);
            forecast_fit_gradient(f.gradient, weights,
                                  known ? &lesson->known[at] : &lesson->own[at].history,
                                  known ? NULL : lesson->own[at].off, cfg->anchor,
                                  1.0 / BATCH / FORECAST_OUTPUTS);
        }
        fit_adam(&f, s + 1, cfg->rate * (1 - (double)s / cfg->steps));
    }
}
