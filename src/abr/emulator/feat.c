#include "abr/emulator/feat.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "abr/deciders/plan.h"

enum {
    SESSION = 28,
    AT_WEIGHTS = 10, /* weights and utility */
    AT_LAST = SESSION,
    AT_THROUGHPUT = AT_LAST + FEAT_LEVELS,
    AT_DOWNLOAD = AT_THROUGHPUT + VIEW_HISTORY,
    AT_LEVEL = AT_DOWNLOAD + VIEW_HISTORY,
    PER_LEVEL = 6,
    TIMES = 3,     /* of a level: download, stall, stall_low */
    AT_REWARD = 4, /* within a level */
    N_WEIGHTS = 6,
    PAPER_COLS = 8,
    ESTIMATE_CHUNKS = 5, /* as MPC's authors chose */
    PLAN_SESSION = 8,
    AT_PLAN_LEVEL = FEAT_FULL_DIM + PLAN_SESSION,
    PER_PLAN_LEVEL = 6,
    PLANS = 4 /* quantiles shown */
};

_Static_assert(AT_LEVEL + FEAT_LEVELS * PER_LEVEL == FEAT_FULL_DIM, "layout and header");
_Static_assert(AT_PLAN_LEVEL + FEAT_LEVELS * PER_PLAN_LEVEL == FEAT_PLAN_DIM,
               "layout and header");
_Static_assert(6 * PAPER_COLS == FEAT_PAPER_DIM, "layout and header");

static const char *const LAYOUTS[] = {"full", "paper", "blind", "paper-hint",
                                      "plan"}; /* enum feat_layout */
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
static const char *const PLAN_NAMES[PLAN_SESSION] = {
    "points", "weight_rise",  "weight_start", "first_chunk",
    "spread", "later_middle", "later_low",    "levels",
};
static const char *const PLAN_LEVEL_NAMES[PER_PLAN_LEVEL] = {
    "quality", "plan1", "plan4", "plan6", "plan8", "plan",
};
static const char *const PAPER_NAMES[6] = {
    "rate", "buffer", "throughput", "download", "size", "remaining",
};

int feat_dim(enum feat_layout layout)
{
    static const int dims[] = {FEAT_FULL_DIM, FEAT_PAPER_DIM, FEAT_FULL_DIM,
                               FEAT_PAPER_HINT_DIM, FEAT_PLAN_DIM};
    return dims[layout];
}

bool feat_rolled(enum feat_layout layout)
{
    return layout == FEAT_PAPER || layout == FEAT_PAPER_HINT;
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
    return err_set(e, ERR_INVALID,
                   "'%.40s' is not a layout (full, paper, blind, paper-hint, plan)",
                   name);
}

void feat_name(char *out, size_t size, enum feat_layout layout, int index)
{
    assert(index >= 0 && index < feat_dim(layout));
    if (feat_rolled(layout) && index >= FEAT_PAPER_DIM) {
        snprintf(out, size, "%s", SESSION_NAMES[AT_WEIGHTS + index - FEAT_PAPER_DIM]);
    } else if (feat_rolled(layout)) {
        snprintf(out, size, "%s.%d", PAPER_NAMES[index / PAPER_COLS], index % PAPER_COLS);
    } else if (index < AT_LAST) {
        snprintf(out, size, "%s", SESSION_NAMES[index]);
    } else if (index < AT_THROUGHPUT) {
        snprintf(out, size, "last%d", index - AT_LAST);
    } else if (index < AT_DOWNLOAD) {
        snprintf(out, size, "throughput.%d", index - AT_THROUGHPUT);
    } else if (index < AT_LEVEL) {
        snprintf(out, size, "download.%d", index - AT_DOWNLOAD);
    } else if (index >= AT_PLAN_LEVEL) {
        int i = index - AT_PLAN_LEVEL;
        snprintf(out, size, "level%d.%s", i / PER_PLAN_LEVEL,
                 PLAN_LEVEL_NAMES[i % PER_PLAN_LEVEL]);
    } else if (index >= FEAT_FULL_DIM) {
        snprintf(out, size, "%s", PLAN_NAMES[index - FEAT_FULL_DIM]);
    } else {
        int i = index - AT_LEVEL;
        snprintf(out, size, "level%d.%s", i / PER_LEVEL, LEVEL_NAMES[i % PER_LEVEL]);
    }
}

uint32_t feat_mask(const struct view *v)
{
    return UINT32_MAX >> (32 - v->levels); /* levels >= 2: no shift by 32 */
}

static double clip(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* fmax and fmin are calls because of NaN, which a view never holds */
static double feat_larger(double a, double b)
{
    return a > b ? a : b;
}

static double feat_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* [0, inf) to [0, 1), half way at x = half; in single precision, to save divisions */
static float bounded(double x)
{
    return (float)clip(x, 0.0, 1e9);
}

static float squash(double x, float half)
{
    float y = bounded(x);
    return y / (y + half);
}

/* the same for values that are already bounded: one loop over all levels, with parallel divisions */
static void squash_all(float x[FEAT_LEVELS * TIMES], float half)
{
    for (int i = 0; i < FEAT_LEVELS * TIMES; i++)
        x[i] = x[i] / (x[i] + half);
}

static double top_kbps(const struct view *v)
{
    return v->ladder_kbps[v->levels - 1];
}

/* The three terms of the reward at their full span over the ladder. */
static void spans(double out[3], const struct view *v)
{
    const struct qoe *q = &v->qoe;
    int last = v->levels - 1;
    double kbps = v->ladder_kbps[0];
    struct qoe_level low = {kbps, v->points[0]}, top = {top_kbps(v), v->points[last]};
    struct qoe_parts climb = qoe_chunk(q, top, low, v->chunk_s, 0.0, kbps);
    struct qoe_parts floor = qoe_chunk(q, low, low, v->chunk_s, 0.0, kbps);
    out[0] = q->mu_quality * (climb.quality - floor.quality);
    out[1] = q->mu_switch * climb.change;
    out[2] = q->mu_stall * v->chunk_s;
}

static double scale_of(const double share[3])
{
    double scale = (share[0] + share[1] + share[2]) / 4.0;
    return scale > 1e-6 ? scale : 1.0;
}

double feat_reward_scale(const struct view *v)
{
    double s[3];
    spans(s, v);
    return scale_of(s);
}

/* Values that several entries need. */
struct basis {
    double top, per_top; /* kbit/s and its inverse */
    double share[3], scale;
    double mean, low; /* throughput estimates [kbit/s]; 0 = nothing measured */
    double bytes[FEAT_LEVELS];
};

/* Harmonic mean of up to five entries before `end`, from their inverses. */
static double harmonic(const double *inverse, int end)
{
    int from = end > ESTIMATE_CHUNKS ? end - ESTIMATE_CHUNKS : 0;
    double sum = 0.0;
    for (int i = end - 1; i >= from; i--)
        sum += inverse[i];
    return (end - from) / sum;
}

static void estimate(struct basis *b, const struct view *v)
{
    int n = v->n_history;
    b->mean = b->low = 0.0;
    if (!n) return;

    double inverse[VIEW_HISTORY], worst = 0.0;
    for (int i = 0; i < n; i++)
        inverse[i] = 1.0 / feat_larger(v->throughput_kbps[i], 1e-3);
    for (int i = n > ESTIMATE_CHUNKS ? n - ESTIMATE_CHUNKS : 1; i < n; i++)
        worst = feat_larger(worst, fabs(harmonic(inverse, i) * inverse[i] - 1.0));
    b->mean = harmonic(inverse, n);
    b->low = b->mean / (1.0 + worst);
}

static struct basis basis_of(const struct view *v)
{
    struct basis b = {.top = top_kbps(v)};
    b.per_top = 1.0 / b.top;
    spans(b.share, v);
    b.scale = scale_of(b.share);
    estimate(&b, v);
    for (int k = 0; k < v->levels; k++)
        b.bytes[k] = view_bytes(v, k);
    return b;
}

/* rate of the highest level that `kbps` carries, as a share of the top rate */
static float sustainable(const struct view *v, const struct basis *b, double kbps)
{
    int k = 0;
    while (k + 1 < v->levels && v->ladder_kbps[k + 1] <= kbps)
        k++;
    return kbps > 0.0 ? (float)(v->ladder_kbps[k] * b->per_top) : 0.0f;
}

/* The logarithms of an observation: log2(ratio) / 4 within -3 .. 3, all in one loop without
 * calls or branches. */
enum {
    LOG_MEAN = VIEW_HISTORY,
    LOG_LOW,
    LOG_MIN,
    LOG_EWMA,
    LOG_TOP,
    LOG_SPAN,
    LOGS = 16
};

/* x = 2^e m, m within sqrt(1/2) .. sqrt(2); with s = (m - 1) / (m + 1)
 *   ln m = 2 (s + s^3/3 + s^5/5 + s^7/7 + ...),  the next term is below 3e-8 */
static void quarter_logs(float x[LOGS])
{
    const float per_ln2 = 2.88539008f; /* 2 / ln 2 */
    int32_t bits[LOGS], e[LOGS];
    float m[LOGS];
    for (int i = 0; i < LOGS; i++)
        m[i] = x[i] > 0x1p-12f ? x[i] : 0x1p-12f;
    for (int i = 0; i < LOGS; i++)
        m[i] = m[i] < 0x1p12f ? m[i] : 0x1p12f;
    memcpy(bits, m, sizeof bits);
    for (int i = 0; i < LOGS; i++) {
        /* 0x3f3504f3: the bits of sqrt(1/2), where exponents begin */
        e[i] = (bits[i] - 0x3f3504f3) >> 23;
        bits[i] -= (int32_t)((uint32_t)e[i] << 23);
    }
    memcpy(m, bits, sizeof bits);
    for (int i = 0; i < LOGS; i++) {
        float s = (m[i] - 1.0f) / (m[i] + 1.0f), q = s * s;
        float ln = s + s * q * (1.0f / 3 + q * (1.0f / 5 + q * (1.0f / 7)));
        x[i] = 0.25f * ((float)e[i] + per_ln2 * ln);
    }
}

/* throughput on a log scale: 0 at the top rate, -1 at a sixteenth of it */
static void observe_throughput(float *o, const struct view *v, const struct basis *b)
{
    int n = v->n_history;
    double sum = 0.0, square = 0.0, low = INFINITY, ewma = 0.0;
    float logs[LOGS];
    for (int i = 0; i < LOGS; i++)
        logs[i] = 1.0f;
    logs[LOG_TOP] = (float)(b->top / 1e3);
    logs[LOG_SPAN] = (float)(b->top / v->ladder_kbps[0]);
    for (int i = 0; i < n; i++) {
        double x = clip(v->throughput_kbps[i], 0.0, 1e9);
        logs[i] = (float)((v->throughput_kbps[i] + 1e-3) * b->per_top);
        ewma = i ? ewma + 0.4 * (x - ewma) : x;
        sum += x;
        square += x * x;
        low = feat_smaller(low, x);
    }
    if (n) {
        const double stats[] = {b->mean, b->low, low, ewma};
        for (int i = 0; i < 4; i++)
            logs[LOG_MEAN + i] = (float)((stats[i] + 1e-3) * b->per_top);
    }
    quarter_logs(logs);

    for (int i = 0; i < n; i++) {
        int at = VIEW_HISTORY - n + i;
        o[AT_THROUGHPUT + at] = logs[i];
        o[AT_DOWNLOAD + at] = squash(v->download_s[i], (float)v->chunk_s);
    }
    if (n) {
        double mean = sum / n, var = square / n - mean * mean;
        o[16] = logs[LOG_MEAN];
        o[17] = logs[LOG_LOW];
        o[18] = logs[n - 1];
        o[19] = logs[LOG_MIN];
        o[20] = logs[LOG_EWMA];
        o[21] =
            mean > 0.0 ? (float)clip(sqrt(feat_larger(var, 0.0)) / mean, 0.0, 3.0) : 0.0f;
    }
    o[22] = (float)n / VIEW_HISTORY;
    o[23] = logs[LOG_TOP];
    o[24] = logs[LOG_SPAN];
    o[26] = sustainable(v, b, b->mean);
    o[27] = sustainable(v, b, b->low);
}

static void put_buffer(float *o, double buffer_s, double limit_s)
{
    o[4] = (float)clip(buffer_s / feat_larger(limit_s, 1.0), 0.0, 1.0);
    o[5] = (float)clip(limit_s / 60.0, 0.0, 2.0);
}

static void observe_session(float *o, const struct view *v, const struct basis *b)
{
    double rates = 0.0, bytes = 0.0, whole = b->share[0] + b->share[1] + b->share[2];
    bool live = v->chunks == 0;
    int left = live ? 0 : v->chunks - v->chunk;
    for (int k = 0; k < v->levels; k++) {
        rates += v->ladder_kbps[k];
        bytes += b->bytes[k];
    }

    if (v->last_level >= 0) {
        o[0] = 1.0f;
        o[1] = (float)(v->ladder_kbps[v->last_level] * b->per_top);
        o[AT_LAST + v->last_level] = 1.0f;
    }
    o[2] = (float)clip(v->buffer_s / 20.0, 0.0, 3.0);
    o[3] = squash(v->buffer_s, 8.0f);
    put_buffer(o, v->buffer_s, v->buffer_max_s);
    o[6] = live ? 1.0f : (float)clip((double)left / v->chunks, 0.0, 1.0);
    o[7] = live ? 1.0f : squash(left, 8.0f);
    o[8] = live;
    o[9] = (float)(v->chunk_s / 4.0);
    for (int i = 0; i < 3; i++)
        o[10 + i] = whole > 1e-6 ? (float)(b->share[i] / whole) : 0.0f;
    if (v->qoe.utility != QOE_POINTS) o[13 + v->qoe.utility] = 1.0f;
    o[25] = (float)clip(bytes / (rates * v->chunk_s * 125.0) - 1.0, -1.0, 3.0);
}

static void observe_levels(float *o, const struct view *v, const struct basis *b)
{
    double per_scale = 1.0 / b->scale, mu = v->qoe.mu_stall;
    double per_mean = b->mean > 0.0 ? 8e-3 / b->mean : 0.0;
    double per_low = b->low > 0.0 ? 8e-3 / b->low : 0.0;
    float chunk_s = (float)v->chunk_s;
    float times[FEAT_LEVELS * TIMES] = {0.0f};
    double smooth[FEAT_LEVELS]; /* rewards without a stall */
    view_rewards(smooth, v, VIEW_LAST);
    for (int k = 0; k < v->levels; k++) {
        double mean_s = b->bytes[k] * per_mean, low_s = b->bytes[k] * per_low;
        double wait = feat_larger(feat_smaller(mean_s, 1e6) - v->buffer_s, 0.0);
        double wait_low = feat_larger(feat_smaller(low_s, 1e6) - v->buffer_s, 0.0);
        float *level = o + k * PER_LEVEL;
        times[k * TIMES] = bounded(mean_s);
        times[k * TIMES + 1] = bounded(wait);
        times[k * TIMES + 2] = bounded(wait_low);
        level[0] = (float)(v->ladder_kbps[k] * b->per_top);
        level[AT_REWARD] = (float)clip((smooth[k] - mu * wait) * per_scale, -4.0, 4.0);
        level[AT_REWARD + 1] =
            (float)clip((smooth[k] - mu * wait_low) * per_scale, -4.0, 4.0);
    }
    squash_all(times, chunk_s);
    for (int k = 0; k < v->levels; k++)
        memcpy(o + k * PER_LEVEL + 1, times + k * TIMES, TIMES * sizeof *o);
}

static void observe_full(float *o, const struct view *v)
{
    struct basis b = basis_of(v);
    memset(o, 0, FEAT_FULL_DIM * sizeof *o);
    observe_session(o, v, &b);
    observe_throughput(o, v, &b);
    observe_levels(o + AT_LEVEL, v, &b);
}

double feat_link_scale(const struct view *v, double kbps)
{
    struct qoe_ladder ladder = view_ladder(v);
    struct qoe_range r = qoe_chunk_range(&v->qoe, &ladder, feat_larger(kbps, 1e-3));
    double whole = v->qoe.mu_quality + v->qoe.mu_switch + v->qoe.mu_stall;
    return r.high - r.low + 0.1 * v->qoe.mu_stall * v->chunk_s + 1e-3 * whole + 1e-9;
}

/* How much less than the best level each is worth: 1 to -1. */
static void observe_worth(float *o, const struct view *v, const double *value,
                          double unit)
{
    double most = value[0];
    for (int k = 1; k < v->levels; k++)
        most = feat_larger(most, value[k]);
    for (int k = 0; k < v->levels; k++)
        o[k * PER_PLAN_LEVEL] = 1.0f - 2.0f * squash((most - value[k]) * unit, 1.0f);
}

/* quantiles of the forecast whose plans are shown */
static const int SHOWN[PLANS] = {1, 4, 6, 8};

static void observe_plan(float *o, const struct view *v)
{
    const struct qoe *q = &v->qoe;
    double per_top = 1.0 / top_kbps(v), points = v->points[v->levels - 1] * 0.01;
    float *level = o + AT_PLAN_LEVEL;
    put_buffer(o, v->buffer_s, feat_smaller(v->buffer_max_s, FEAT_LIMIT_S));
    memset(o + FEAT_FULL_DIM, 0, (FEAT_PLAN_DIM - FEAT_FULL_DIM) * sizeof *o);
    o += FEAT_FULL_DIM;
    o[7] = (float)v->levels / FEAT_LEVELS;
    o[3] = v->last_level < 0;
    if (q->utility == QOE_POINTS) {
        o[0] = 1.0f;
        o[1] = squash(q->mu_rise, (float)q->mu_quality + 1e-6f);
        o[2] = squash(q->mu_start, (float)q->mu_stall + 1e-6f);
    }
    for (int k = 0; k < v->levels; k++)
        level[k * PER_PLAN_LEVEL] =
            q->utility == QOE_POINTS
                ? (float)(v->points[k] * 0.01 / feat_larger(points, 0.05))
                : 0.0f;

    struct forecast f = forecast_of(v);
    if (!(f.mean_kbps > 0.0)) return;
    float logs[LOGS];
    for (int i = 0; i < LOGS; i++)
        logs[i] = 1.0f;
    logs[0] = (float)(f.later_kbps[FORECAST_QUANTILES / 2] * per_top);
    logs[1] = (float)(f.later_kbps[SHOWN[0]] * per_top);
    quarter_logs(logs);
    o[4] = (float)clip(f.spread, 0.0, 3.0);
    o[5] = logs[0];
    o[6] = logs[1];
    static const struct plan_cfg cfg = PLAN_DEFAULT;
    struct plan plan;
    plan_values(&plan, &cfg, v, &f);
    double unit = 1.0 / feat_link_scale(v, f.mean_kbps);
    for (int i = 0; i < PLANS; i++)
        observe_worth(level + 1 + i, v, plan.value[SHOWN[i]], unit);
    double counts =
        feat_larger(f.mean_kbps * (1 / FEAT_FAST_KBPS), v->chunk_s / FEAT_LONG_S);
    observe_worth(level + 1 + PLANS, v, plan.mean,
                  unit * clip(counts, 1.0, FEAT_PLAN_MOST));
}

/* FEAT_BLIND: zeros for what shows the viewer's weights. */
static void hide_viewer(float *o)
{
    memset(o + AT_WEIGHTS, 0, N_WEIGHTS * sizeof *o);
    for (int k = 0; k < FEAT_LEVELS; k++) {
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
        s[PAPER_COLS - 1] = oldest; /* rolls; stays visible where nothing overwrites it */
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

void feat_paper_hint(float out[FEAT_PAPER_HINT_DIM - FEAT_PAPER_DIM],
                     const struct view *v)
{
    double mu[] = {v->qoe.mu_quality, v->qoe.mu_switch, v->qoe.mu_stall};
    double sum = mu[0] + mu[1] + mu[2];
    for (int i = 0; i < 3; i++)
        out[i] = sum > 1e-6 ? (float)(mu[i] / sum) : 0.0f;
}

void feat_observe(float *obs, enum feat_layout layout, const struct view *v)
{
    assert(v->levels >= 2 && v->levels <= FEAT_LEVELS && v->last_level < v->levels);
    if (feat_rolled(layout)) {
        observe_paper(obs, v);
        if (layout == FEAT_PAPER_HINT) feat_paper_hint(obs + FEAT_PAPER_DIM, v);
    } else {
        observe_full(obs, v);
        if (layout == FEAT_PLAN) observe_plan(obs, v);
        if (layout == FEAT_BLIND) hide_viewer(obs);
    }
}
