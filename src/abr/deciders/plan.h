/* plan.h - what each level is worth under each quantile of the forecast, in closed form.
 *
 * A plan takes level k for the next chunk, and then holds the best level m for T more chunks:
 *
 *   V_i(k) = r(k | last) - mu_stall (max(0, d - B) + z(0)) + max_m [ r(m | k) + (T - 1) r(m | m)
 *            - mu_stall (c_i (z(m) - z(0)) + low y(m)) ]
 *   d = 8 S_k / n_i,   b = min(max(B - d, 0) + chunk_s, limit)
 *
 * B is the media in the buffer, S_k the chunk's size as it counts (forecast_bytes), r(m | k) the reward of a
 * chunk at level m after one at k (qoe.h). n_i and l_i are `factor` exp(- margin) times the quantiles i of forecast.h, for the next
 * chunk and for later ones (margin: view.h). n_i is multiplied by `next` as well, a factor found by search.
 * Both are taken together: a link that disappoints now disappoints later, too. The held level is chosen per
 * quantile, as the player will know more after this chunk. z(m) is the stall of level m over T chunks on a
 * link that carries l, with e = chunk_s R_m / l:
 *   z(m) = max(0, late(m) - b),   late(m) = e, or T e - (T - 1) chunk_s beyond chunk_s
 *
 * c_i is `caution` for the lowest PLAN_POOR quantiles, since a player leaves the level when the link
 * disappoints, and 1 for the others. It cannot leave the lowest level, so z(0) counts in full.
 *
 * The link does not carry l all the time. So the buffer should not end below X: y(m) is the part of X that
 * is used up, in addition to a stall. X follows the spread s of the forecast:
 *   y(m) = max(0, late(m) - b + X),   X = min(low_s s sqrt(chunk_s), limit / PLAN_LOW_PART)
 *
 * A link often carries more than level m and less than m + 1. So a plan may also hold both in turn: m + 1 for
 * the share x of the chunks that uses up the buffer without a stall. This costs one change of level:
 *   (1 - x) [value of m] + x [value of m + 1] - change - mu_stall low X,   0 < x < 1,
 *   x = (b - late(m)) / (late(m + 1) - late(m))
 * where no value has a stall, and `change` is the smaller penalty of a rise and of a fall between the two.
 *
 * A large buffer is spent over a longer time. The buffer beyond far_s seconds is for outages, which are rare
 * and long. On a link that hardly carries the lowest level R_0, only the buffer helps in an outage:
 *   T = tail + [(reach + slow max(0, min(R_0 / m, 1) - PLAN_SLOW)) B + far max(0, B - far_s)] / chunk_s
 * with m the forecast's mean_kbps; at most PLAN_TAIL_MAX min(1, 3 s / chunk_s)^1.5, and less at the video's end.
 * A plan of many long chunks says too much, since the player decides again after each. A small buffer does not
 * help in a long outage, and a full one wastes the link. So far is multiplied by
 * min(1, limit / PLAN_FAR_LIMIT_S)^2.
 * Without a known end it is 0: a live player cannot save more than its delay.
 *
 * l_i is a quantile of the mean of FORECAST_LATER chunks. The mean of more chunks spreads less, so for a
 * longer T the quantiles move towards l_PLAN_MIDDLE:
 *   l_i <- l_M (l_i / l_M)^a,   a = (FORECAST_LATER / T)^narrow,   M = PLAN_MIDDLE
 * narrow is 0.5 for independent chunks, and 0 for a link that does not change.
 *
 * A quantile takes one power, and additions and comparisons in O(levels^2).
 *
 * Threads: pure functions. No allocation. */
#ifndef ABR_PLAN_H
#define ABR_PLAN_H

#include "abr/deciders/forecast.h"

#define PLAN_TAIL_MAX 60.0
#define PLAN_TAIL_CHUNK_S 3.0 /* of longer chunks a plan has fewer */
#define PLAN_FAR_LIMIT_S 60.0
#define PLAN_MIDDLE 6 /* the quantile of 38 % */
#define PLAN_POOR 6
#define PLAN_SLOW 0.3
#define PLAN_LOW_PART 5

struct plan_cfg {
    double factor, tail, reach, caution, low, low_s, slow, far, far_s, narrow, next;
};

/* For every viewer, link, ladder and buffer; chosen on training links (test/score/regimes.mjs). */
#define PLAN_DEFAULT                                                                    \
    {                                                                                   \
        .factor = 1, .tail = 8, .reach = 0.75, .caution = 0.5, .low = 0.1, .low_s = 20, \
        .slow = 12, .far = 8, .far_s = 10, .narrow = 0.5, .next = 1.04                  \
    }

struct plan {
    double value[FORECAST_QUANTILES][VIEW_LEVELS];
    double mean[VIEW_LEVELS]; /* over the quantiles, each by its share (forecast_share) */
};

/* f of v, with f->mean_kbps > 0. */
void plan_values(struct plan *out, const struct plan_cfg *cfg, const struct view *v,
                 const struct forecast *f);

#endif
