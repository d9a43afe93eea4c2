#include "lab/shift/shift_stat.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { RESAMPLES = 10000 };

static const uint64_t BOOTSTRAP = 20250101;
static const double WEIGHTS[SHIFT_PROFILES][3] = {{1, 6, 1}, {1, 1, 6}, {6, 1, 1}};

static double weighted(const struct shift_point *p, int part, float value)
{
    int tag = (int)p->tag;
    assert(tag >= 0 && tag < SHIFT_PROFILES);
    return WEIGHTS[tag][part] * (double)value;
}

double shift_value(const struct shift_point *p, enum shift_curve c)
{
    switch (c) {
    case SHIFT_QOE:
        return (double)p->qoe;
    case SHIFT_RECENT:
        return (double)p->recent_qoe;
    case SHIFT_QUALITY:
        return weighted(p, 0, p->quality);
    case SHIFT_CHANGE:
        return -weighted(p, 1, p->change);
    case SHIFT_STALL:
        return -weighted(p, 2, p->stall_s);
    case SHIFT_LEVEL:
        return (double)p->mean_level;
    case SHIFT_BUFFER:
        return (double)p->buffer_s;
    case SHIFT_THROUGHPUT:
        return (double)p->throughput_kbps;
    case SHIFT_DOWNLOAD:
        return (double)p->download_s;
    case SHIFT_ENTROPY:
        return (double)p->entropy;
    case SHIFT_CLIP:
        return (double)p->clip_share;
    case SHIFT_FIRST_CLIP:
        return (double)p->first_clip_share;
    case SHIFT_ROUTER:
        return (double)p->router_norm[SHIFT_ACTOR];
    case SHIFT_CRITIC_ROUTER:
        return (double)p->router_norm[SHIFT_CRITIC];
    case SHIFT_CURVES:
        break;
    }
    return (double)NAN;
}

/* A mean that passes over NaN; NaN when nothing is left. */
struct mean {
    double sum;
    int n;
};

static void shift_stat_take(struct mean *m, double x)
{
    if (isnan(x)) return;
    m->sum += x;
    m->n++;
}

static double shift_stat_value(struct mean m)
{
    return m.n ? m.sum / m.n : (double)NAN;
}

void shift_bins(double *out, int n, const struct shift_record *r, enum shift_curve c)
{
    for (int b = 0; b < n; b++) {
        struct mean m = {0};
        int from = (int)((int64_t)r->points * b / n);
        int to = (int)((int64_t)r->points * (b + 1) / n);
        for (int i = from; i < to; i++)
            shift_stat_take(&m, shift_value(&r->point[i], c));
        out[b] = shift_stat_value(m);
    }
}

void shift_band(double *mean, double *lo, double *hi, const double *rows, int runs, int n)
{
    double column[SHIFT_SEEDS];
    assert(runs <= SHIFT_SEEDS);
    for (int k = 0; k < n; k++) {
        int have = 0;
        for (int i = 0; i < runs; i++) {
            double x = rows[(size_t)i * (size_t)n + (size_t)k];
            if (!isnan(x)) column[have++] = x;
        }
        mean[k] = stats_mean(column, have);
        lo[k] = stats_percentile(column, have, 0.1);
        hi[k] = stats_percentile(column, have, 0.9);
    }
}

/* first iteration of segment s, or of a place within it */
static int at_segment(const struct shift_record *r, double s)
{
    return (int)lround(r->points * s / SHIFT_SEGMENTS);
}

/* The same where a part of a segment begins that ends with it: it has one iteration at least. */
static int at_part(const struct shift_record *r, int s, double from)
{
    int at = at_segment(r, s + from), last = at_segment(r, s + 1.0) - 1;
    return at < last ? at : last;
}

static double segment_mean(const struct shift_record *r, int s, double from, double to,
                           enum shift_curve c)
{
    struct mean m = {0};
    int end = at_segment(r, s + to);
    for (int i = at_part(r, s, from); i < end; i++)
        shift_stat_take(&m, shift_value(&r->point[i], c));
    return shift_stat_value(m);
}

void shift_segments(double out[SHIFT_SEGMENTS], const struct shift_record *r, double from,
                    double to)
{
    for (int s = 0; s < SHIFT_SEGMENTS; s++)
        out[s] = segment_mean(r, s, from, to, SHIFT_QOE);
}

static double smoothed(const double *q, int i)
{
    int from = i - SHIFT_SMOOTH + 1 > 0 ? i - SHIFT_SMOOTH + 1 : 0;
    return stats_mean(q + from, i - from + 1);
}

double shift_lag(const double *q, int n)
{
    int late = n - n / 5;
    if (n < 2 * SHIFT_SMOOTH || n - late < 2) return (double)NAN;
    double begin = stats_mean(q, SHIFT_SMOOTH);
    double plateau = stats_mean(q + late, n - late);
    double gain = plateau - begin;
    if (!(gain > 2.0 * stats_std(q + late, n - late))) return (double)NAN;
    for (int i = 0; i < n; i++)
        if (smoothed(q, i) >= begin + 0.9 * gain) return i + 1;
    return n;
}

double shift_segment_lag(const struct shift_record *r, int segment)
{
    int from = at_segment(r, segment), to = at_segment(r, segment + 1);
    double *q = malloc((size_t)(to - from + 1) * sizeof *q);
    for (int i = from; q && i < to; i++)
        q[i - from] = (double)r->point[i].qoe;
    double lag = q ? shift_lag(q, to - from) : (double)NAN;
    free(q);
    return lag;
}

double shift_lags(const struct shift_record *r, double *adapted)
{
    struct mean m = {0};
    for (int s = 1; s < SHIFT_SEGMENTS; s++)
        shift_stat_take(&m, shift_segment_lag(r, s));
    if (adapted) *adapted = (double)m.n / (SHIFT_SEGMENTS - 1);
    return shift_stat_value(m);
}

double shift_profile_qoe(const struct shift_record *r, int profile)
{
    struct mean m = {0};
    for (int i = 0; i < r->points; i++)
        if ((int)r->point[i].tag == profile) shift_stat_take(&m, (double)r->point[i].qoe);
    return shift_stat_value(m);
}

double shift_level_share(const struct shift_record *r, int profile, int level)
{
    struct mean m = {0};
    for (int s = profile; s < SHIFT_SEGMENTS; s += SHIFT_PROFILES) {
        int end = at_segment(r, s + 1.0);
        for (int i = at_part(r, s, 0.8); i < end; i++)
            shift_stat_take(&m, (double)r->point[i].level[level]);
    }
    return shift_stat_value(m);
}

double shift_over_time(const struct shift_record *r, struct stats_cut cut)
{
    double *x = malloc((size_t)(r->points ? r->points : 1) * sizeof *x);
    int n = 0;
    for (int i = 0; x && i < r->points; i++)
        if (!isnan(r->point[i].recent_qoe)) x[n++] = (double)r->point[i].recent_qoe;
    double mean = x ? stats_trimmed(x, n, cut) : (double)NAN;
    free(x);
    return mean;
}

static double of_net(const struct shift_probe_net *n, int expert, int layer, int measure)
{
    struct mean m = {0};
    bool weight = measure == SHIFT_MEASURES;
    if (expert < 0 && layer < 0)
        return (double)(weight ? n->mean_weight : n->mean[measure]);
    for (int k = 0; k < SHIFT_EXPERTS; k++)
        for (int l = 0; l < SHIFT_LAYERS; l++)
            if ((expert < 0 || k == expert) && (layer < 0 || l == layer))
                shift_stat_take(
                    &m, (double)(weight ? n->weight[k][l] : n->layer[k][l][measure]));
    return shift_stat_value(m);
}

double shift_probed(const struct shift_probe *p, int net, int expert, int layer,
                    int measure)
{
    struct mean m = {0};
    for (int n = 0; n < SHIFT_NETS; n++)
        if (net == SHIFT_NETS || n == net)
            shift_stat_take(&m, of_net(&p->net[n], expert, layer, measure));
    return shift_stat_value(m);
}

static bool is_late(const struct shift_record *r, const struct shift_probe *p)
{
    return (double)p->iteration > 0.8 * r->points;
}

double shift_late(const struct shift_record *r, int net, int expert, int layer,
                  int measure)
{
    struct mean m = {0};
    for (int i = 0; i < r->probes; i++)
        if (is_late(r, &r->probe[i]))
            shift_stat_take(&m, shift_probed(&r->probe[i], net, expert, layer, measure));
    return shift_stat_value(m);
}

double shift_late_all(const struct shift_record *r, int net, int measure)
{
    struct mean m = {0};
    for (int i = 0; i < r->probes; i++)
        if (is_late(r, &r->probe[i]))
            shift_stat_take(&m, (double)r->probe[i].net[net].mean_all[measure]);
    return shift_stat_value(m);
}

double shift_late_top_share(const struct shift_record *r, int net)
{
    struct mean m = {0};
    for (int i = 0; i < r->probes; i++) {
        if (!is_late(r, &r->probe[i])) continue;
        double top = (double)r->probe[i].net[net].share[0];
        for (int k = 1; k < SHIFT_EXPERTS; k++)
            top = fmax(top, (double)r->probe[i].net[net].share[k]);
        shift_stat_take(&m, top);
    }
    return shift_stat_value(m);
}

double shift_frozen_share(const struct shift_record *r, int lo, int hi)
{
    struct mean m = {0};
    for (int s = SHIFT_PROFILES; s < SHIFT_SEGMENTS; s++) {
        int end = at_segment(r, s + 1.0);
        for (int i = at_part(r, s, 0.8); i < end; i++) {
            double share = 0.0;
            for (int k = lo; k <= hi; k++)
                share += (double)r->point[i].level[k];
            shift_stat_take(&m, share);
        }
    }
    return shift_stat_value(m);
}

double shift_swing(const struct shift_record *r)
{
    struct mean m[SHIFT_PROFILES] = {0};
    for (int s = 4; s < SHIFT_SEGMENTS; s++)
        shift_stat_take(&m[s % SHIFT_PROFILES],
                        segment_mean(r, s, 0.8, 1.0, SHIFT_LEVEL));
    double lo = shift_stat_value(m[0]), hi = lo;
    for (int i = 1; i < SHIFT_PROFILES; i++) {
        lo = fmin(lo, shift_stat_value(m[i]));
        hi = fmax(hi, shift_stat_value(m[i]));
    }
    return hi - lo;
}

double shift_late_busiest(const struct shift_record *r, int net, int measure)
{
    struct mean m = {0};
    for (int i = 0; i < r->probes; i++) {
        if (!is_late(r, &r->probe[i])) continue;
        const float *share = r->probe[i].net[net].share;
        int most = 0;
        for (int k = 1; k < SHIFT_EXPERTS; k++)
            if (share[k] > share[most]) most = k;
        shift_stat_take(&m, shift_probed(&r->probe[i], net, most, -1, measure));
    }
    return shift_stat_value(m);
}

void shift_per_run(double *x, const struct shift_set *s, struct shift_figure f)
{
    for (int i = 0; i < s->n; i++)
        x[i] = f.of(&s->run[i], f.arg);
}

struct stats_interval shift_mean_of(const double *x, int n)
{
    return stats_bootstrap(x, n, 0.95, RESAMPLES, BOOTSTRAP);
}

static const struct stats_interval NONE = {NAN, NAN, NAN};

struct stats_interval shift_mean(const struct shift_set *s, struct shift_figure f)
{
    if (!s) return NONE;
    double x[SHIFT_SEEDS];
    int n = 0;
    shift_per_run(x, s, f);
    for (int i = 0; i < s->n; i++)
        if (!isnan(x[i])) x[n++] = x[i];
    return shift_mean_of(x, n);
}

/* Paired by seed; a pair with a NaN is left out. */
static int pairs(double *x, double *y, const struct shift_set *a,
                 const struct shift_set *b, struct shift_figure f)
{
    shift_per_run(x, a, f);
    shift_per_run(y, b, f);
    int n = 0;
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (isnan(x[i]) || isnan(y[i])) continue;
        x[n] = x[i];
        y[n++] = y[i];
    }
    return n;
}

struct stats_interval shift_ratio(const struct shift_set *a, const struct shift_set *b,
                                  struct shift_figure f)
{
    if (!a || !b) return NONE;
    double x[SHIFT_SEEDS], y[SHIFT_SEEDS];
    int n = pairs(x, y, a, b, f);
    return stats_bootstrap_ratio(x, y, n, 0.95, RESAMPLES, BOOTSTRAP);
}

struct stats_interval shift_difference(const struct shift_set *a,
                                       const struct shift_set *b, struct shift_figure f)
{
    if (!a || !b) return NONE;
    double x[SHIFT_SEEDS], y[SHIFT_SEEDS];
    int n = pairs(x, y, a, b, f);
    for (int i = 0; i < n; i++)
        x[i] -= y[i];
    return shift_mean_of(x, n);
}
