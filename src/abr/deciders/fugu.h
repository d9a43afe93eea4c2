/* fugu.h - stochastic model predictive control on a learned distribution of download times.
 *
 *   V_j(a, b) = max_k  E_c [ reward(k | a, stall) + V_{j+1}(k, b') ],   V_{H+1} = 0
 *   d = 8 S_k / c,  S_k as it counts (forecast_bytes),  stall = max(0, d - b),  b' = min(max(b - d, 0) + chunk_s, limit)
 *
 * H = 5. For each chunk c is drawn again: it is factor times a quantile of forecast.h for the next
 * chunk, each by its share. The buffer b is rounded down to a grid of BINS values between 0 and the
 * limit. A factor below 1 makes the plan cautious.
 *
 * Settings (settings.h): factor.
 *
 * Source: Fugu in Puffer (Yan et al., NSDI 2020): value iteration over a distribution of transmission
 * times. Differs: their network reads TCP statistics and gives a histogram; ours reads the history of
 * throughputs and gives quantiles.
 * Threads: not shared, one per thread. A decision allocates nothing. */
#ifndef ABR_FUGU_H
#define ABR_FUGU_H

#include "abr/deciders/algo.h"

int fugu_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
