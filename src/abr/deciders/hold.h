/* hold.h - one chunk now, then the best level held: a plan in closed form over a learned forecast.
 *
 *   level = argmax_k  mean_i [ reward(k | last, stall_i) + max_m H_i(m | k, b_i) ]
 *   d = 8 S_k / n_i,  stall_i = max(0, d - B),  b_i = min(max(B - d, 0) + chunk_s, limit)
 *   H_i(m | k, b) = reward(m | k) + (T - 1) reward(m | m) - caution mu_stall stall(m, l_i, b)
 *
 * n_i and l_i are `factor` times the quantiles i of forecast.h, for the next chunk and for later ones,
 * taken together: a link that disappoints now disappoints later, too. B is the media in the buffer.
 * The held level m is chosen per quantile, as the player will know more after this chunk. Its stall
 * over T chunks on a link that carries l, with e = chunk_s R_m / l:
 *   e <= chunk_s:  max(0, e - b)          e > chunk_s:  max(0, T e - b - (T - 1) chunk_s)
 * T is `tail`, less at the video's end. All is additions and comparisons: O(levels^2) per quantile.
 *
 * Settings (settings.h), one set per kind of viewer: factor, tail, caution.
 *
 * Threads: pure functions; an algo is not shared. No allocation after hold_new. */
#ifndef ABR_HOLD_H
#define ABR_HOLD_H

#include "abr/deciders/algo.h"

struct hold_cfg {
    double factor, tail, caution;
};

/* The best level; the lowest when nothing was measured. */
int hold_level(const struct hold_cfg *cfg, const struct view *v);

int hold_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
