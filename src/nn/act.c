#include "nn/act.h"

#include <assert.h>
#include <math.h>

void act_relu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = x[i] < 0.0f ? 0.0f : x[i];
}

int act_argmax(const float *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[best]) && !isnan(x[i]))) best = i;
    return best;
}

float act_softmax(float *p, const float *x, int n)
{
    assert(n > 0);
    float top = x[act_argmax(x, n)], sum = 0.0f;
    for (int i = 0; i < n; i++) {
        p[i] = expf(x[i] - top);
        sum += p[i];
    }
    /* p may be x, so what is needed of x has been read by now */
    float scale = 1.0f / sum;
    for (int i = 0; i < n; i++)
        p[i] *= scale;
    return top + logf(sum);
}

float act_lse(const float *x, int n)
{
    assert(n > 0);
    float top = x[act_argmax(x, n)], sum = 0.0f;
    for (int i = 0; i < n; i++)
        sum += expf(x[i] - top);
    return top + logf(sum);
}
