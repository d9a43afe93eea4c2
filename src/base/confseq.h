/* confseq.h - confidence sequences: intervals that hold at every look at a randomised comparison.
 *
 * A unit is assigned to the treatment with probability q, else to the control, and shows x. Let m be the
 * mean of the x before it in its stratum, of both groups. The unit adds
 *
 *   Y = (x - m) (1{treatment} / q - 1{control} / (1 - q))
 *
 * Its mean over the assignment is x(treatment) - x(control), whatever m is, so the mean of the Y estimates
 * the difference without bias, and m only removes variance. With n units, S the sum of the Y and
 * E = (x - m)^2 (1/q + 1/(1-q)):
 *
 *   V = max(sum Y^2, sum (Y^2 + 2 E) / 3)
 *   S / n  +-  sqrt((V + rho) log((V + rho) / (rho alpha^2))) / n
 *
 * That is the two-sided normal mixture: Howard, Ramdas, McAuliffe, Sekhon, "Time-uniform, nonparametric,
 * nonasymptotic confidence sequences", Annals of Statistics 2021, Eq. 14, on the design-based increments
 * of Ham, Bojinov, Lindon, Tingley, "Design-based confidence sequences", 2022. What holds:
 *
 *   no effect    If x does not depend on the assignment, E is the variance of Y given x. Then
 *                exp(a S - a^2 V / 2) is a supermartingale for any a and any x, heavy tails included
 *                (Delyon, Electronic Journal of Probability 2009; Howard et al., Probability Surveys 2020,
 *                Table 3). The interval excludes 0 at any time with probability at most alpha. This is
 *                exact.
 *   an effect    sum Y^2 estimates the variance, so the coverage is asymptotic. Clip heavy tails before,
 *                and look from CONFSEQ_LEAST units of each group on.
 *
 * rho decides where the interval is tightest: at n units, if x has the standard deviation sigma, for
 * rho = n sigma^2 (1/q + 1/(1-q)) / (l + log(1 + l)), l = 2 log(1/alpha). It may be wrong by a factor of
 * ten at little cost, but must not depend on the data.
 *
 * Shares. Whether units fell into the groups as planned: with counts n_i of shares p_i, sum n, and a prior
 * Dirichlet(k p), k = 100,
 *
 *   log evidence = log Gamma(k) - log Gamma(k + n) + sum log Gamma(k p_i + n_i) - log Gamma(k p_i)
 *                  - n_i log p_i
 *
 * If the shares are as planned, the evidence exceeds 1/alpha at any time with probability at most alpha.
 * Source: Lindon, Malek, "Anytime-valid inference for multinomial count data", NeurIPS 2022.
 *
 * Threads: plain data, not shared. No allocation. */
#ifndef BASE_CONFSEQ_H
#define BASE_CONFSEQ_H

#include <stdbool.h>
#include <stdint.h>

#define CONFSEQ_STRATA 4
#define CONFSEQ_LEAST 30 /* units of each group */

struct confseq {
    double q, rho;
    uint64_t group[2];           /* units that count: control, treatment */
    double sum, squares, design; /* of Y, of Y^2, of (Y^2 + 2 E) / 3 */
    struct {
        uint64_t n;
        double sum;
    } stratum[CONFSEQ_STRATA]; /* of x, of both groups */
};

/* q: the treatment's share of the units, within 0 .. 1. sigma: the expected standard deviation of x.
 * units: where the interval is to be tightest, at the level alpha. */
struct confseq confseq_of(double q, double sigma, double units, double alpha);

/* The first unit only sets the mean. A value that is not a number is ignored. */
void confseq_add(struct confseq *c, bool treatment, int stratum, double x);

/* Adds what another process has seen of the same comparison: the sums of the Y, in any order of the units,
 * because each Y has its mean whatever was seen before. The strata stay those of `to`. */
void confseq_merge(struct confseq *to, const struct confseq *from);

struct confseq_interval {
    double mean, lo, hi; /* treatment minus control; lo and hi infinite: too few units */
};
struct confseq_interval confseq_at(const struct confseq *c, double alpha);

/* Estimate of the total number of units, of both groups, at which the interval is as narrow as +-width if
 * the variance stays; INFINITY: never, or not known. */
double confseq_units(const struct confseq *c, double width, double alpha);

/* Units of both groups that a single look needs, to leave out 0 at the level 0.05 with probability 0.8 when
 * it knows the difference and the deviations of control and treatment; INFINITY: the difference is 0. What
 * a confidence sequence needs is measured by `abrd lab trial`, in units of this. */
double confseq_fixed(double q, const double deviation[2], double difference);

/* share (groups): positive; they are divided by their sum. */
double confseq_log_evidence(const uint64_t *count, const double *share, int groups);

#endif
