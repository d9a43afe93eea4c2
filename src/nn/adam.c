#include "nn/adam.h"

#include "nn/simd/kern.h"

#include <assert.h>
#include <math.h>

struct adam_cfg adam_cfg_default(void)
{
    return (struct adam_cfg){.lr = 3e-4, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
}

void adam_step(float *theta, float *m, float *v, const float *grad, size_t n,
               const struct adam_cfg *cfg, int64_t t, float scale)
{
    assert(t >= 1);
    struct kern_adam c = {
        .scale = scale,
        .decay = (float)cfg->weight_decay,
        .beta1 = (float)cfg->beta1,
        .beta2 = (float)cfg->beta2,
        .c1 = (float)(1.0 - cfg->beta1),
        .c2 = (float)(1.0 - cfg->beta2),
        .rate = (float)(cfg->lr / (1.0 - pow(cfg->beta1, (double)t))),
        .root = (float)(1.0 / sqrt(1.0 - pow(cfg->beta2, (double)t))),
        .eps = (float)cfg->eps,
        .noise = (float)cfg->noise,
        .key = cfg->key,
    };
    kern_best()->adam(theta, m, v, grad, n, &c);
}

double adam_sumsq(const float *grad, size_t n)
{
    return kern_best()->sumsq(grad, n);
}
