#include "base/stats.h"

#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double stats_mean(const double *x, int n)
{
    if (n < 1) return NAN;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}

double stats_std(const double *x, int n)
{
    if (n < 2) return NAN;
    double mean = stats_mean(x, n), sum = 0;
    for (int i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (n - 1));
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* a sorted copy, owned by the caller; NULL without values or without memory */
static double *sorted(const double *x, int n)
{
    double *s = n > 0 ? malloc((size_t)n * sizeof *s) : NULL;
    if (!s) return NULL;
    memcpy(s, x, (size_t)n * sizeof *s);
    qsort(s, (size_t)n, sizeof *s, ascending);
    return s;
}

static double percentile_sorted(const double *s, int n, double p)
{
    double at = p * (n - 1);
    int i = (int)at;
    if (i >= n - 1) return s[n - 1];
    return s[i] + (at - i) * (s[i + 1] - s[i]);
}

double stats_percentile(const double *x, int n, double p)
{
    assert(p >= 0 && p <= 1);
    double *s = sorted(x, n);
    double out = NAN;
    if (s) out = percentile_sorted(s, n, p);
    free(s);
    return out;
}

/* value i covers [i, i+1] of [0, n] and counts by its overlap with [n lo, n hi] */
static double trimmed_sorted(const double *s, int n, struct stats_cut cut)
{
    assert(cut.lo >= 0 && cut.lo < cut.hi && cut.hi <= 1);
    double lo = cut.lo * n, hi = cut.hi * n, sum = 0;
    for (int i = (int)lo; i < n && i < hi; i++)
        sum += s[i] * (fmin(i + 1, hi) - fmax(i, lo));
    return sum / (hi - lo);
}

double stats_trimmed(const double *x, int n, struct stats_cut cut)
{
    double *s = sorted(x, n);
    double out = NAN;
    if (s) out = trimmed_sorted(s, n, cut);
    free(s);
    return out;
}

/* Resamples sum(num) / sum(den); den = NULL counts 1 for each unit. */
static struct stats_interval stats_resample(const double *num, const double *den, int n,
                                            double level, int resamples, uint64_t seed)
{
    assert(level > 0 && level < 1 && resamples > 0);
    double all_num = 0, all_den = 0;
    for (int i = 0; i < n; i++) {
        all_num += num[i];
        all_den += den ? den[i] : 1;
    }
    struct stats_interval out = {NAN, NAN, NAN};
    if (n > 0) out.mean = all_num / all_den;
    double *ratios = n > 0 ? malloc((size_t)resamples * sizeof *ratios) : NULL;
    if (!ratios) return out;

    struct rng r;
    rng_init(&r, seed, 0);
    for (int k = 0; k < resamples; k++) {
        double sum_num = 0, sum_den = 0;
        for (int j = 0; j < n; j++) {
            uint32_t i = rng_below(&r, (uint32_t)n);
            sum_num += num[i];
            sum_den += den ? den[i] : 1;
        }
        ratios[k] = sum_num / sum_den;
    }

    qsort(ratios, (size_t)resamples, sizeof *ratios, ascending);
    out.lo = percentile_sorted(ratios, resamples, (1 - level) / 2);
    out.hi = percentile_sorted(ratios, resamples, (1 + level) / 2);
    free(ratios);
    return out;
}

struct stats_interval stats_bootstrap(const double *x, int n, double level, int resamples,
                                      uint64_t seed)
{
    return stats_resample(x, NULL, n, level, resamples, seed);
}

struct stats_interval stats_bootstrap_ratio(const double *num, const double *den, int n,
                                            double level, int resamples, uint64_t seed)
{
    return stats_resample(num, den, n, level, resamples, seed);
}

static int strata_total(struct stats_strata a)
{
    int total = 0;
    for (int s = 0; s < a.strata; s++) {
        assert(a.n[s] > 0);
        total += a.n[s];
    }
    return total;
}

/* the statistic of one resample; drawn has room for all values */
static double strata_draw(double *drawn, struct stats_strata a, struct stats_cut cut,
                          struct rng *r)
{
    int at = 0;
    for (int s = 0, from = 0; s < a.strata; from += a.n[s++])
        for (int i = 0; i < a.n[s]; i++)
            drawn[at++] = a.x[from + (int)rng_below(r, (uint32_t)a.n[s])];
    qsort(drawn, (size_t)at, sizeof *drawn, ascending);
    return trimmed_sorted(drawn, at, cut);
}

struct stats_interval stats_bootstrap_strata(struct stats_strata a, struct stats_cut cut,
                                             double level, int resamples, uint64_t seed)
{
    assert(level > 0 && level < 1 && resamples > 0);
    struct stats_interval out = {NAN, NAN, NAN};
    int n = strata_total(a);
    if (n < 1) return out;
    out.mean = stats_trimmed(a.x, n, cut);

    double *drawn = malloc((size_t)n * sizeof *drawn);
    double *found = malloc((size_t)resamples * sizeof *found);
    if (drawn && found) {
        struct rng r;
        rng_init(&r, seed, 0);
        for (int k = 0; k < resamples; k++)
            found[k] = strata_draw(drawn, a, cut, &r);
        qsort(found, (size_t)resamples, sizeof *found, ascending);
        out.lo = percentile_sorted(found, resamples, (1 - level) / 2);
        out.hi = percentile_sorted(found, resamples, (1 + level) / 2);
    }
    free(found);
    free(drawn);
    return out;
}
