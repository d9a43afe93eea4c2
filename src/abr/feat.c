#include "abr/feat.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    SESSION = 28,
    AT_LAST = SESSION,
    AT_THROUGHPUT = AT_LAST + VIEW_LEVELS,
    AT_DOWNLOAD = AT_THROUGHPUT + VIEW_HISTORY,
    AT_LEVEL = AT_DOWNLOAD + VIEW_HISTORY,
    PER_LEVEL = 6,
    AT_REWARD = 4,   /* within a level */
    AT_WEIGHTS = 10, /* weights and utility */
    N_WEIGHTS = 6,
    PAPER_COLS = 8,
    ESTIMATE_CHUNKS = 5 /* as MPC's authors chose */
};

_Static_assert(AT_LEVEL + VIEW_LEVELS * PER_LEVEL == FEAT_FULL_DIM, "layout and header");
_Static_assert(6 * PAPER_COLS == FEAT_PAPER_DIM, "layout and header");

static const char *const LAYOUTS[] = {"full", "paper", "blind"}; /* enum feat_layout */
static const char *const SESSION_NAMES[SESSION] = {
    "has_last",
    "last_rate",
    "buffer_20s",
    "buffer_squashed",
    "buffer_share",
    "buffer_limit",
    "remaining_share",
    "remaining_squashed",
    "live",
    "chunk_s",
    "weight_quality",
    "weight_switch",
    "weight_stall",
    "linear",
    "log",
    "pamoe",
    "throughput_mean",
    "throughput_low",
    "throughput_last",
    "throughput_min",
    "throughput_ewma",
    "variation",
    "history",
    "top_mbps",
    "ladder_span",
    "scene",
    "sustainable",
    "sustainable_low",
};
static const char *const LEVEL_NAMES[PER_LEVEL] = {
    "rate", "load", "stall", "stall_low", "reward", "reward_low",
};
static const char *const PAPER_NAMES[6] = {
    "rate", "buffer", "throughput", "download", "size", "remaining",
};

int feat_dim(enum feat_layout layout)
{
    return layout == FEAT_PAPER ? FEAT_PAPER_DIM : FEAT_FULL_DIM;
}

const char *feat_layout_name(enum feat_layout layout)
{
    return LAYOUTS[layout];
}

int feat_layout_parse(enum feat_layout *out, const char *name, struct err *e)
{
    for (int i = 0; i < (int)(sizeof LAYOUTS / sizeof *LAYOUTS); i++) {
        if (strcmp(name, LAYOUTS[i]) != 0) continue;
        *out = (enum feat_layout)i;
        return 0;
    }
    return err_set(e, ERR_INVALID, "'%.40s' is not a layout (full, paper, blind)", name);
}

void feat_name(char *out, size_t size, enum feat_layout layout, int index)
{
    assert(index >= 0 && index < feat_dim(layout));
    if (layout == FEAT_PAPER) {
        snprintf(out, size, "%s.%d", PAPER_NAMES[index / PAPER_COLS], index % PAPER_COLS);
    } else if (index < AT_LAST) {
        snprintf(out, size, "%s", SESSION_NAMES[index]);
    } else if (index < AT_THROUGHPUT) {
        snprintf(out, size, "last%d", index - AT_LAST);
    } else if (index < AT_DOWNLOAD) {
        snprintf(out, size, "throughput.%d", index - AT_THROUGHPUT);
    } else if (index < AT_LEVEL) {
        snprintf(out, size, "download.%d", index - AT_DOWNLOAD);
    } else {
        int i = index - AT_LEVEL;
        snprintf(out, size, "level%d.%s", i / PER_LEVEL, LEVEL_NAMES[i % PER_LEVEL]);
    }
}

uint32_t feat_mask(const struct view *v)
{
    return (UINT32_C(1) << v->levels) - 1;
}

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
    double low = v->ladder_kbps[0], top = top_kbps(v);
    struct qoe_parts climb = qoe_chunk(&v->qoe, top, low, 0.0, low);
    double floor = qoe_quality(v->qoe.utility, low, low);
    out[0] = v->qoe.mu_quality * (climb.quality - floor);
    out[1] = v->qoe.mu_switch * climb.change;
    out[2] = v->qoe.mu_stall * v->chunk_s;
}

double feat_reward_scale(const struct view *v)
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
                    double download_s, double prev_kbps, double scale)
{
    double wait = fmax(download_s - v->buffer_s, 0.0);
    struct qoe_parts q =
        qoe_chunk(&v->qoe, v->ladder_kbps[level], prev_kbps, wait, v->ladder_kbps[0]);
    *stall = squash(wait, v->chunk_s);
    *reward = (float)clip(q.reward / scale, -4.0, 4.0);
}

static void observe_levels(float *o, const struct view *v, struct estimate est)
{
    double scale = feat_reward_scale(v), top = top_kbps(v);
    double prev = v->last_level >= 0 ? v->ladder_kbps[v->last_level] : 0.0;
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

static void observe_full(float *o, const struct view *v)
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

/* What the viewer values, taken out again. */
static void hide_viewer(float *o)
{
    memset(o + AT_WEIGHTS, 0, N_WEIGHTS * sizeof *o);
    for (int k = 0; k < VIEW_LEVELS; k++) {
        float *level = o + AT_LEVEL + k * PER_LEVEL;
        memset(level + AT_REWARD, 0, (PER_LEVEL - AT_REWARD) * sizeof *o);
    }
}

static float paper_mbytes(double kbps)
{
    return (float)clip(kbps / 8e3, 0.0, 1e6);
}

/* newest column of the paper's state; its video has 48 chunks */
static void paper_newest(float *s, const struct view *v)
{
    enum { NEWEST = PAPER_COLS - 1, CHUNKS = 48 };
    int n = v->n_history;
    int left = v->chunks ? v->chunks - v->chunk : CHUNKS;
    int sizes = v->levels < PAPER_COLS ? v->levels : PAPER_COLS;

    s[0 * PAPER_COLS + NEWEST] =
        v->last_level >= 0 ? (float)(v->ladder_kbps[v->last_level] / top_kbps(v)) : 0.0f;
    s[1 * PAPER_COLS + NEWEST] = (float)clip(v->buffer_s, 0.0, 1e6);
    s[2 * PAPER_COLS + NEWEST] = n ? paper_mbytes(v->throughput_kbps[n - 1]) : 0.0f;
    s[3 * PAPER_COLS + NEWEST] = n ? (float)(v->download_s[n - 1] / 10.0) : 0.0f;
    for (int k = 0; k < sizes; k++)
        s[4 * PAPER_COLS + k] = (float)(view_bytes(v, k) / 1e6);
    s[5 * PAPER_COLS + NEWEST] = (float)clip((double)left / CHUNKS, 0.0, 1.0);
}

void feat_paper_push(float *state, const struct view *v)
{
    for (int row = 0; row < 6; row++) {
        float *s = state + row * PAPER_COLS, oldest = s[0];
        memmove(s, s + 1, (PAPER_COLS - 1) * sizeof *s);
        s[PAPER_COLS - 1] = oldest; /* a roll: seen where nothing is written over it */
    }
    paper_newest(state, v);
}

static void observe_paper(float *o, const struct view *v)
{
    memset(o, 0, FEAT_PAPER_DIM * sizeof *o);
    for (int i = 0; i < v->n_history; i++) {
        int at = PAPER_COLS - v->n_history + i;
        o[2 * PAPER_COLS + at] = paper_mbytes(v->throughput_kbps[i]);
        o[3 * PAPER_COLS + at] = (float)(v->download_s[i] / 10.0);
    }
    paper_newest(o, v);
}

void feat_observe(float *obs, enum feat_layout layout, const struct view *v)
{
    assert(v->levels >= 2 && v->levels <= VIEW_LEVELS && v->last_level < v->levels);
    if (layout == FEAT_PAPER) {
        observe_paper(obs, v);
    } else {
        observe_full(obs, v);
        if (layout == FEAT_BLIND) hide_viewer(obs);
    }
}
