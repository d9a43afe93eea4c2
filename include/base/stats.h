/* stats.h - means, percentiles and bootstrap intervals.
 *
 * Bootstrap: percentile method over n units resampled with replacement (Efron 1979),
 * paired when the caller passes differences; seeded, so a figure prints the same twice.
 *
 * What is not defined is NaN: anything of n < 1 values, a standard deviation of one.
 * Threads: pure functions (scratch is allocated inside; ERR_MEMORY is reported as NaN).
 */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stdint.h>

double stats_mean(const double *x, int n);
double stats_std(const double *x, int n); /* sample standard deviation, n - 1 */
/* Linear interpolation between order statistics, p in [0, 1]; sorts a copy. */
double stats_percentile(const double *x, int n, double p);
/* Mean of the middle half (25..75 %); a value on the border counts by its share. */
double stats_iqm(const double *x, int n);

struct stats_interval {
    double mean, lo, hi;
};
/* level .95 for the usual interval; resamples e.g. 10000. */
struct stats_interval stats_bootstrap(const double *x, int n, double level, int resamples,
                                      uint64_t seed);

/* Ratio of sums, sum(num) / sum(den), units resampled in pairs: shares of a gap, relative
 * gains. .mean is the ratio over all units. Resamples whose sum(den) is 0 give +-inf. */
struct stats_interval stats_bootstrap_ratio(const double *num, const double *den, int n,
                                            double level, int resamples, uint64_t seed);

#endif
