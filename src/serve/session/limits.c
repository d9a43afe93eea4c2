#include "serve/session/limits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The comparisons fail for NaN. */
static int within(double v, double lo, double hi, const char *field, struct err *e)
{
    if (v >= lo && v <= hi) return 0;
    if (!isfinite(v)) return err_field(e, ERR_INVALID, field, "is not a finite number");
    return err_field(e, ERR_RANGE, field, "%g is not within %g .. %g", v, lo, hi);
}

static int within_at(double v, double lo, double hi, const char *name, int i,
                     struct err *e)
{
    if (v >= lo && v <= hi) return 0;
    char field[64];
    snprintf(field, sizeof field, "%s[%d]", name, i);
    return within(v, lo, hi, field, e);
}

static int check_chunk(int chunk, int chunks, const char *field, struct err *e)
{
    int last = chunks ? chunks - 1 : LIMITS_CHUNK;
    if (chunk >= 0 && chunk <= last) return 0;
    return err_field(e, ERR_RANGE, field, "%d is not within 0 .. %d", chunk, last);
}

int limits_ladder(const double *kbps, int levels, struct err *e)
{
    if (levels < 2 || levels > VIEW_LEVELS)
        return err_field(e, ERR_RANGE, "ladder_kbps", "has %d levels, not 2 .. %d",
                         levels, VIEW_LEVELS);
    for (int i = 0; i < levels; i++) {
        int rc =
            within_at(kbps[i], LIMITS_KBPS_MIN, LIMITS_KBPS_MAX, "ladder_kbps", i, e);
        if (rc) return rc;
        if (i && kbps[i] <= kbps[i - 1]) {
            char field[64];
            snprintf(field, sizeof field, "ladder_kbps[%d]", i);
            return err_field(e, ERR_INVALID, field,
                             "%g is not above the level before it (%g)", kbps[i],
                             kbps[i - 1]);
        }
    }
    return 0;
}

static int check_next(const double *bytes, int levels, struct err *e)
{
    for (int i = 0; i < levels; i++) {
        int rc = within_at(bytes[i], 0, LIMITS_NEXT_BYTES, "next_bytes", i, e);
        if (rc) return rc;
    }
    return 0;
}

/* Checks of sessions and stateless questions. */
static int check_video(const double *ladder, int levels, double chunk_s, int chunks,
                       double buffer_max_s, struct err *e)
{
    int rc = limits_ladder(ladder, levels, e);
    if (!rc) rc = within(chunk_s, LIMITS_CHUNK_S_MIN, LIMITS_CHUNK_S_MAX, "chunk_s", e);
    if (!rc) rc = within(chunks, 0, LIMITS_CHUNKS, "chunks", e);
    if (!rc) rc = within(buffer_max_s, 1, LIMITS_BUFFER_S, "buffer_max_s", e);
    if (!rc && buffer_max_s < chunk_s)
        rc = err_field(e, ERR_RANGE, "buffer_max_s", "%g s cannot hold one chunk of %g s",
                       buffer_max_s, chunk_s);
    return rc;
}

/* points of each level, or of the next chunk, where NaN is unknown */
static int check_quality(const double *points, int levels, bool unknown, const char *name,
                         struct err *e)
{
    for (int i = 0; i < levels; i++) {
        if (unknown && isnan(points[i])) continue;
        int rc = within_at(points[i], 0, LIMITS_QUALITY, name, i, e);
        if (rc) return rc;
    }
    return 0;
}

int limits_heights(const double *height, int levels, struct err *e)
{
    for (int i = 0; i < levels; i++) {
        int rc =
            within_at(height[i], LIMITS_HEIGHT_MIN, LIMITS_HEIGHT_MAX, "height", i, e);
        if (rc) return rc;
        if (height[i] == floor(height[i])) continue;
        char field[64];
        snprintf(field, sizeof field, "height[%d]", i);
        return err_field(e, ERR_INVALID, field, "%g is not whole", height[i]);
    }
    return 0;
}

/* n: entries received; 0: the caller filled all */
static int check_entries(int n, int levels, const char *name, struct err *e)
{
    if (!n || n == levels) return 0;
    return err_field(e, ERR_INVALID, name, "has %d entries, the ladder has %d", n,
                     levels);
}

int limits_quality(const double *points, int levels, struct err *e)
{
    return check_quality(points, levels, false, "quality", e);
}

int limits_next_quality(const double *points, int levels, struct err *e)
{
    return check_quality(points, levels, true, "next_quality", e);
}

void limits_curve(double *points, const double *ladder_kbps, const double *height,
                  int levels)
{
    int pixels[VIEW_LEVELS];
    for (int k = 0; height && k < levels; k++)
        pixels[k] = (int)height[k];
    quality_curve(points, ladder_kbps, height ? pixels : NULL, levels);
}

int limits_weights(const double weight[QOE_WEIGHTS], struct err *e)
{
    double sum = 0;
    for (int i = 0; i < QOE_WEIGHTS; i++) {
        char field[64];
        snprintf(field, sizeof field, "weights.%s", qoe_weight_names[i]);
        int rc = within(weight[i], 0, LIMITS_WEIGHT, field, e);
        if (rc) return rc;
        sum += weight[i];
    }
    if (sum >= 1e-6) return 0;
    return err_field(e, ERR_RANGE, "weights", "all weights are zero: set at least one");
}

static int check_ceiling(double v, double lo, double hi, const char *prefix,
                         const char *name, struct err *e)
{
    if (v == 0 || (v >= lo && v <= hi)) return 0;
    char field[SERVICE_NAME + 32];
    snprintf(field, sizeof field, "%s%s", prefix, name);
    return err_field(e, isfinite(v) ? ERR_RANGE : ERR_INVALID, field,
                     "%g is neither 0, for none, nor within %g .. %g", v, lo, hi);
}

int limits_ceilings(double stall_ratio_max, double startup_max_s, const char *prefix,
                    struct err *e)
{
    int rc = check_ceiling(stall_ratio_max, LIMITS_STALL_RATIO_MIN,
                           LIMITS_STALL_RATIO_MAX, prefix, "stall_ratio_max", e);
    return rc ? rc
              : check_ceiling(startup_max_s, LIMITS_STARTUP_S_MIN, LIMITS_STARTUP_S_MAX,
                              prefix, "startup_max_s", e);
}

/* The weights of a request are multiplied and divided by those of `standard`, which rounds. */
static int check_points_qoe(const struct qoe *k, struct err *e)
{
    double weight[QOE_WEIGHTS];
    qoe_weights(weight, k);
    for (int i = 0; i < QOE_WEIGHTS; i++)
        if (weight[i] > LIMITS_WEIGHT && weight[i] < LIMITS_WEIGHT * (1 + 1e-9))
            weight[i] = LIMITS_WEIGHT;
    int rc = limits_weights(weight, e);
    return rc ? rc : within(k->mu_rise, 0, LIMITS_MU, "weights.switches", e);
}

int limits_qoe(const struct qoe *k, struct err *e)
{
    if ((int)k->utility < QOE_LINEAR || k->utility > QOE_POINTS)
        return err_field(e, ERR_INVALID, "utility",
                         "is not points, linear, log or pamoe");
    int rc = limits_ceilings(k->stall_ratio_max, k->startup_max_s, "", e);
    if (rc) return rc;
    if (k->utility == QOE_POINTS) return check_points_qoe(k, e);
    rc = within(k->mu_quality, 0, LIMITS_MU, "mu[0]", e);
    if (!rc) rc = within(k->mu_switch, 0, LIMITS_MU, "mu[1]", e);
    if (!rc) rc = within(k->mu_stall, 0, LIMITS_MU, "mu[2]", e);
    if (rc) return rc;
    if (k->mu_quality + k->mu_switch + k->mu_stall < 1e-6)
        return err_field(e, ERR_RANGE, "mu", "all weights are zero: set at least one");
    return 0;
}

int limits_cap(double max_kbps, struct err *e)
{
    if (max_kbps == 0) return 0;
    return within(max_kbps, LIMITS_KBPS_MIN, LIMITS_KBPS_MAX, "max_kbps", e);
}

int limits_name(const char *name, struct err *e)
{
    size_t n = strlen(name);
    if (n == 0 || n >= SERVICE_NAME)
        return err_field(e, ERR_RANGE, "profile", "a name has 1 .. %d characters",
                         SERVICE_NAME - 1);
    if (strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != n)
        return err_field(e, ERR_INVALID, "profile",
                         "a name contains only a-z, 0-9, '_' and '-'");
    return 0;
}

int limits_open(const struct session_open *in, struct err *e)
{
    int rc = check_video(in->ladder_kbps, in->levels, in->chunk_s, in->chunks,
                         in->buffer_max_s, e);
    if (rc) return rc;

    const char *own = in->qoe.utility == QOE_POINTS ? "weights" : "mu";
    if (in->has_mu && in->profile[0])
        return err_field(e, ERR_INVALID, own, "send profile or %s, not both", own);
    if (in->has_mu) rc = limits_qoe(&in->qoe, e);
    if (!rc && in->profile[0]) rc = limits_name(in->profile, e);
    if (!rc) rc = check_entries(in->n_quality, in->levels, "quality", e);
    if (!rc && in->quality_from != QUALITY_CURVE)
        rc = limits_quality(in->quality, in->levels, e);
    if (!rc) rc = check_entries(in->n_height, in->levels, "height", e);
    if (!rc && in->n_height) rc = limits_heights(in->height, in->levels, e);
    if (!rc && in->has_next) rc = check_next(in->next_bytes, in->levels, e);
    if (!rc) rc = within(in->buffer_s, 0, LIMITS_BUFFER_S, "buffer_s", e);
    if (!rc) rc = limits_cap(in->max_kbps, e);
    if (!rc) rc = limits_history(in->link.kbps, in->link.download_s, in->link.n, e);
    if (!rc && in->has_next_quality)
        rc = check_entries(in->n_next_quality, in->levels, "next_quality", e);
    if (!rc && in->has_next_quality)
        rc = limits_next_quality(in->next_quality, in->levels, e);
    if (!rc) rc = labels_check(&in->labels, e);
    if (rc) return rc;

    for (const char *c = in->content_id; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return err_field(e, ERR_INVALID, "content_id", "contains control characters");
    return 0;
}

int limits_outcome(const struct outcome *o, const char *prefix, int levels, int chunks,
                   struct err *e)
{
    /* the fields' names are formatted only for an error */
    if (o->chunk >= 0 && o->chunk <= (chunks ? chunks - 1 : LIMITS_CHUNK) &&
        o->level >= 0 && o->level < levels && o->bytes >= 0 &&
        (double)o->bytes <= LIMITS_BYTES && o->download_s >= LIMITS_DOWNLOAD_S_MIN &&
        o->download_s <= LIMITS_SECONDS && o->rebuffer_s >= 0 &&
        o->rebuffer_s <= LIMITS_SECONDS)
        return 0;

    char field[64];
    snprintf(field, sizeof field, "%schunk", prefix);
    int rc = check_chunk(o->chunk, chunks, field, e);
    if (rc) return rc;
    snprintf(field, sizeof field, "%slevel", prefix);
    if ((rc = within(o->level, 0, levels - 1, field, e))) return rc;
    snprintf(field, sizeof field, "%sbytes", prefix);
    if ((rc = within((double)o->bytes, 0, LIMITS_BYTES, field, e))) return rc;
    snprintf(field, sizeof field, "%sdownload_s", prefix);
    rc = within(o->download_s, LIMITS_DOWNLOAD_S_MIN, LIMITS_SECONDS, field, e);
    if (rc) return rc;
    snprintf(field, sizeof field, "%srebuffer_s", prefix);
    return within(o->rebuffer_s, 0, LIMITS_SECONDS, field, e);
}

int limits_other(const struct outcome *o, const char *prefix, struct err *e)
{
    char field[64];
    snprintf(field, sizeof field, "%sother_bytes", prefix);
    int rc = within((double)o->other_bytes, 0, LIMITS_BYTES, field, e);
    return rc ? rc : within(o->other_kbps, 0, LIMITS_KBPS_MAX, "other_kbps", e);
}

int limits_chunk(int chunk, struct err *e)
{
    return check_chunk(chunk, 0, "chunk", e);
}

int limits_underway(const struct underway_in *in, int levels, struct err *e)
{
    int rc = within(in->level, 0, levels - 1, "level", e);
    if (!rc) rc = within((double)in->bytes, 0, LIMITS_BYTES, "bytes", e);
    if (!rc)
        rc = within(in->elapsed_s, LIMITS_DOWNLOAD_S_MIN, LIMITS_SECONDS, "elapsed_s", e);
    if (!rc) rc = within(in->buffer_s, 0, LIMITS_BUFFER_S, "buffer_s", e);
    return rc ? rc : limits_cap(in->max_kbps, e);
}

int limits_question(const struct question *q, int levels, int chunks, struct err *e)
{
    int rc = check_chunk(q->chunk, chunks, "chunk", e);
    if (!rc) rc = within(q->buffer_s, 0, LIMITS_BUFFER_S, "buffer_s", e);
    if (!rc) rc = limits_cap(q->max_kbps, e);
    if (!rc) rc = within(q->last.other_kbps, 0, LIMITS_KBPS_MAX, "other_kbps", e);
    if (!rc && q->has_last) rc = limits_outcome(&q->last, "last.", levels, chunks, e);
    if (!rc && q->has_next) rc = check_next(q->next_bytes, levels, e);
    if (!rc && q->has_next) rc = check_entries(q->n_next, levels, "next_bytes", e);
    if (!rc && q->has_next_quality)
        rc = check_entries(q->n_next_quality, levels, "next_quality", e);
    if (!rc && q->has_next_quality) rc = limits_next_quality(q->next_quality, levels, e);
    return rc;
}

int limits_reward(const struct reward_in *in, int levels, int chunks, struct err *e)
{
    if (!in->has_outcome && !in->has_external && !in->final)
        return err_field(e, ERR_INVALID, "level",
                         "the report is empty: send an outcome, reward or final");
    int rc = 0;
    if (in->has_outcome) rc = limits_outcome(&in->outcome, "", levels, chunks, e);
    if (!rc) rc = within(in->outcome.other_kbps, 0, LIMITS_KBPS_MAX, "other_kbps", e);
    if (!rc && in->has_external) {
        rc = check_chunk(in->chunk, chunks, "chunk", e);
        if (!rc)
            rc = within(in->external, -LIMITS_EXTERNAL, LIMITS_EXTERNAL, "reward", e);
        if (!rc && in->has_outcome && in->outcome.chunk != in->chunk)
            rc = err_field(e, ERR_INVALID, "chunk",
                           "outcome and reward belong to different chunks");
    }
    return rc;
}

int limits_history(const double *kbps, const double *seconds, int n, struct err *e)
{
    int rc = 0;
    for (int i = 0; !rc && i < n; i++) {
        rc = within_at(kbps[i], 0, LIMITS_THROUGHPUT_KBPS, "throughput_kbps", i, e);
        if (!rc)
            rc = within_at(seconds[i], LIMITS_DOWNLOAD_S_MIN, LIMITS_SECONDS,
                           "download_s", i, e);
    }
    return rc;
}

int limits_view(const struct view *v, struct err *e)
{
    int rc =
        check_video(v->ladder_kbps, v->levels, v->chunk_s, v->chunks, v->buffer_max_s, e);
    if (!rc) rc = check_chunk(v->chunk, v->chunks, "chunk", e);
    if (!rc) rc = within(v->buffer_s, 0, LIMITS_BUFFER_S, "buffer_s", e);
    if (!rc) rc = within(v->last_level, -1, v->levels - 1, "last_level", e);
    if (!rc) rc = within(v->n_history, 0, VIEW_HISTORY, "throughput_kbps", e);
    if (!rc) rc = limits_history(v->throughput_kbps, v->download_s, v->n_history, e);
    if (!rc) rc = check_next(v->next_bytes, v->levels, e);
    if (!rc) rc = check_quality(v->points, v->levels, false, "quality", e);
    if (!rc) rc = within(v->last_points, 0, LIMITS_QUALITY, "last_quality", e);
    if (!rc) rc = within(v->stalled_s, 0, LIMITS_WATCHED_S, "stalled_s", e);
    if (!rc) rc = within(v->played_s, 0, LIMITS_WATCHED_S, "played_s", e);
    if (!rc) rc = limits_qoe(&v->qoe, e);
    return rc;
}
