/* stats.h - means, percentiles and bootstrap intervals.
 *
 * Bootstrap: percentile method over n units resampled with replacement (Efron 1979), paired when the
 * caller passes differences. Seeded: the same call gives the same figure.
 *
 * Strata (several runs of each of several tasks): every resample draws the runs of each task from
 * those of the same task, so tasks keep their weight. The statistic is over all drawn values together
 * (Agarwal et al., NeurIPS 2021, "Deep RL at the edge of the statistical precipice", Sec. 4). Tasks
 * may have different numbers of runs. Differs: the library of that paper cuts whole values off for
 * its interquartile mean; here a value on the border counts by its share. Both agree when the number
 * of values is a multiple of 4.
 *
 * Errors: NaN where a figure is undefined (n < 1 values; a standard deviation of one value), and
 * where no memory is left for scratch.
 * Threads: pure functions. */
#ifndef BASE_STATS_H
#define BASE_STATS_H

#include <stdint.h>

double stats_mean(const double *x, int n);
double stats_std(const double *x, int n); /* sample standard deviation, n - 1 */
/* Linear interpolation between order statistics, p in [0, 1]; sorts a copy. */
double stats_percentile(const double *x, int n, double p);
/* The part of the sorted values that a trimmed mean keeps; 0 <= lo < hi <= 1. */
struct stats_cut {
    double lo, hi;
};
#define STATS_CUT_NONE ((struct stats_cut){0, 1})      /* the mean */
#define STATS_CUT_IQM ((struct stats_cut){0.25, 0.75}) /* the interquartile mean */

/* Mean of the values between the two cuts. A value on a border counts by its share. */
double stats_trimmed(const double *x, int n, struct stats_cut cut);

struct stats_interval {
    double mean, lo, hi;
};
/* level: 0.95 is usual; resamples: 10000 is usual. */
struct stats_interval stats_bootstrap(const double *x, int n, double level, int resamples,
                                      uint64_t seed);

/* Ratio of sums, sum(num) / sum(den), with units resampled in pairs, for shares of a gap and relative
 * gains. .mean is the ratio over all units. A resample with sum(den) = 0 gives +-inf. */
struct stats_interval stats_bootstrap_ratio(const double *num, const double *den, int n,
                                            double level, int resamples, uint64_t seed);

/* The values of stratum 0, then those of stratum 1, ...: n[s] of each, at least 1. */
struct stats_strata {
    const double *x;
    const int *n;
    int strata;
};

/* Trimmed mean of all values (.mean) and its interval. */
struct stats_interval stats_bootstrap_strata(struct stats_strata a, struct stats_cut cut,
                                             double level, int resamples, uint64_t seed);

#endif
