/* forecast_fit.h - fits the correction of the forecast (deciders/forecast_own.h) to examples.
 *
 * An example is a session's history and what came after it: the throughput of the next chunk, and that of the
 * FORECAST_FIT_LATER chunks from it on. With r the correction of quantile q, and d the logarithm of what came
 * minus the uncorrected forecast of that quantile, own examples have the pinball loss. Known ones hold the
 * forecast as it is:
 *
 *   own     sum over quantiles of q (d - r) if d > r, else (1 - q) (r - d)
 *   known   anchor / 2 sum over quantiles of r^2
 *
 * A step of Adam takes half of its batch from each. So the forecast changes where the own links differ from
 * the known ones, and stays elsewhere. What came after a known history is not needed: it is in the shipped
 * forecast already.
 *
 * The result is a running mean of the weights, because single steps are noisy.
 *
 * Determinism: same seed and calls, same weights. Threads: not shared. No allocation after _new. */
#ifndef ABR_FORECAST_FIT_H
#define ABR_FORECAST_FIT_H

#include "abr/deciders/forecast_own.h"

#include <stdbool.h>
#include <stdint.h>

#define FORECAST_FIT_LATER 10

struct forecast_example {
    float x[FORECAST_OWN_INPUTS];
    float off[FORECAST_OUTPUTS]; /* d; of no use in a known example */
};

/* The history of a view; returns m [kbit/s], 0: nothing was measured. */
double forecast_example_of(struct forecast_example *out, const struct view *v);
/* What came after it, for an own example. */
void forecast_example_came(struct forecast_example *x, double next_kbps,
                           double later_kbps, double mean_kbps);

struct forecast_fit;

/* Begins without a correction. */
struct forecast_fit *forecast_fit_new(uint64_t seed, struct err *e);
void forecast_fit_free(struct forecast_fit *f);
/* own, known: at least one each. rate: learning rate. */
void forecast_fit_steps(struct forecast_fit *f, const struct forecast_example *own,
                        int n_own, const struct forecast_example *known, int n_known,
                        double anchor, double rate, int steps);
/* (FORECAST_OWN), borrowed. */
const float *forecast_fit_weights(const struct forecast_fit *f);
/* Continues from these weights (FORECAST_OWN), NULL: as new. Adam's moments start over. */
void forecast_fit_put(struct forecast_fit *f, const float *weights);

/* The gradient of one example's loss times `scale`, added to gradient (FORECAST_OWN), and that loss. For
 * tests, too. */
void forecast_fit_gradient(double *gradient, const float *weights,
                           const struct forecast_example *x, bool known, double anchor,
                           double scale);
double forecast_fit_loss(const float *weights, const struct forecast_example *x,
                         bool known, double anchor);

#endif
