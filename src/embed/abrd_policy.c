#include "abrd_priv.h"

#include "abr/emulator/feat.h"
#include "abr/emulator/quality.h"
#include "abr/deciders/caution.h"
#include "abr/deciders/first_level.h"
#include "abr/deciders/forecast_own.h"
#include "abr/deciders/window.h"
#include "policy/packed.h"
#include "learn/ckpt.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(ABRD_LEVELS == VIEW_LEVELS, "the header promises the ladder's length");
#define SAME(code) _Static_assert((int)ABRD_##code == (int)ERR_##code, "and the codes")
SAME(IO);
SAME(MEMORY);
SAME(INVALID);
SAME(RANGE);
SAME(ABSENT);
SAME(CORRUPT);
SAME(NUMERIC);
#define SAME_QUALITY(from) \
    _Static_assert((int)ABRD_##from == (int)QUALITY_##from, "and the sources")
SAME_QUALITY(CURVE);
SAME_QUALITY(LEVEL);
SAME_QUALITY(CHUNK);

int abrd_fail(struct abrd_error *e, int code, const char *fmt, ...)
{
    if (!e || e->code) return code;
    va_list ap;
    va_start(ap, fmt);
    e->code = code;
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return code;
}

int abrd_tell(struct abrd_error *e, const struct err *why)
{
    return abrd_fail(e, why->code, "%s%s%s", why->field, *why->field ? ": " : "",
                     why->detail);
}

/* Written so that NaN fails. */
static int abrd_policy_within(double v, double lo, double hi, const char *what,
                              struct abrd_error *e)
{
    if (v >= lo && v <= hi) return 0;
    return abrd_fail(e, ABRD_RANGE, "%s: %g is not within %g .. %g", what, v, lo, hi);
}

/* ---- weights ---- */

struct abrd_policy {
    struct packed *packed;
    enum feat_layout layout;
};

/* Takes p. */
static struct abrd_policy *pack(struct policy *p, const char *layout,
                                struct abrd_error *e)
{
    struct err why = {0};
    struct abrd_policy *out = NULL;
    enum feat_layout found = FEAT_FULL;
    if (layout && feat_layout_parse(&found, layout, &why)) goto out;
    if ((found != FEAT_FULL && found != FEAT_PLAN) || p->cfg.obs_dim != feat_dim(found)) {
        err_set(&why, ERR_INVALID,
                "the policy reads %d inputs of layout '%s'; this library makes the %d of "
                "'plan' and the %d of 'full', as the daemon does",
                p->cfg.obs_dim, feat_layout_name(found), FEAT_PLAN_DIM, FEAT_FULL_DIM);
        goto out;
    }
    out = calloc(1, sizeof *out);
    if (!out) {
        err_set(&why, ERR_MEMORY, "no memory for a policy");
        goto out;
    }
    out->layout = found;
    (void)forecast_own_drop_foreign(p);
    out->packed = packed_new(&p->cfg, &why);
    if (out->packed) packed_load(out->packed, p);
out:
    policy_free(p);
    if (!why.code) return out;
    abrd_tell(e, &why);
    free(out);
    return NULL;
}

/* From a file, or from memory when path is NULL. */
static struct abrd_policy *abrd_policy_do_load(const char *path, const void *data,
                                               size_t bytes, struct abrd_error *e)
{
    struct ckpt_meta *meta = calloc(1, sizeof *meta); /* 18 kB: too much for a stack */
    if (!meta) {
        abrd_fail(e, ABRD_MEMORY, "no memory for a policy");
        return NULL;
    }
    struct err why = {0};
    struct policy *p = path ? ckpt_load(path, meta, NULL, NULL, &why)
                            : ckpt_decode(data, bytes, meta, NULL, NULL, &why);
    struct abrd_policy *out = NULL;
    if (p)
        out = pack(p, ckpt_meta_get(meta, "layout"), e);
    else
        abrd_tell(e, &why);
    free(meta);
    return out;
}

struct abrd_policy *abrd_policy_load(const char *path, struct abrd_error *e)
{
    return abrd_policy_do_load(path, NULL, 0, e);
}

struct abrd_policy *abrd_policy_read(const void *data, size_t bytes, struct abrd_error *e)
{
    return abrd_policy_do_load(NULL, data, bytes, e);
}

void abrd_policy_free(struct abrd_policy *p)
{
    if (!p) return;
    packed_free(p->packed);
    free(p);
}

/* ---- the video ---- */

static int check_sizes(const int64_t *bytes, size_t n, struct abrd_error *e)
{
    for (size_t i = 0; i < n; i++) {
        char what[40];
        snprintf(what, sizeof what, "bytes[%zu]", i);
        if (abrd_policy_within((double)bytes[i], 1, (double)VIDEO_BYTES_MAX, what, e))
            return ABRD_RANGE;
    }
    return 0;
}

static int check_video(const double *ladder_kbps, int levels, double chunk_s, int chunks,
                       const int64_t *bytes, struct abrd_error *e)
{
    int rc = abrd_policy_within(levels, 2, ABRD_LEVELS, "levels", e);
    if (!rc)
        rc =
            abrd_policy_within(chunk_s, VIEW_CHUNK_S_MIN, VIEW_CHUNK_S_MAX, "chunk_s", e);
    if (!rc) rc = abrd_policy_within(chunks, 0, VIEW_CHUNKS_MAX, "chunks", e);
    for (int k = 0; !rc && k < levels; k++) {
        char what[40];
        snprintf(what, sizeof what, "ladder_kbps[%d]", k);
        rc = abrd_policy_within(ladder_kbps[k], VIEW_KBPS_MIN, VIEW_KBPS_MAX, what, e);
        if (!rc && k && ladder_kbps[k] <= ladder_kbps[k - 1])
            rc = abrd_fail(e, ABRD_RANGE, "%s: %g does not lie above the level before it",
                           what, ladder_kbps[k]);
    }
    return rc || !bytes ? rc : check_sizes(bytes, (size_t)chunks * (size_t)levels, e);
}

struct abrd_video *abrd_video_new(const double *ladder_kbps, int levels, double chunk_s,
                                  int chunks, const int64_t *bytes, struct abrd_error *e)
{
    if (check_video(ladder_kbps, levels, chunk_s, chunks, bytes, e)) return NULL;
    struct abrd_video *v = calloc(1, sizeof *v);
    size_t n = (size_t)chunks * (size_t)levels;
    if (v && bytes && n) v->bytes = calloc(n, sizeof *bytes);
    if (!v || (bytes && n && !v->bytes)) {
        abrd_fail(e, ABRD_MEMORY, "no memory for a video of %d chunks", chunks);
        free(v);
        return NULL;
    }
    v->levels = levels;
    v->chunks = chunks;
    v->chunk_s = chunk_s;
    memcpy(v->ladder_kbps, ladder_kbps, (size_t)levels * sizeof *ladder_kbps);
    if (v->bytes) memcpy(v->bytes, bytes, n * sizeof *bytes);
    quality_curve(v->level_points, v->ladder_kbps, NULL, levels);
    return v;
}

void abrd_video_free(struct abrd_video *v)
{
    if (!v) return;
    free(v->bytes);
    free(v->points);
    free(v);
}

/* unknown: NaN is allowed. */
static int check_points(const double *points, size_t n, bool unknown, const char *name,
                        struct abrd_error *e)
{
    for (size_t i = 0; i < n; i++) {
        char what[40];
        if (unknown && isnan(points[i])) continue;
        snprintf(what, sizeof what, "%s[%zu]", name, i);
        if (abrd_policy_within(points[i], 0, QOE_POINTS_MAX, what, e)) return ABRD_RANGE;
    }
    return 0;
}

/* As the daemon keeps the quality of a chunk. NaN stays. */
static double hundredths(double points)
{
    return round(points * 100) / 100;
}

int abrd_video_set_quality(struct abrd_video *v, const double *level, const double *chunk,
                           struct abrd_error *e)
{
    size_t n = (size_t)v->chunks * (size_t)v->levels;
    int rc = level ? check_points(level, (size_t)v->levels, false, "level", e) : 0;
    if (!rc && chunk) rc = check_points(chunk, n, true, "chunk", e);
    if (rc) return rc;
    if (chunk && n && !v->points) {
        v->points = calloc(n, sizeof *v->points);
        if (!v->points)
            return abrd_fail(e, ABRD_MEMORY, "no memory for the quality of %d chunks",
                             v->chunks);
    }
    for (size_t i = 0; chunk && i < n; i++)
        v->points[i] = hundredths(chunk[i]);
    if (level) memcpy(v->level_points, level, (size_t)v->levels * sizeof *level);
    v->stated |= level != NULL;
    return 0;
}

int abrd_video_set_heights(struct abrd_video *v, const int *height, struct abrd_error *e)
{
    for (int k = 0; k < v->levels; k++) {
        char what[40];
        snprintf(what, sizeof what, "height[%d]", k);
        int rc = abrd_policy_within(height[k], QUALITY_HEIGHT_MIN, QUALITY_HEIGHT_MAX,
                                    what, e);
        if (rc) return rc;
    }
    if (!v->stated) quality_curve(v->level_points, v->ladder_kbps, height, v->levels);
    return 0;
}

/* ---- the viewer ---- */

struct abrd_viewer abrd_viewer_named(const char *profile)
{
    const struct qoe_profile *p = qoe_find(profile);
    const struct qoe *q = p ? &p->qoe : qoe_standard();
    bool points = q->utility == QOE_POINTS;
    double w[QOE_WEIGHTS] = {q->mu_quality, q->mu_switch, q->mu_stall, 0};
    if (points) qoe_weights(w, q);
    for (int i = 0; i < QOE_WEIGHTS; i++)
        w[i] = round(w[i] * 1e9) / 1e9; /* of the last bit of a division */
    return (struct abrd_viewer){.quality = w[0],
                                .switches = w[1],
                                .stalls = w[2],
                                .utility = points ? ABRD_POINTS : ABRD_LINEAR,
                                .buffer_max_s = 60,
                                .startup = w[3],
                                .stall_ratio_max = q->stall_ratio_max,
                                .startup_max_s = q->startup_max_s};
}

static int ceiling(double v, double lo, double hi, const char *what, struct abrd_error *e)
{
    if (v == 0 || (v >= lo && v <= hi)) return 0;
    return abrd_fail(e, ABRD_RANGE, "%s: %g is neither 0, for none, nor within %g .. %g",
                     what, v, lo, hi);
}

static int viewer(struct qoe *out, const struct abrd_viewer *who, double chunk_s,
                  struct abrd_error *e)
{
    bool points = who->utility == ABRD_POINTS;
    /* a profile's weights are divided by those of `standard`, which rounds */
    double most = points ? QOE_WEIGHT_MAX * (1 + 1e-9) : QOE_MU_MAX,
           startup = points ? who->startup : 0;
    int rc = abrd_policy_within(who->utility, ABRD_LINEAR, ABRD_POINTS, "utility", e);
    if (!rc) rc = abrd_policy_within(who->quality, 0, most, "quality", e);
    if (!rc) rc = abrd_policy_within(who->switches, 0, most, "switches", e);
    if (!rc) rc = abrd_policy_within(who->stalls, 0, most, "stalls", e);
    if (!rc) rc = abrd_policy_within(startup, 0, most, "startup", e);
    if (!rc)
        rc = abrd_policy_within(who->buffer_max_s, chunk_s, VIEW_BUFFER_S_MAX,
                                "buffer_max_s", e);
    if (!rc && !(who->quality + who->switches + who->stalls + startup > 0))
        rc = abrd_fail(e, ABRD_RANGE, "quality: a viewer has to value something");
    if (!rc)
        rc = ceiling(who->stall_ratio_max, QOE_STALL_RATIO_MIN, QOE_STALL_RATIO_MAX,
                     "stall_ratio_max", e);
    if (!rc)
        rc = ceiling(who->startup_max_s, QOE_STARTUP_S_MIN, QOE_STARTUP_S_MAX,
                     "startup_max_s", e);
    if (rc) return rc;
    if (points)
        *out = qoe_of_weights(
            (double[]){who->quality, who->switches, who->stalls, who->startup});
    else
        *out = qoe_of_mu(who->quality, who->switches, who->stalls,
                         who->utility == ABRD_LOG ? QOE_LOG : QOE_LINEAR);
    out->stall_ratio_max = who->stall_ratio_max;
    out->startup_max_s = who->startup_max_s;
    return 0;
}

/* ---- deciding ---- */

struct abrd_session {
    const struct abrd_policy *policy;
    const struct abrd_video *video;
    struct view view;
    enum quality_source from[VIEW_LEVELS]; /* of view.points */
    int reported;
    double qoe, quality; /* sums */
};

static void set_points(struct abrd_session *s, int level, double chunk_points)
{
    const struct abrd_video *v = s->video;
    bool known = !isnan(chunk_points);
    s->view.points[level] = known ? chunk_points : v->level_points[level];
    s->from[level] = known ? QUALITY_CHUNK : v->stated ? QUALITY_LEVEL : QUALITY_CURVE;
}

/* The sizes and the quality of the next chunk in the table. */
static void abrd_policy_look_ahead(struct abrd_session *s)
{
    const struct abrd_video *v = s->video;
    bool known = v->bytes && s->view.chunk < v->chunks;
    for (int k = 0; k < v->levels; k++)
        s->view.next_bytes[k] =
            known
                ? (double)v->bytes[(size_t)s->view.chunk * (size_t)v->levels + (size_t)k]
                : 0.0;
    known = v->points && s->view.chunk < v->chunks;
    for (int k = 0; k < v->levels; k++)
        set_points(s, k,
                   known
                       ? v->points[(size_t)s->view.chunk * (size_t)v->levels + (size_t)k]
                       : (double)NAN);
}

struct abrd_session *abrd_session_new(const struct abrd_policy *p,
                                      const struct abrd_video *v,
                                      const struct abrd_viewer *who, struct abrd_error *e)
{
    struct qoe qoe;
    if (viewer(&qoe, who, v->chunk_s, e)) return NULL;
    int most = packed_cfg(p->packed)->actions;
    if (v->levels > most && most < FEAT_LEVELS) {
        abrd_fail(e, ABRD_RANGE, "levels: the policy chooses among %d, the video has %d",
                  most, v->levels);
        return NULL;
    }
    struct abrd_session *s = calloc(1, sizeof *s);
    if (!s) {
        abrd_fail(e, ABRD_MEMORY, "no memory for a session");
        return NULL;
    }
    *s = (struct abrd_session){.policy = p, .video = v, .view = view_default()};
    s->view.levels = v->levels;
    memcpy(s->view.ladder_kbps, v->ladder_kbps, sizeof v->ladder_kbps);
    quality_curve(s->view.points, v->ladder_kbps, NULL, v->levels);
    s->view.chunk_s = v->chunk_s;
    s->view.chunks = v->chunks;
    s->view.buffer_max_s = who->buffer_max_s;
    s->view.qoe = qoe;
    abrd_policy_look_ahead(s);
    return s;
}

void abrd_session_free(struct abrd_session *s)
{
    free(s);
}

static int check_end(const struct abrd_session *s, struct abrd_error *e)
{
    int chunks = s->view.chunks;
    if (!chunks || s->view.chunk < chunks) return 0;
    return abrd_fail(e, ABRD_RANGE, "chunk: the video has %d, all were reported", chunks);
}

int abrd_session_decide_long(const struct abrd_session *s, double buffer_s,
                             struct abrd_decision *out, struct abrd_error *e)
{
    *out = (struct abrd_decision){.chunk = s->view.chunk,
                                  .kbps = s->view.ladder_kbps[0],
                                  .quality = s->view.points[0],
                                  .quality_from = (int)s->from[0]};
    int rc = check_end(s, e);
    if (!rc) rc = abrd_policy_within(buffer_s, 0, VIEW_BUFFER_S_MAX, "buffer_s", e);
    if (rc) return rc;

    struct view v = s->view;
    v.buffer_s = buffer_s;
    caution_apply(&v, NULL, NULL);
    v.own_forecast = packed_input(s->policy->packed, FORECAST_OWN);
    float obs[FEAT_DIM_MAX];
    struct window w;
    struct policy_choice c;
    uint32_t levels = first_level_offer(&v);
    feat_observe(obs, s->policy->layout, window_see(&w, &v, levels));
    if (packed_decide(&c, s->policy->packed, obs, window_mask(&w, levels), -1))
        return abrd_fail(e, ABRD_NUMERIC, "policy: what it computes is no number");
    out->level = window_level(&w, c.action);
    out->kbps = v.ladder_kbps[out->level];
    out->expert = c.expert;
    out->value = (double)c.value;
    out->quality = v.points[out->level];
    out->quality_from = (int)s->from[out->level];
    window_spread(out->probability, v.levels, window_levels(&w), c.prob);
    return 0;
}

/* ---- code that was compiled for API 2 ---- */

enum { LEVELS_BEFORE = 12 };

struct decision_before {
    int chunk, level;
    double kbps;
    int expert;
    double value, probability[LEVELS_BEFORE], quality;
    int quality_from;
};

#undef abrd_session_decide
int abrd_session_decide(const struct abrd_session *s, double buffer_s,
                        struct decision_before *out, struct abrd_error *e);

/* It stays for object files that are linked without being compiled again. */
int abrd_session_decide(const struct abrd_session *s, double buffer_s,
                        struct decision_before *out, struct abrd_error *e)
{
    struct abrd_decision d;
    int levels = s->view.levels;
    if (levels > LEVELS_BEFORE)
        return abrd_fail(e, ABRD_RANGE,
                         "levels: the program was compiled for ladders of at most %d "
                         "levels, the video has %d: compile it again",
                         LEVELS_BEFORE, levels);
    int rc = abrd_session_decide_long(s, buffer_s, &d, e);
    *out = (struct decision_before){.chunk = d.chunk,
                                    .level = d.level,
                                    .kbps = d.kbps,
                                    .expert = d.expert,
                                    .value = d.value,
                                    .quality = d.quality,
                                    .quality_from = d.quality_from};
    memcpy(out->probability, d.probability, sizeof out->probability);
    return rc;
}

int abrd_session_report(struct abrd_session *s, const struct abrd_outcome *o,
                        struct abrd_error *e)
{
    struct view *v = &s->view;
    int rc = check_end(s, e);
    if (!rc) rc = abrd_policy_within(o->level, 0, v->levels - 1, "level", e);
    if (!rc) rc = abrd_policy_within(o->bytes, 1, VIEW_BYTES_MAX, "bytes", e);
    if (!rc)
        rc = abrd_policy_within(o->download_s, VIEW_DOWNLOAD_S_MIN, VIEW_SECONDS_MAX,
                                "download_s", e);
    if (!rc) rc = abrd_policy_within(o->stall_s, 0, VIEW_SECONDS_MAX, "stall_s", e);
    if (rc) return rc;

    struct qoe_level now = {v->ladder_kbps[o->level], v->points[o->level]};
    s->qoe +=
        qoe_chunk(&v->qoe, now, view_last(v), v->chunk_s, o->stall_s, v->ladder_kbps[0])
            .reward;
    s->quality += now.points;
    if (s->reported) v->stalled_s += o->stall_s;
    v->played_s += v->chunk_s;
    s->reported++;
    view_push(v, o->bytes, o->download_s);
    v->last_level = o->level;
    v->last_points = now.points;
    v->chunk++;
    abrd_policy_look_ahead(s);
    return 0;
}

int abrd_session_seek(struct abrd_session *s, int chunk, struct abrd_error *e)
{
    int last = s->view.chunks ? s->view.chunks - 1 : VIEW_CHUNK_MAX;
    int rc = abrd_policy_within(chunk, 0, last, "chunk", e);
    if (rc) return rc;
    s->view.chunk = chunk;
    s->view.last_level = -1;
    abrd_policy_look_ahead(s);
    return 0;
}

int abrd_session_sizes(struct abrd_session *s, const int64_t *bytes, struct abrd_error *e)
{
    int rc = check_end(s, e);
    if (!rc) rc = check_sizes(bytes, (size_t)s->view.levels, e);
    for (int k = 0; !rc && k < s->view.levels; k++)
        s->view.next_bytes[k] = (double)bytes[k];
    return rc;
}

int abrd_session_next_quality(struct abrd_session *s, const double *points,
                              struct abrd_error *e)
{
    int rc = check_end(s, e);
    if (!rc) rc = check_points(points, (size_t)s->view.levels, true, "points", e);
    for (int k = 0; !rc && k < s->view.levels; k++)
        set_points(s, k, hundredths(points[k]));
    return rc;
}

int abrd_session_chunks(const struct abrd_session *s)
{
    return s->reported;
}

double abrd_session_qoe(const struct abrd_session *s)
{
    return s->qoe;
}

double abrd_session_quality(const struct abrd_session *s)
{
    return s->reported ? s->quality / s->reported : 0;
}
