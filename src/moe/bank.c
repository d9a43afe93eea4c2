#include "moe/bank.h"

#include <math.h>
#include <stdbool.h>

int bank_merge(float *theta_out, const struct mix *m, const float *x)
{
    for (int k = 0; k < m->cfg.experts; k++)
        if (!isfinite(x[k])) return ERR_NUMERIC;

    struct mix_range first = mix_expert(&m->cfg, 0);
    bool finite = true;
    for (size_t i = 0; i < first.n; i++) {
        double sum = 0.0;
        for (int k = 0; k < m->cfg.experts; k++)
            sum += (double)x[k] * (double)m->theta[first.at + (size_t)k * first.n + i];
        theta_out[i] = (float)sum;
        finite = finite && isfinite(theta_out[i]);
    }
    return finite ? 0 : ERR_NUMERIC;
}
