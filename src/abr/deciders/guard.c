#include "abr/deciders/guard.h"

#include <math.h>
#include <stdbool.h>

#include "abr/emulator/feat.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast.h"

#define WARY 5.0      /* mu_stall over each other weight */
#define SHORT_S 12.0  /* buffer limit */
#define TRUST 0.9     /* of the throughput measured last */
#define RESERVE_S 1.0 /* media that stays in the buffer */

static bool wary(const struct view *v)
{
    return v->buffer_max_s <= SHORT_S && v->n_history > 0 &&
           v->qoe.mu_stall >= WARY * v->qoe.mu_quality &&
           v->qoe.mu_stall >= WARY * v->qoe.mu_switch;
}

static uint32_t ceiled(const struct view *v)
{
    uint32_t levels = feat_mask(v);
    struct forecast_place f = forecast_place_of(v);
    if (!(f.mean_kbps > 0)) return levels;
    double bytes =
        forecast_next_kbps(&f, GUARD_QUANTILE) * exp(-v->margin) * 125 * v->buffer_s;
    for (int k = 1; k < v->levels; k++)
        if (view_bytes(v, k) > bytes) levels &= ~(UINT32_C(1) << k);
    return levels;
}

uint32_t guard_levels(const struct view *v)
{
    uint32_t levels = feat_mask(v);
    if (v->qoe.stall_ratio_max > 0) return ceiled(v);
    if (!wary(v)) return levels;
    double kbps = TRUST * v->throughput_kbps[v->n_history - 1];
    double bytes = kbps * 125 * (v->buffer_s - RESERVE_S);
    for (int k = 1; k < v->levels; k++)
        if (view_bytes(v, k) > bytes) levels &= ~(UINT32_C(1) << k);
    return levels;
}

uint32_t guard_greedy(const struct view *v)
{
    return first_level_is(v) ? UINT32_C(1) << first_level(v) : guard_levels(v);
}
