#include "learn/drift.h"

#include <assert.h>
#include <math.h>

struct drift_cfg drift_cfg_default(void)
{
    return (struct drift_cfg){.slack = 0.5};
}

/* The normal score of x before it joins the series. */
static double drift_score(const struct drift_series *s, double x)
{
    double before = (double)s->n, v = before - 1.0; /* n - 1, n - 2 */
    double variance = s->m2 / v;
    if (!(variance > 0.0)) return 0.0;
    double t = (x - s->mean) / sqrt(variance) * sqrt(before / (before + 1.0));
    double u = sqrt(v * log1p(t * t / v)) * (8.0 * v + 1.0) / (8.0 * v + 3.0);
    return copysign(u, t);
}

bool drift_add(struct drift_series *s, const struct drift_cfg *cfg, double x)
{
    if (!isfinite(x)) return false;
    if (s->n >= 2) s->sum = fmax(0.0, s->sum + drift_score(s, x) - cfg->slack);
    s->n++;
    double d = x - s->mean;
    s->mean += d / (double)s->n;
    s->m2 += d * (x - s->mean);
    return s->sum > cfg->limit;
}

int drift_batch(struct drift *d, const struct drift_cfg *cfg, const float *advantage,
                const int *tag, int n)
{
    double sum[DRIFT_TAGS] = {0};
    int rows[DRIFT_TAGS] = {0}, alarm = -1;
    for (int i = 0; i < n; i++) {
        int v = tag ? tag[i] : 0;
        assert(v >= 0 && v < DRIFT_TAGS);
        sum[v] += fabs((double)advantage[i]);
        rows[v]++;
    }
    for (int v = 0; v < DRIFT_TAGS; v++)
        if (rows[v] && drift_add(&d->tag[v], cfg, log(sum[v] / rows[v])) && alarm < 0)
            alarm = v;
    return alarm;
}

double drift_level(const struct drift *d)
{
    double top = 0.0;
    for (int v = 0; v < DRIFT_TAGS; v++)
        top = fmax(top, d->tag[v].sum);
    return top;
}
