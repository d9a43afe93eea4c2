#include "lab/shift/shift_stat.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    int resamples;
    uint64_t seed;
} CARE[] = {[SHIFT_CLAIM] = {10000, 20250101}, [SHIFT_FIGURE] = {2000, 20250102}};

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

/* of one segment, 0 .. 9 */
static double segment_lag(const struct shift_record *r, int segment)
{
    int from = at_segment(r, segment), to = at_segment(r, segment + 1);
    double *q = malloc((size_t)(to - from + 1) * sizeof *q);
    for (int i = from; q && i < to; i++)
        q[i - from] = (double)r->point[i].qoe;
    double lag = q ? shift_lag(q, to - from) : (double)NAN;
    free(q);
    return lag;
}

static struct mean segment_lags(const struct shift_record *r)
{
    struct mean m = {0};
    for (int s = 1; s < SHIFT_SEGMENTS; s++)
        shift_stat_take(&m, segment_lag(r, s));
    return m;
}

static double profile_qoe(const struct shift_record *r, int profile)
{
    struct mean m = {0};
    for (int i = 0; i < r->points; i++)
        if ((int)r->point[i].tag == profile) shift_stat_take(&m, (double)r->point[i].qoe);
    return shift_stat_value(m);
}

/* Adds the shares of the levels lo .. hi in a segment's plateau. */
static void take_plateau(struct mean *m, const struct shift_record *r, int segment,
                         int lo, int hi)
{
    int end = at_segment(r, segment + 1.0);
    for (int i = at_part(r, segment, 0.8); i < end; i++) {
        double share = 0.0;
        for (int k = lo; k <= hi; k++)
            share += (double)r->point[i].level[k];
        shift_stat_take(m, share);
    }
}

static double level_share(const struct shift_record *r, int profile, int level)
{
    struct mean m = {0};
    for (int s = profile; s < SHIFT_SEGMENTS; s += SHIFT_PROFILES)
        take_plateau(&m, r, s, level, level);
    return shift_stat_value(m);
}

double shift_frozen_share(const struct shift_record *r, int lo, int hi)
{
    struct mean m = {0};
    for (int s = SHIFT_PROFILES; s < SHIFT_SEGMENTS; s++)
        take_plateau(&m, r, s, lo, hi);
    return shift_stat_value(m);
}

static double level_swing(const struct shift_record *r)
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

static double over_time(const struct shift_record *r, struct stats_cut cut)
{
    double *x = malloc((size_t)(r->points ? r->points : 1) * sizeof *x);
    int n = 0;
    for (int i = 0; x && i < r->points; i++)
        if (!isnan(r->point[i].recent_qoe)) x[n++] = (double)r->point[i].recent_qoe;
    double mean = x ? stats_trimmed(x, n, cut) : (double)NAN;
    free(x);
    return mean;
}

/* ---- probes ---- */

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

static int most_shared(const struct shift_probe_net *n)
{
    int most = 0;
    for (int k = 1; k < SHIFT_EXPERTS; k++)
        if (n->share[k] > n->share[most]) most = k;
    return most;
}

static double of_probe(const struct shift_probe *p, const struct shift_number *of)
{
    const struct shift_probe_net *n = &p->net[of->net < SHIFT_NETS ? of->net : 0];
    switch (of->of) {
    case SHIFT_LATE_ALL:
        return (double)n->mean_all[of->measure];
    case SHIFT_BUSIEST:
        return shift_probed(p, of->net, most_shared(n), SHIFT_ALL, of->measure);
    case SHIFT_TOP_SHARE:
        return (double)n->share[most_shared(n)];
    default:
        return shift_probed(p, of->net, of->expert, of->layer, of->measure);
    }
}

/* Mean over the probes after a share `from` of the run, up to `to`. */
static double of_probes(const struct shift_record *r, const struct shift_number *of,
                        double from, double to)
{
    struct mean m = {0};
    for (int i = 0; i < r->probes; i++) {
        double at = (double)r->probe[i].iteration;
        if (at > from * r->points && at <= to * r->points)
            shift_stat_take(&m, of_probe(&r->probe[i], of));
    }
    return shift_stat_value(m);
}

/* ---- one number ---- */

double shift_number(const struct shift_record *r, const struct shift_number *of)
{
    double x, q[SHIFT_SEGMENTS];
    switch (of->of) {
    case SHIFT_MEAN:
        shift_bins(&x, 1, r, (enum shift_curve)of->curve);
        return x;
    case SHIFT_TIME:
        return over_time(r, of->cut);
    case SHIFT_LATE:
    case SHIFT_LATE_ALL:
    case SHIFT_BUSIEST:
    case SHIFT_TOP_SHARE:
        return of_probes(r, of, 0.8, 2);
    case SHIFT_GROWTH:
        return of_probes(r, of, 0.8, 2) - of_probes(r, of, 0.2, 0.4);
    case SHIFT_LAGS:
        return shift_stat_value(segment_lags(r));
    case SHIFT_ADAPTED:
        return (double)segment_lags(r).n / (SHIFT_SEGMENTS - 1);
    case SHIFT_SEGMENT_LAG:
        return segment_lag(r, of->segment);
    case SHIFT_SEGMENT_GAIN:
        return !isnan(segment_lag(r, of->segment));
    case SHIFT_PLATEAU:
        shift_segments(q, r, 0.8, 1.0);
        return q[of->segment];
    case SHIFT_PROFILE_QOE:
        return profile_qoe(r, of->profile);
    case SHIFT_PROFILE_LEVEL:
        return level_share(r, of->profile, of->level);
    case SHIFT_SWING:
        return level_swing(r);
    }
    return (double)NAN;
}

/* ---- sets of runs ---- */

static const struct stats_interval NONE = {NAN, NAN, NAN};

int shift_per_run(double *x, const struct shift_set *s, const struct shift_number *of,
                  bool known)
{
    int n = 0;
    for (int i = 0; i < s->n; i++) {
        x[n] = shift_number(&s->run[i], of);
        n += !known || !isnan(x[n]);
    }
    return n;
}

struct stats_interval shift_mean_of(const double *x, int n, enum shift_care care)
{
    return stats_bootstrap(x, n, 0.95, CARE[care].resamples, CARE[care].seed);
}

struct stats_interval shift_mean(const struct shift_set *s, const struct shift_number *of,
                                 enum shift_care care)
{
    double x[SHIFT_SEEDS];
    return s ? shift_mean_of(x, shift_per_run(x, s, of, true), care) : NONE;
}

/* Paired by seed; a pair with a NaN is left out. */
static int pairs(double *x, double *y, const struct shift_set *a,
                 const struct shift_set *b, const struct shift_number *of)
{
    shift_per_run(x, a, of, false);
    shift_per_run(y, b, of, false);
    int n = 0;
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (isnan(x[i]) || isnan(y[i])) continue;
        x[n] = x[i];
        y[n++] = y[i];
    }
    return n;
}

struct stats_interval shift_ratio(const struct shift_set *a, const struct shift_set *b,
                                  const struct shift_number *of, enum shift_care care)
{
    if (!a || !b) return NONE;
    double x[SHIFT_SEEDS], y[SHIFT_SEEDS];
    int n = pairs(x, y, a, b, of);
    double top = 0, bottom = 0;
    for (int i = 0; i < n; i++) {
        top += x[i];
        bottom += y[i];
    }
    if (top < 0 || bottom <= 0) return NONE;
    return stats_bootstrap_ratio(x, y, n, 0.95, CARE[care].resamples, CARE[care].seed);
}

struct stats_interval shift_difference(const struct shift_set *a,
                                       const struct shift_set *b,
                                       const struct shift_number *of)
{
    if (!a || !b) return NONE;
    double x[SHIFT_SEEDS], y[SHIFT_SEEDS];
    int n = pairs(x, y, a, b, of);
    for (int i = 0; i < n; i++)
        x[i] -= y[i];
    return shift_mean_of(x, n, SHIFT_CLAIM);
}

struct stats_interval shift_profiles(const struct shift_set *s, int profile,
                                     struct stats_cut cut)
{
    double q[SHIFT_PROFILES * SHIFT_SEEDS];
    int n[SHIFT_PROFILES], strata = 0;
    for (int k = 0; k < SHIFT_PROFILES; k++) {
        if (profile < SHIFT_PROFILES && k != profile) continue;
        const struct shift_number of = {.of = SHIFT_PROFILE_QOE, .profile = k};
        shift_per_run(q + strata * s->n, s, &of, false);
        n[strata++] = s->n;
    }
    return stats_bootstrap_strata((struct stats_strata){q, n, strata}, cut, 0.95,
                                  CARE[SHIFT_FIGURE].resamples, CARE[SHIFT_FIGURE].seed);
}
