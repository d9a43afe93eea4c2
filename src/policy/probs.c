#include "policy/probs.h"

#include "policy/mix.h"
#include "nn/act.h"

#include <assert.h>
#include <float.h>
#include <math.h>

void probs_forward(float *y, float *e, const float *gate, int n, int experts, int out)
{
    assert(experts > 0 && experts <= MIX_EXPERTS_MAX);
    size_t width = (size_t)out, rows = (size_t)n, count = (size_t)experts;
    for (size_t i = 0; i < rows * count; i++) {
        float *row = e + i * width, lse = act_lse(row, out);
        for (size_t j = 0; j < width; j++)
            row[j] -= lse;
    }

    for (size_t i = 0; i < rows; i++) {
        float ln_p[MIX_EXPERTS_MAX], term[MIX_EXPERTS_MAX];
        for (size_t k = 0; k < count; k++)
            ln_p[k] = logf(gate[i * count + k]);
        for (size_t j = 0; j < width; j++) {
            for (size_t k = 0; k < count; k++)
                term[k] = ln_p[k] + e[(k * rows + i) * width + j];
            y[i * width + j] = act_lse(term, experts);
        }
    }
}

void probs_backward(float *de, float *dgate, const float *dy, const float *y,
                    const float *ln_q, const float *gate, int n, int experts, int out,
                    int k)
{
    size_t width = (size_t)out, rows = (size_t)n, count = (size_t)experts;
    for (size_t i = 0; i < rows; i++) {
        const float *q = ln_q + ((size_t)k * rows + i) * width;
        float *d = de + i * width, p = gate[i * count + (size_t)k];
        float ln_p = logf(p), sum = 0.0f;
        for (size_t j = 0; j < width; j++) {
            d[j] = expf(ln_p + q[j] - y[i * width + j]) * dy[i * width + j];
            sum += d[j];
        }
        for (size_t j = 0; j < width; j++)
            d[j] -= expf(q[j]) * sum;
        /* a gate of 0 gave the sum 0; one below the normal range must not overflow */
        dgate[i * count + (size_t)k] = sum / fmaxf(p, FLT_MIN);
    }
}
