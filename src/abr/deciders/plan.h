/* plan.h - what each level is worth under each quantile of the forecast, in closed form.
 *
 * A plan takes level k for the next chunk, and then holds the best level m for T more chunks:
 *
 *   V_i(k) = r(k | last) - mu_stall max(0, d - B) + max_m [ r(m | k) + (T - 1) r(m | m)
 *            - caution mu_stall stall(m, l_i, b) ]
 *   d = 8 S_k / n_i,   b = min(max(B - d, 0) + chunk_s, limit)
 *
 * n_i and l_i are `factor` times the quantiles i of forecast.h, for the next chunk and for later ones,
 * taken together: a link that disappoints now disappoints later, too. B is the media in the buffer, S_k
 * the chunk's size, r(m | k) the reward of a chunk at level m after one at k (qoe.h). The held level is
 * chosen per quantile, as the player will know more after this chunk. Its stall over T chunks on a link
 * that carries l, with e = chunk_s R_m / l:
 *   e <= chunk_s:  max(0, e - b)          e > chunk_s:  max(0, T e - b - (T - 1) chunk_s)
 * T is `tail`, less at the video's end. All is additions and comparisons: O(levels^2) per quantile.
 *
 * Threads: pure functions. No allocation. */
#ifndef ABR_PLAN_H
#define ABR_PLAN_H

#include "abr/deciders/forecast.h"

struct plan_cfg {
    double factor, tail, caution;
};

struct plan {
    double value[FORECAST_QUANTILES][VIEW_LEVELS];
    double mean[VIEW_LEVELS]; /* over the quantiles */
};

/* f of v, with f->mean_kbps > 0. */
void plan_values(struct plan *out, const struct plan_cfg *cfg, const struct view *v,
                 const struct forecast *f);

#endif
