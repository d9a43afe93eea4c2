/* forecast_own.h - a correction of the forecast, fitted to the links of a daemon's own viewers.
 *
 *   ln(quantile / m) = y(x) + r(x, ln(m / 1 Mbit/s))
 *
 * y is the network of forecast.h and x its inputs. y does not depend on the link's rate, but the links of an
 * audience have one. r is a second network with two hidden layers, within +- FORECAST_OWN_MOST. If its last
 * layer is 0, nothing is corrected.
 *
 * Weights: one block of FORECAST_OWN floats, for each layer a row per input and then the biases. They are
 * part of a policy (policy/policy.h: input). abr/train/forecast_fit.h fits them.
 *
 * A correction fits only the y that it was fitted to, so a policy's input_of is forecast_crc32. Whoever loads
 * a policy to decide with it calls forecast_own_drop_foreign first. Files that do not name a forecast come from
 * before input_of: their correction is dropped too, as nobody can tell whose it is. The policy then decides by
 * the shipped forecast, as before its first correction, and a learner fits a new one.
 *
 * Threads: pure functions. No allocation. */
#ifndef ABR_FORECAST_OWN_H
#define ABR_FORECAST_OWN_H

#include "abr/deciders/forecast.h"

enum {
    FORECAST_OWN_INPUTS = FORECAST_ENTRIES + 1,
    FORECAST_OWN_UNITS = 24,
    FORECAST_OWN_B1 = FORECAST_OWN_INPUTS * FORECAST_OWN_UNITS,
    FORECAST_OWN_W2 = FORECAST_OWN_B1 + FORECAST_OWN_UNITS,
    FORECAST_OWN_B2 = FORECAST_OWN_W2 + FORECAST_OWN_UNITS * FORECAST_OWN_UNITS,
    FORECAST_OWN_W3 = FORECAST_OWN_B2 + FORECAST_OWN_UNITS,
    FORECAST_OWN_B3 = FORECAST_OWN_W3 + FORECAST_OWN_UNITS * FORECAST_OUTPUTS,
    FORECAST_OWN = FORECAST_OWN_B3 + FORECAST_OUTPUTS,
};

/* A factor of 4: what lies far from all examples must not become absurd. */
#define FORECAST_OWN_MOST 1.386

struct policy;
/* Drops an input that does not correct this program's forecast; true: it had one. From then on the input of
 * p, and of its copies, corrects this forecast. */
bool forecast_own_drop_foreign(struct policy *p);

/* x (FORECAST_OWN_INPUTS) of the forecast's entries and m. */
void forecast_own_inputs(float *x, const double *entries, double mean_kbps);
/* r (FORECAST_OUTPUTS) without its bounds, and the outputs of both hidden layers. */
void forecast_own_network(float *r, float hidden[2][FORECAST_OWN_UNITS],
                          const float *weights, const float *x);
/* r within its bounds, as it is served. */
double forecast_own_bounded(float r);
/* Adds the correction to the logarithms of forecast_look. */
void forecast_own_correct(double logs[FORECAST_OUTPUTS], const float *weights,
                          const double *entries, double mean_kbps);

#endif
