#include "abr/deciders/guard.h"

#include <stdbool.h>

#include "abr/emulator/feat.h"
#include "abr/deciders/first_level.h"

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

uint32_t guard_levels(const struct view *v)
{
    uint32_t levels = feat_mask(v);
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
