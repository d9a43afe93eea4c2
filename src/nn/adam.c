#include "nn/adam.h"

#include <assert.h>
#include <math.h>

struct adam_cfg adam_cfg_default(void)
{
    return (struct adam_cfg){.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

/* restrict: the compiler vectorises only what it may reorder, see the no-overlap rule */
void adam_step(float *restrict theta, float *restrict m, float *restrict v,
               const float *restrict grad, size_t n, const struct adam_cfg *cfg,
               int64_t t, float scale)
{
    assert(t >= 1);
    float b1 = (float)cfg->beta1, b2 = (float)cfg->beta2;
    float c1 = (float)(1.0 - cfg->beta1), c2 = (float)(1.0 - cfg->beta2);
    float decay = (float)cfg->weight_decay, eps = (float)cfg->eps;
    float rate = (float)(cfg->lr / (1.0 - pow(cfg->beta1, (double)t)));
    float root = (float)(1.0 / sqrt(1.0 - pow(cfg->beta2, (double)t)));

    for (size_t i = 0; i < n; i++) {
        float g = scale * grad[i] + decay * theta[i];
        m[i] = b1 * m[i] + c1 * g;
        v[i] = b2 * v[i] + c2 * g * g;
        theta[i] -= rate * m[i] / (sqrtf(v[i]) * root + eps);
    }
}

double adam_sumsq(const float *grad, size_t n)
{
    /* four sums in a fixed order: independent additions, and the same bytes every time */
    double s[4] = {0.0, 0.0, 0.0, 0.0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t j = 0; j < 4; j++)
            s[j] += (double)grad[i + j] * (double)grad[i + j];
    for (; i < n; i++)
        s[0] += (double)grad[i] * (double)grad[i];
    return s[0] + s[1] + (s[2] + s[3]);
}
