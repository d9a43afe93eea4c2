/* forecast.h - a learned distribution of the throughput to come, given the session's history.
 *
 * With m the harmonic mean of the last 5 throughputs and s the standard deviation of the logarithms
 * of the last 8 (more after fewer chunks, forecast.c), the ratio of the throughput to come and m has the quantiles
 *
 *   ln(c / m) = Q_i(s),   i = 0 .. 8 at (2i + 1) / 18
 *
 * Q is linear between seven knots of s and constant beyond them. There is one table for the next
 * chunk, and one for the ten chunks that follow (their bytes over their time). Both are left-skewed:
 * a link that was calm is more likely to fall than to rise.
 *
 * Source: quantiles over the sessions of `rate` on Pensieve's training traces, Puffer's training part
 * of 2021 and Lumos 4G, with chunks of 2 and 4 s; test/score/forecast.mjs makes them again. The three
 * sets give nearly the same quantiles at the same s.
 *
 * Threads: pure functions. */
#ifndef ABR_FORECAST_H
#define ABR_FORECAST_H

#include "abr/emulator/view.h"

#define FORECAST_QUANTILES 9

struct forecast {
    double mean_kbps; /* m; 0: nothing was measured, the rest is not set */
    double spread;    /* s */
    double next_kbps[FORECAST_QUANTILES]; /* of the next chunk, ascending */
    double later_kbps[FORECAST_QUANTILES];
};

struct forecast forecast_of(const struct view *v);

/* Where a view lies in the tables: enough for one quantile, at a fraction of the cost of all. */
struct forecast_place {
    double mean_kbps, spread; /* as above */
    int knot;                 /* the one below s */
    double share;             /* of the way to the next knot, 0 .. 1 */
};
struct forecast_place forecast_place_of(const struct view *v);
/* Quantile i of the next chunk [kbit/s]; p->mean_kbps > 0. */
double forecast_next_kbps(const struct forecast_place *p, int i);

#endif
