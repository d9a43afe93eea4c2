/* guard.h - levels that a classical rule may take under a ceiling of stalls.
 *
 * A profile may have a ceiling of its stalls (qoe.h: stall_ratio_max). For rules that do not weigh stalls,
 * levels are withheld whose chunk would outlast the buffer on a link that disappoints:
 *
 *   8e-3 S_k / c > B,   c = n exp(- margin)
 *
 * S_k size of the next chunk at level k as it counts [bytes] (forecast_bytes), B media in the buffer [s], n the quantile FORECAST_LOW of
 * the forecast [kbit/s] (forecast.h: one download in 6 is slower), margin that of the view. Level 0 is
 * always offered. The policy weighs stalls by the whole forecast instead (plan.h) and needs no guard.
 *
 * Threads: pure function. */
#ifndef ABR_GUARD_H
#define ABR_GUARD_H

#include <stdint.h>

#include "abr/emulator/view.h"

/* Bit k set: level k may be taken. Never without level 0. */
uint32_t guard_levels(const struct view *v);

#endif
