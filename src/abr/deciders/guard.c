#include "abr/deciders/guard.h"

#include "abr/deciders/forecast.h"
#include "abr/emulator/feat.h"

#include <math.h>

uint32_t guard_levels(const struct view *v)
{
    uint32_t levels = feat_mask(v);
    if (!(v->qoe.stall_ratio_max > 0)) return levels;
    struct forecast f = forecast_of(v);
    if (!(f.mean_kbps > 0)) return levels;
    double bytes = f.next_kbps[FORECAST_LOW] * exp(-v->margin) * 125 * v->buffer_s;
    for (int k = 1; k < v->levels; k++)
        if (forecast_bytes(&f, view_bytes(v, k)) > bytes) levels &= ~(UINT32_C(1) << k);
    return levels;
}
