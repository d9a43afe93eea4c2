#include "learn/gae.h"

#include <assert.h>

void gae_compute(float *advantage, float *target, const float *reward, const float *value,
                 const float *boot, const uint8_t *last, int n, double gamma,
                 double lambda)
{
    assert(n == 0 || last[n - 1]);
    double a = 0.0;
    for (int t = n - 1; t >= 0; t--) {
        double next = last[t] ? (double)boot[t] : (double)value[t + 1];
        double later = last[t] ? 0.0 : a;
        double delta = (double)reward[t] + gamma * next - (double)value[t];
        a = delta + gamma * lambda * later;
        advantage[t] = (float)a;
        target[t] = (float)(a + (double)value[t]);
    }
}
