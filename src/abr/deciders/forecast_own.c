#include "abr/deciders/forecast_own.h"

#include "policy/policy.h"

#include <math.h>
#include <string.h>

bool forecast_own_drop_foreign(struct policy *p)
{
    uint32_t ours = forecast_crc32();
    bool foreign = p->input_n && (p->input_of != ours || p->input_n != FORECAST_OWN);
    if (foreign) policy_copy_input(p, NULL, 0);
    p->input_of = ours;
    return foreign;
}

void forecast_own_inputs(float *x, const double *entries, double mean_kbps)
{
    for (int i = 0; i < FORECAST_ENTRIES; i++)
        x[i] = (float)entries[i];
    x[FORECAST_ENTRIES] = (float)log(mean_kbps * 1e-3);
}

/* y = W x + b; a row of weights per input, so that the inner loop is one of independent sums. */
static void own_layer(float *y, const float *x, int inputs, const float *w, int outputs)
{
    memcpy(y, w + inputs * outputs, sizeof *y * (size_t)outputs);
    for (int i = 0; i < inputs; i++, w += outputs) {
        if (x[i] == 0) continue;
        for (int j = 0; j < outputs; j++)
            y[j] += w[j] * x[i];
    }
}

static void own_rectify(float y[FORECAST_OWN_UNITS])
{
    for (int k = 0; k < FORECAST_OWN_UNITS; k++)
        y[k] = y[k] > 0 ? y[k] : 0;
}

void forecast_own_network(float *r, float hidden[2][FORECAST_OWN_UNITS],
                          const float *weights, const float *x)
{
    own_layer(hidden[0], x, FORECAST_OWN_INPUTS, weights, FORECAST_OWN_UNITS);
    own_rectify(hidden[0]);
    own_layer(hidden[1], hidden[0], FORECAST_OWN_UNITS, weights + FORECAST_OWN_W2,
              FORECAST_OWN_UNITS);
    own_rectify(hidden[1]);
    own_layer(r, hidden[1], FORECAST_OWN_UNITS, weights + FORECAST_OWN_W3,
              FORECAST_OUTPUTS);
}

double forecast_own_bounded(float r)
{
    return fmax(fmin((double)r, FORECAST_OWN_MOST), -FORECAST_OWN_MOST);
}

void forecast_own_correct(double logs[FORECAST_OUTPUTS], const float *weights,
                          const double *entries, double mean_kbps)
{
    float x[FORECAST_OWN_INPUTS], hidden[2][FORECAST_OWN_UNITS], r[FORECAST_OUTPUTS];
    forecast_own_inputs(x, entries, mean_kbps);
    forecast_own_network(r, hidden, weights, x);
    for (int j = 0; j < FORECAST_OUTPUTS; j++)
        logs[j] += forecast_own_bounded(r[j]);
}
