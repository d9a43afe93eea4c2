/* forecast_fit.h - fits the correction of the forecast (deciders/forecast_own.h) to examples.
 *
 * An example is a session's history and what came after it: the throughput of the next chunk, and that of the
 * FORECAST_LATER chunks from it on. Let r be the correction of quantile q, and d the logarithm of what came
 * minus the uncorrected forecast of q. Examples of own viewers have the pinball loss. Known examples hold r
 * near 0 by the loss of Huber (1964), with D = FORECAST_FIT_FREE:
 *
 *   own     sum over quantiles of q (d - r) if d > r, else (1 - q) (r - d)
 *   known   anchor sum over quantiles of |r| - D / 2, or r^2 / (2 D) where |r| < D
 *
 * r is bounded as in service (FORECAST_OWN_MOST): beyond that it earns nothing, and is only pushed back.
 *
 * A step of Adam takes half of its batch from each. Both losses have a bounded slope. So nothing is corrected
 * where known examples outnumber own ones by a factor that the anchor sets. A squared loss of the known ones
 * would give way a little everywhere.
 *
 * What came after a known history is not needed: it is in the shipped forecast already.
 *
 * Every fit begins without a correction, and its rate falls to 0. So the result depends on the examples alone.
 *
 * Determinism: same examples and configuration, same weights. Threads: pure functions. No allocation. */
#ifndef ABR_FORECAST_FIT_H
#define ABR_FORECAST_FIT_H

#include "abr/deciders/forecast_own.h"

#include <stdint.h>

#define FORECAST_FIT_FREE 0.02

struct forecast_history {
    float x[FORECAST_OWN_INPUTS];
};

struct forecast_example {
    struct forecast_history history;
    float off[FORECAST_OUTPUTS]; /* d */
};

/* The history of a view, and its forecast but the quantiles; mean_kbps 0: nothing was measured. */
struct forecast forecast_example_of(struct forecast_example *out, const struct view *v);
/* What came after it. The next chunk's throughput counts as that of the usual size. */
void forecast_example_came(struct forecast_example *x, const struct forecast *f,
                           double next_kbps, double next_bytes, double later_kbps);

/* At least one of each; borrowed. */
struct forecast_lesson {
    const struct forecast_example *own;   /* (n_own) */
    const struct forecast_history *known; /* (n_known) */
    int n_own, n_known;
};

struct forecast_fit_cfg {
    int steps;
    double rate; /* of Adam, at first */
    double anchor;
    uint64_t seed;
};

/* weights: (FORECAST_OWN). */
void forecast_fit(float *weights, const struct forecast_fit_cfg *cfg,
                  const struct forecast_lesson *lesson);

/* The loss of one example. off: what came (FORECAST_OUTPUTS), NULL: a known history. */
double forecast_fit_loss(const float *weights, const struct forecast_history *x,
                         const float *off, double anchor);
/* Its gradient times `scale`, added to gradient (FORECAST_OWN). For tests, too. */
void forecast_fit_gradient(float *gradient, const float *weights,
                           const struct forecast_history *x, const float *off,
                           double anchor, double scale);

#endif
