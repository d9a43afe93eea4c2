#include "base/confseq.h"

#include <assert.h>
#include <math.h>

static const double PRIOR = 100; /* of confseq_log_evidence */
static const double UNITS_MOST = 1e12;

static double spread(double q)
{
    return 1 / q + 1 / (1 - q);
}

struct confseq confseq_of(double q, double sigma, double units, double alpha)
{
    assert(q > 0 && q < 1 && sigma > 0 && units > 0 && alpha > 0 && alpha < 1);
    double l = 2 * log(1 / alpha);
    return (struct confseq){.q = q,
                            .rho = units * sigma * sigma * spread(q) / (l + log(1 + l))};
}

/* The mean of the stratum or, in an empty one, of all; false: nothing was seen. */
static bool mean_before(double *out, const struct confseq *c, int stratum)
{
    uint64_t n = c->stratum[stratum].n;
    double sum = c->stratum[stratum].sum;
    for (int k = 0; k < CONFSEQ_STRATA && !c->stratum[stratum].n; k++) {
        n += c->stratum[k].n;
        sum += c->stratum[k].sum;
    }
    if (n) *out = sum / (double)n;
    return n > 0;
}

void confseq_add(struct confseq *c, bool treatment, int stratum, double x)
{
    assert(stratum >= 0 && stratum < CONFSEQ_STRATA);
    if (!isfinite(x)) return;
    double mean;
    if (mean_before(&mean, c, stratum)) {
        double d = x - mean, y = treatment ? d / c->q : -d / (1 - c->q);
        c->sum += y;
        c->squares += y * y;
        c->design += (y * y + 2 * d * d * spread(c->q)) / 3;
        c->group[treatment]++;
    }
    c->stratum[stratum].n++;
    c->stratum[stratum].sum += x;
}

void confseq_merge(struct confseq *to, const struct confseq *from)
{
    to->group[0] += from->group[0];
    to->group[1] += from->group[1];
    to->sum += from->sum;
    to->squares += from->squares;
    to->design += from->design;
}

static double radius(double v, double rho, double alpha)
{
    return sqrt((v + rho) * log((v + rho) / (rho * alpha * alpha)));
}

static double variance(const struct confseq *c)
{
    return fmax(c->squares, c->design);
}

struct confseq_interval confseq_at(const struct confseq *c, double alpha)
{
    double n = (double)(c->group[0] + c->group[1]);
    if (n < 1) return (struct confseq_interval){(double)NAN, -INFINITY, INFINITY};
    double mean = c->sum / n, r = radius(variance(c), c->rho, alpha) / n;
    if (c->group[0] < CONFSEQ_LEAST || c->group[1] < CONFSEQ_LEAST) r = (double)INFINITY;
    return (struct confseq_interval){mean, mean - r, mean + r};
}

double confseq_units(const struct confseq *c, double width, double alpha)
{
    double n = (double)(c->group[0] + c->group[1]), each = variance(c) / n;
    if (n < 1 || !(width > 0)) return (double)INFINITY;
    double lo = 1, hi = UNITS_MOST; /* the width falls with the units */
    if (radius(each * hi, c->rho, alpha) / hi > width) return (double)INFINITY;
    while (hi > lo * 1.001) {
        double mid = sqrt(lo * hi);
        *(radius(each * mid, c->rho, alpha) / mid > width ? &lo : &hi) = mid;
    }
    return ceil(hi);
}

double confseq_fixed(double q, const double deviation[2], double difference)
{
    static const double Z = 1.959964 + 0.841621; /* two-sided 0.05; power 0.8 */
    const double *s = deviation;
    double each = s[0] * s[0] / (1 - q) + s[1] * s[1] / q, d = difference;
    return d * d > 0 ? ceil(each * Z * Z / (d * d)) : (double)INFINITY;
}

/* lgamma writes a global sign; here x is positive. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

double confseq_log_evidence(const uint64_t *count, const double *share, int groups)
{
    double all = 0, n = 0;
    for (int i = 0; i < groups; i++) {
        assert(share[i] > 0);
        all += share[i];
        n += (double)count[i];
    }
    double sum = log_gamma(PRIOR) - log_gamma(PRIOR + n);
    for (int i = 0; i < groups; i++) {
        double p = share[i] / all, k = PRIOR * p, ni = (double)count[i];
        sum += log_gamma(k + ni) - log_gamma(k) - ni * log(p);
    }
    return sum;
}
