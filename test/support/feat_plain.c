#include "support/feat_plain.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    SESSION = 28,
    AT_LAST = SESSION,
    AT_THROUGHPUT = AT_LAST + FEAT_LEVELS,
    AT_DOWNLOAD = AT_THROUGHPUT + VIEW_HISTORY,
    AT_LEVEL = AT_DOWNLOAD + VIEW_HISTORY,
    PER_LEVEL = 6,
    ESTIMATE_CHUNKS = 5
};

static double clip(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* [0, inf) to [0, 1), half way at x = half */
static float squash(double x, double half)
{
    x = clip(x, 0.0, 1e9);
    return (float)(x / (x + half));
}

/* throughput on a log scale: 0 at the top rate, -1 at a sixteenth of it */
static float log_rate(double kbps, double top_kbps)
{
    return (float)clip(log2((kbps + 1e-3) / top_kbps) / 4.0, -3.0, 3.0);
}

static double top_kbps(const struct view *v)
{
    return v->ladder_kbps[v->levels - 1];
}

/* The three terms of the reward at their full span over the ladder. */
static void spans(double out[3], const struct view *v)
{
    int last = v->levels - 1;
    double kbps = v->ladder_kbps[0];
    struct qoe_level low = {kbps, v->points[0]}, top = {top_kbps(v), v->points[last]};
    struct qoe_parts climb = qoe_chunk(&v->qoe, top, low, v->chunk_s, 0.0, kbps);
    double floor = v->qoe.utility == QOE_POINTS ? v->points[0] * v->chunk_s / 4
                                                : qoe_quality(v->qoe.utility, kbps, kbps);
    out[0] = v->qoe.mu_quality * (climb.quality - floor);
    out[1] = v->qoe.mu_switch * climb.change;
    out[2] = v->qoe.mu_stall * v->chunk_s;
}

static double reward_scale(const struct view *v)
{
    double s[3];
    spans(s, v);
    double scale = (s[0] + s[1] + s[2]) / 4.0;
    return scale > 1e-6 ? scale : 1.0;
}

/* Harmonic mean of up to five entries before `end`; 0 when there are none. */
static double harmonic(const struct view *v, int end)
{
    double sum = 0.0;
    int n = 0;
    for (int i = end - 1; i >= 0 && n < ESTIMATE_CHUNKS; i--, n++)
        sum += 1.0 / fmax(v->throughput_kbps[i], 1e-3);
    return n ? n / sum : 0.0;
}

struct estimate {
    double mean, low; /* kbit/s; 0 = nothing measured */
};

static struct estimate estimate_of(const struct view *v)
{
    int n = v->n_history;
    double worst = 0.0;
    for (int i = n > ESTIMATE_CHUNKS ? n - ESTIMATE_CHUNKS : 1; i < n; i++) {
        double got = fmax(v->throughput_kbps[i], 1e-3);
        worst = fmax(worst, fabs(harmonic(v, i) - got) / got);
    }

    struct estimate e = {.mean = harmonic(v, n)};
    e.low = e.mean / (1.0 + worst);
    return e;
}

/* rate of the highest level that `kbps` carries, as a share of the top rate */
static float sustainable(const struct view *v, double kbps)
{
    int k = 0;
    while (k + 1 < v->levels && v->ladder_kbps[k + 1] <= kbps)
        k++;
    return kbps > 0.0 ? (float)(v->ladder_kbps[k] / top_kbps(v)) : 0.0f;
}

static void observe_throughput(float *o, const struct view *v, struct estimate est)
{
    int n = v->n_history;
    double top = top_kbps(v), sum = 0.0, square = 0.0, low = INFINITY, ewma = 0.0;
    for (int i = 0; i < n; i++) {
        double x = clip(v->throughput_kbps[i], 0.0, 1e9);
        if (i == 0) ewma = x;
        sum += x;
        square += x * x;
        low = fmin(low, x);
        ewma += 0.4 * (x - ewma);
    }
    if (n) {
        double mean = sum / n, var = square / n - mean * mean;
        o[16] = log_rate(est.mean, top);
        o[17] = log_rate(est.low, top);
        o[18] = log_rate(v->throughput_kbps[n - 1], top);
        o[19] = log_rate(low, top);
        o[20] = log_rate(ewma, top);
        o[21] = mean > 0.0 ? (float)clip(sqrt(fmax(var, 0.0)) / mean, 0.0, 3.0) : 0.0f;
    }
    o[22] = (float)n / VIEW_HISTORY;
    o[26] = sustainable(v, est.mean);
    o[27] = sustainable(v, est.low);
}

static void observe_session(float *o, const struct view *v)
{
    double top = top_kbps(v), nominal = 0.0, bytes = 0.0, share[3];
    bool live = v->chunks == 0;
    int left = live ? 0 : v->chunks - v->chunk;
    spans(share, v);
    double whole = share[0] + share[1] + share[2];
    for (int k = 0; k < v->levels; k++) {
        nominal += v->ladder_kbps[k] * v->chunk_s * 125.0;
        bytes += view_bytes(v, k);
    }

    if (v->last_level >= 0) {
        o[0] = 1.0f;
        o[1] = (float)(v->ladder_kbps[v->last_level] / top);
        o[AT_LAST + v->last_level] = 1.0f;
    }
    o[2] = (float)clip(v->buffer_s / 20.0, 0.0, 3.0);
    o[3] = squash(v->buffer_s, 8.0);
    o[4] = (float)clip(v->buffer_s / fmax(v->buffer_max_s, 1.0), 0.0, 1.0);
    o[5] = (float)clip(v->buffer_max_s / 60.0, 0.0, 2.0);
    o[6] = live ? 1.0f : (float)clip((double)left / v->chunks, 0.0, 1.0);
    o[7] = live ? 1.0f : squash(left, 8.0);
    o[8] = live;
    o[9] = (float)(v->chunk_s / 4.0);
    for (int i = 0; i < 3; i++)
        o[10 + i] = whole > 1e-6 ? (float)(share[i] / whole) : 0.0f;
    o[13 + v->qoe.utility] = 1.0f;
    o[23] = (float)clip(log2(top / 1e3) / 4.0, -3.0, 3.0);
    o[24] = (float)clip(log2(top / v->ladder_kbps[0]) / 4.0, 0.0, 3.0);
    o[25] = (float)clip(bytes / nominal - 1.0, -1.0, 3.0);
}

/* stall while `bytes` arrive at `kbps`, and the reward of that chunk on a unit scale */
static void predict(float *stall, float *reward, const struct view *v, int level,
                    double download_s, struct qoe_level prev, double scale)
{
    double wait = fmax(download_s - v->buffer_s, 0.0);
    struct qoe_level now = {v->ladder_kbps[level], v->points[level]};
    struct qoe_parts q =
        qoe_chunk(&v->qoe, now, prev, v->chunk_s, wait, v->ladder_kbps[0]);
    *stall = squash(wait, v->chunk_s);
    *reward = (float)clip(q.reward / scale, -4.0, 4.0);
}

static void observe_levels(float *o, const struct view *v, struct estimate est)
{
    double scale = reward_scale(v), top = top_kbps(v);
    struct qoe_level prev = view_last(v);
    for (int k = 0; k < v->levels; k++, o += PER_LEVEL) {
        double kbit = view_bytes(v, k) * 8e-3;
        double mean_s = est.mean > 0.0 ? kbit / est.mean : 0.0;
        double low_s = est.low > 0.0 ? kbit / est.low : 0.0;
        o[0] = (float)(v->ladder_kbps[k] / top);
        o[1] = squash(mean_s, v->chunk_s);
        predict(&o[2], &o[4], v, k, clip(mean_s, 0.0, 1e6), prev, scale);
        predict(&o[3], &o[5], v, k, clip(low_s, 0.0, 1e6), prev, scale);
    }
}

void feat_plain(float o[FEAT_FULL_DIM], const struct view *v)
{
    struct estimate est = estimate_of(v);
    memset(o, 0, FEAT_FULL_DIM * sizeof *o);
    observe_session(o, v);
    observe_throughput(o, v, est);
    for (int i = 0; i < v->n_history; i++) {
        int at = VIEW_HISTORY - v->n_history + i;
        o[AT_THROUGHPUT + at] = log_rate(v->throughput_kbps[i], top_kbps(v));
        o[AT_DOWNLOAD + at] = squash(v->download_s[i], v->chunk_s);
    }
    observe_levels(o + AT_LEVEL, v, est);
}
