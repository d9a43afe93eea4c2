/* soda.h - SODA: smoothness-optimised dynamic adaptation, planned in time instead of chunks.
 *
 *   minimise over monotone (r_1 .. r_N):
 *     sum_n  v(r_n) w dt / (r_n dt0)  +  beta b(x_n)  +  gamma (v(r_n) - v(r_{n-1}))^2
 *   x_n = min(x_{n-1} + w dt / r_n - dt, limit)
 *   v(r) = ln(r_max / r)
 *   b(x) = (x - target)^2 below the target, and EPSILON (x - target)^2 above it, per dt0^2
 *
 * For viewers in points v(r) is the quality that r lacks to the best level (simple_points).
 *
 * N = 5 steps of dt = chunk_s seconds; w is the harmonic mean of the last 5 throughputs; dt0 = 4 s
 * makes beta and gamma independent of the chunk length. A step downloads w dt / r seconds of media,
 * so distortion is weighted by what is downloaded. A plan rises only or falls only. A plan that
 * empties the buffer (x_n < 0) is taken only if all do; then the lowest level is chosen.
 *
 * Settings (settings.h): target (share of the buffer limit), beta, gamma.
 *
 * Source: Chen et al., SODA, SIGCOMM 2024, which allows any distortion v that falls with r. Differs:
 * the throughput forecast, the dt0, the limit in x_n, and v in points are ours. Threads: not shared, one per thread. */
#ifndef ABR_SODA_H
#define ABR_SODA_H

#include "abr/deciders/algo.h"

struct soda_cfg {
    double target, beta, gamma;
};

int soda_level(const struct soda_cfg *cfg, const struct view *v);

int soda_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
