/* stats.h - means, percentiles and bootstrap intervals.
 *
 * Bootstrap: percentile method over n units resampled with replacement (Efron 1979),
 * paired when the caller passes differences; seeded, so a figure prints the same twice.
 *
 * Strata (several runs of each of several tasks): every resample draws the runs of each
 * task anew from those of the same task, so that tasks keep their weight, and the
 * statistic is of all drawn values in one heap (Agarwal et al., NeurIPS 2021, "Deep RL at
 * the edge of the statistical precipice", Sec. 4). Tasks may have different numbers of
 * runs. Differs: the library of that paper cuts whole values off for its interquartile
 * mean; here a value on the border counts by its share, which is the same when the number
 * of values is a multiple of 4.
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

/* The part of the sorted values that a trimmed mean keeps, 0 <= lo < hi <= 1. */
struct stats_cut {
    double lo, hi;
};
#define STATS_CUT_NONE ((struct stats_cut){0, 1})    /* the mean */
#define STATS_CUT_IQM ((struct stats_cut){.25, .75}) /* the interquartile mean */

/* Mean of the values between the two cuts; one on a border counts by its share. */
double stats_trimmed(const double *x, int n, struct stats_cut cut);

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

/* The values of stratum 0, then those of stratum 1, ...: n[s] of each, at least 1. */
struct stats_strata {
    const double *x;
    const int *n;
    int strata;
};

/* Trimmed mean of all values (.mean) and its interval. */
struct stats_interval stats_bootstrap_strata(struct stats_strata a, struct stats_cut cut,
                                             double level, int resamples, uint64_t seed);
/* Trimmed mean of a over that of b, and minus it; a and b are resampled independently (no
 * run of the one belongs to a run of the other). A resample with b = 0 gives +-inf. */
struct stats_interval stats_strata_ratio(struct stats_strata a, struct stats_strata b,
                                         struct stats_cut cut, double level,
                                         int resamples, uint64_t seed);
struct stats_interval stats_strata_difference(struct stats_strata a,
                                              struct stats_strata b, struct stats_cut cut,
                                              double level, int resamples, uint64_t seed);

#endif
