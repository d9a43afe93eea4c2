#include "serve/wire/wire.h"

#include <assert.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "serve/session/limits.h"
#include "serve/session/sessions.h"
#include "serve/session/sound.h"
#include "serve/wire/scan.h"

#define PATH_MAX_LEN 64

static int wrong(struct err *e, const char *path, const char *expected, const json_t *v)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
        [JSON_STRING] = "a string",  [JSON_INTEGER] = "a number",
        [JSON_REAL] = "a number",    [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return err_field(e, ERR_INVALID, path, "must be %s, not %s", expected,
                     names[json_typeof(v)]);
}

static int wire_read_number(double *out, const json_t *v, const char *path, struct err *e)
{
    if (!json_is_number(v)) return wrong(e, path, "a number", v);
    *out = json_number_value(v);
    return 0;
}

static int read_whole(int64_t *out, const json_t *v, int64_t lo, int64_t hi,
                      const char *path, struct err *e)
{
    if (!json_is_number(v)) return wrong(e, path, "a whole number", v);

    int64_t whole = json_integer_value(v);
    if (json_is_real(v)) {
        double d = json_real_value(v);
        if (d != floor(d)) return err_field(e, ERR_INVALID, path, "%g is not whole", d);
        if (fabs(d) >= 0x1p63) return err_field(e, ERR_RANGE, path, "%g is too large", d);
        whole = (int64_t)d;
    }
    if (whole < lo || whole > hi)
        return err_field(e, ERR_RANGE, path, "%lld is not within %lld .. %lld",
                         (long long)whole, (long long)lo, (long long)hi);
    *out = whole;
    return 0;
}

static int read_key(uint64_t *out, const json_t *v, const char *path, struct err *e)
{
    if (json_is_string(v)) return text_u64(out, json_string_value(v), path, e);

    int64_t whole;
    int rc = read_whole(&whole, v, 0, (int64_t)1 << 53, path, e);
    if (rc) return rc;
    *out = (uint64_t)whole;
    return 0;
}

static int read_text(char *out, int size, const json_t *v, const char *path,
                     struct err *e)
{
    if (!json_is_string(v)) return wrong(e, path, "a string", v);
    size_t n = json_string_length(v);
    if (n >= (size_t)size)
        return err_field(e, ERR_RANGE, path, "is %zu bytes long, the limit is %d", n,
                         size - 1);
    memcpy(out, json_string_value(v), n + 1);
    return 0;
}

static int read_numbers(double *out, int *n, int max, unsigned flags, const json_t *v,
                        const char *path, struct err *e)
{
    if (!json_is_array(v)) return wrong(e, path, "an array of numbers", v);
    size_t count = json_array_size(v);
    if (count > (size_t)max)
        return err_field(e, ERR_RANGE, path, "has %zu entries, the limit is %d", count,
                         max);

    for (size_t i = 0; i < count; i++) {
        const json_t *x = json_array_get(v, i);
        if (json_is_null(x) && flags & (FIELD_NULL_IS_ZERO | FIELD_NULL_IS_NAN)) {
            out[i] = flags & FIELD_NULL_IS_NAN ? (double)NAN : 0.0;
            continue;
        }
        char at[PATH_MAX_LEN + 24];
        snprintf(at, sizeof at, "%s[%zu]", path, i);
        int rc = wire_read_number(&out[i], x, at, e);
        if (rc) return rc;
    }
    *n = (int)count;
    return 0;
}

static int read_object(const json_t *object, const char *prefix,
                       const struct field *fields, void *base, struct err *e);

static int read_field(const struct field *f, void *base, const json_t *v,
                      const char *path, struct err *e)
{
    void *out = field_place(f, base);
    int64_t whole;
    int rc = 0, n = 0;
    switch (f->type) {
    case FIELD_REAL:
        rc = wire_read_number(out, v, path, e);
        break;
    case FIELD_INT:
        rc = read_whole(&whole, v, INT_MIN, INT_MAX, path, e);
        if (!rc) *(int *)out = (int)whole;
        break;
    case FIELD_INT64:
        rc = read_whole(out, v, INT64_MIN, INT64_MAX, path, e);
        break;
    case FIELD_UINT64:
        rc = read_key(out, v, path, e);
        break;
    case FIELD_FLAG:
        if (!json_is_boolean(v)) return wrong(e, path, "true or false", v);
        *(bool *)out = json_is_true(v);
        break;
    case FIELD_CHARS:
        rc = read_text(out, (int)f->size, v, path, e);
        break;
    case FIELD_REALS:
        rc = read_numbers(out, &n, (int)(f->size / sizeof(double)), f->flags, v, path, e);
        if (!rc && f->n) *(int *)field_member(base, f->n) = n;
        break;
    case FIELD_OBJECT:
        if (!json_is_object(v)) return wrong(e, path, "an object", v);
        rc = read_object(v, path, f->fields, base, e);
        break;
    default:
        assert(f->type == FIELD_ANY);
    }
    if (!rc && f->has) *(bool *)field_member(base, f->has) = true;
    return rc;
}

static const struct field *wire_find(const struct field *fields, const char *name)
{
    for (const struct field *f = fields; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

static int unknown(const struct field *fields, const char *path, struct err *e)
{
    char known[200] = "";
    size_t w = 0;
    for (const struct field *f = fields; f->name && w < sizeof known; f++)
        w +=
            (size_t)snprintf(known + w, sizeof known - w, "%s%s", w ? ", " : "", f->name);
    return err_field(e, ERR_INVALID, path, "is not a known field; known are %s", known);
}

static int read_object(const json_t *object, const char *prefix,
                       const struct field *fields, void *base, struct err *e)
{
    char path[PATH_MAX_LEN];
    const char *dot = *prefix ? "." : "", *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, name, v)
    {
        const struct field *f = wire_find(fields, name);
        if (!f) f = wire_find(fields, "*");
        snprintf(path, sizeof path, "%.20s%s%.40s", prefix, dot, name);
        if (!f) return unknown(fields, path, e);
        if (json_is_null(v)) continue;
        int rc = read_field(f, base, v, path, e);
        if (rc) return rc;
    }

    for (const struct field *f = fields; f->name; f++) {
        if (!(f->flags & FIELD_REQUIRED)) continue;
        v = json_object_get(object, f->name);
        if (v && !json_is_null(v)) continue;
        snprintf(path, sizeof path, "%.20s%s%.40s", prefix, dot, f->name);
        return err_field(e, ERR_INVALID, path, "is missing");
    }
    return 0;
}

int wire_body(const struct field *fields, void *base, const char *body, size_t n,
              struct err *e)
{
    if (scan_object(fields, base, body, n)) return 0;

    json_error_t why;
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, &why);
    int rc = 0;
    if (!root && n == 0) {
        rc = err_set(e, ERR_INVALID, "the body is empty; a JSON object is expected");
    } else if (!root) {
        /* the library's text quotes the input, which an answer must not contain */
        rc = err_set(e, ERR_INVALID, "the body is not JSON: line %d, column %d%s",
                     why.line, why.column,
                     json_error_code(&why) == json_error_duplicate_key
                         ? " (a field is given twice)"
                         : "");
    } else if (!json_is_object(root)) {
        rc = err_set(e, ERR_INVALID, "the body is not a JSON object");
    } else {
        rc = read_object(root, "", fields, base, e);
    }
    json_decref(root);
    return rc;
}

/* ---- fields of several bodies ---- */

/* A viewer's weights: named ones, in points, or the papers' mu. */
struct values {
    double weight[QOE_WEIGHTS]; /* in the order of qoe_weight_names; 1 unless given */
    bool has_weights;
    double mu[3];
    int n_mu;
    bool has_mu;
    char utility[16];
};
#define VALUES_DEFAULT           \
    (struct values)              \
    {                            \
        .weight = { 1, 1, 1, 1 } \
    }

/* The rows of `weights` in a body with the member v. */
#define WEIGHT_ROWS(tag)                                                               \
    {                                                                                  \
        {"quality", FIELD(tag, v.weight[0])}, {"switches", FIELD(tag, v.weight[1])},   \
            {"stalls", FIELD(tag, v.weight[2])}, {"startup", FIELD(tag, v.weight[3])}, \
        {                                                                              \
            0                                                                          \
        }                                                                              \
    }

static int mu_to_qoe(struct qoe *out, const struct values *v, struct err *e)
{
    enum qoe_utility utility = QOE_LINEAR;
    if (v->n_mu != 3)
        return err_field(e, ERR_INVALID, "mu",
                         "has %d entries, not 3: quality, switch, stall", v->n_mu);
    if (v->utility[0] && qoe_utility_parse(&utility, v->utility, NULL))
        return err_field(e, ERR_INVALID, "utility", "must be linear, log or pamoe");
    if (utility == QOE_POINTS)
        return err_field(e, ERR_INVALID, "utility",
                         "points has named weights: send weights instead of mu and "
                         "utility");
    *out = qoe_of_mu(v->mu[0], v->mu[1], v->mu[2], utility);
    return 0;
}

/* 1: there are weights of its own, in *out. */
static int to_qoe(struct qoe *out, const struct values *v, struct err *e)
{
    if (v->has_mu && v->has_weights)
        return err_field(e, ERR_INVALID, "weights", "send weights or mu, not both");
    if (v->utility[0] && !v->has_mu)
        return err_field(e, ERR_INVALID, "utility", "is given without mu");
    int rc = 0;
    if (v->has_mu) {
        rc = mu_to_qoe(out, v, e);
    } else if (v->has_weights) {
        rc = limits_weights(v->weight, e);
        *out = qoe_of_weights(v->weight);
    }
    return rc ? rc : v->has_mu || v->has_weights;
}

static int check_count(int n, int levels, const char *name, struct err *e)
{
    if (n == levels) return 0;
    return err_field(e, ERR_INVALID, name, "has %d entries, the ladder has %d", n,
                     levels);
}

/* ---- the bodies ---- */

#define REQUIRED .flags = FIELD_REQUIRED
#define HAS(tag, member) .has = FIELD_PLACE(tag, member)
#define LENGTH(tag, member) .n = FIELD_PLACE(tag, member)

#define LABEL_ROW(tag, member, name, key)   \
    {                                       \
        name, FIELD(tag, member.value[key]) \
    }
#define LABEL_ROWS(tag, member)                                      \
    {                                                                \
        LABEL_ROW(tag, member, "device", LABELS_DEVICE),             \
            LABEL_ROW(tag, member, "cdn", LABELS_CDN),               \
            LABEL_ROW(tag, member, "country", LABELS_COUNTRY),       \
            LABEL_ROW(tag, member, "app", LABELS_APP),               \
            LABEL_ROW(tag, member, "network", LABELS_NETWORK),       \
            LABEL_ROW(tag, member, "experiment", LABELS_EXPERIMENT), \
            LABEL_ROW(tag, member, "tenant", LABELS_TENANT),         \
        {                                                            \
            0                                                        \
        }                                                            \
    }

struct open_body {
    struct session_open open;
    struct values v;
    double kbps[WIRE_HISTORY], seconds[WIRE_HISTORY];
    int n_next, n_kbps, n_seconds;
    bool has_quality, has_height;
    char mode[16];
    bool explore;
};
static const struct field OPEN_WEIGHTS[] = WEIGHT_ROWS(struct open_body);
#define ROW(member) FIELD(struct open_body, member)
static const struct field OPEN_LABELS[] = LABEL_ROWS(struct open_body, open.labels);
static const struct field OPEN[] = {
    {"ladder_kbps", ROW(open.ladder_kbps), LENGTH(struct open_body, open.levels),
     REQUIRED},
    {"chunk_s", ROW(open.chunk_s), REQUIRED},
    {"chunks", ROW(open.chunks)},
    {"buffer_max_s", ROW(open.buffer_max_s)},
    {"profile", ROW(open.profile)},
    {"weights", .type = FIELD_OBJECT, HAS(struct open_body, v.has_weights),
     .fields = OPEN_WEIGHTS},
    {"mu", ROW(v.mu), HAS(struct open_body, v.has_mu), LENGTH(struct open_body, v.n_mu)},
    {"utility", ROW(v.utility)},
    {"content_id", ROW(open.content_id)},
    {"key", ROW(open.key), HAS(struct open_body, open.has_key)},
    {"next_bytes", ROW(open.next_bytes), HAS(struct open_body, open.has_next),
     LENGTH(struct open_body, n_next), .flags = FIELD_NULL_IS_ZERO},
    {"next_quality", ROW(open.next_quality), HAS(struct open_body, open.has_next_quality),
     LENGTH(struct open_body, open.n_next_quality), .flags = FIELD_NULL_IS_NAN},
    {"quality", ROW(open.quality), HAS(struct open_body, has_quality),
     LENGTH(struct open_body, open.n_quality)},
    {"height", ROW(open.height), HAS(struct open_body, has_height),
     LENGTH(struct open_body, open.n_height)},
    {"mode", ROW(mode)},
    {"viewer", ROW(open.viewer)},
    {"explore", ROW(explore)},
    {"continues", ROW(open.continues)},
    {"buffer_s", ROW(open.buffer_s)},
    {"throughput_kbps", ROW(kbps), LENGTH(struct open_body, n_kbps)},
    {"download_s", ROW(seconds), LENGTH(struct open_body, n_seconds)},
    {"max_kbps", ROW(open.max_kbps)},
    {"labels", .type = FIELD_OBJECT, .fields = OPEN_LABELS},
    {0}};
#undef ROW

static int open_mode(enum session_mode *out, const char *mode, struct err *e)
{
    *out = SESSION_DEFAULT;
    if (!mode[0]) return 0;
    *out = strcmp(mode, "observe") ? SESSION_DECIDE : SESSION_OBSERVE;
    if (*out == SESSION_OBSERVE || !strcmp(mode, "decide")) return 0;
    return err_field(e, ERR_INVALID, "mode", "must be decide or observe");
}

/* A history of the link. An error names the index that was sent. */
static int check_history(const double *kbps, int n_kbps, const double *seconds,
                         int n_seconds, struct err *e)
{
    if (n_kbps != n_seconds)
        return err_field(e, ERR_INVALID, "download_s",
                         "has %d entries, throughput_kbps has %d", n_seconds, n_kbps);
    return limits_history(kbps, seconds, n_kbps, e);
}

/* The newest entries. */
static int open_link(struct open_body *b, struct err *e)
{
    int rc = check_history(b->kbps, b->n_kbps, b->seconds, b->n_seconds, e);
    if (rc) return rc;
    struct service_link *link = &b->open.link;
    int skip = b->n_kbps > VIEW_HISTORY ? b->n_kbps - VIEW_HISTORY : 0;
    link->n = b->n_kbps - skip;
    memcpy(link->kbps, b->kbps + skip, (size_t)link->n * sizeof *link->kbps);
    memcpy(link->download_s, b->seconds + skip, (size_t)link->n * sizeof *link->kbps);
    return 0;
}

int wire_open(struct session_open *out, const char *body, size_t n, struct err *e)
{
    struct open_body b;
    memset(&b, 0, sizeof b);
    b.open.buffer_max_s = WIRE_BUFFER_MAX_S;
    b.v = VALUES_DEFAULT;
    b.explore = true;
    int rc = wire_body(OPEN, &b, body, n, e);
    if (!rc) rc = to_qoe(&b.open.qoe, &b.v, e);
    b.open.has_mu = rc > 0;
    rc = rc < 0 ? rc : 0;
    if (!rc && b.open.has_next)
        rc = check_count(b.n_next, b.open.levels, "next_bytes", e);
    if (!rc && b.open.has_next_quality)
        rc = check_count(b.open.n_next_quality, b.open.levels, "next_quality", e);
    if (!rc && b.has_quality)
        rc = check_count(b.open.n_quality, b.open.levels, "quality", e);
    if (!rc && b.has_height)
        rc = check_count(b.open.n_height, b.open.levels, "height", e);
    if (!rc) rc = open_mode(&b.open.mode, b.mode, e);
    b.open.greedy = !b.explore;
    if (!rc) rc = open_link(&b, e);
    b.open.quality_from = b.has_quality ? QUALITY_LEVEL : QUALITY_CURVE;
    memcpy(out, &b.open, sizeof *out);
    return rc;
}

#define ROW(member) FIELD(struct question, member)
static const struct field LAST[] = {
    {"chunk", ROW(last.chunk), REQUIRED},
    {"level", ROW(last.level), REQUIRED},
    {"bytes", ROW(last.bytes), REQUIRED},
    {"download_s", ROW(last.download_s), REQUIRED},
    {"rebuffer_s", ROW(last.rebuffer_s), REQUIRED},
    {"other_bytes", ROW(last.other_bytes), HAS(struct question, last.has_other)},
    {0}};
static const struct field QUESTION[] = {
    {"chunk", ROW(chunk), REQUIRED},
    {"buffer_s", ROW(buffer_s), REQUIRED},
    {"last", .type = FIELD_OBJECT, HAS(struct question, has_last), .fields = LAST},
    {"next_bytes", ROW(next_bytes), HAS(struct question, has_next),
     LENGTH(struct question, n_next), .flags = FIELD_NULL_IS_ZERO},
    {"next_quality", ROW(next_quality), HAS(struct question, has_next_quality),
     LENGTH(struct question, n_next_quality), .flags = FIELD_NULL_IS_NAN},
    {"max_kbps", ROW(max_kbps)},
    {"other_kbps", ROW(last.other_kbps)},
    {0}};
#undef ROW

int wire_question(struct question *out, const char *body, size_t n, struct err *e)
{
    *out = (struct question){0};
    int rc = wire_body(QUESTION, out, body, n, e);
    if (!rc && out->has_next && !out->n_next)
        rc = err_field(e, ERR_INVALID, "next_bytes", "is empty");
    if (!rc && out->has_next_quality && !out->n_next_quality)
        rc = err_field(e, ERR_INVALID, "next_quality", "is empty");
    return rc;
}

struct reward_body {
    struct reward_in in;
    bool level, bytes, download, rebuffer;
};
#define ROW(member) FIELD(struct reward_body, member)
static const struct field REWARD[] = {
    {"chunk", ROW(in.outcome.chunk), REQUIRED},
    {"level", ROW(in.outcome.level), HAS(struct reward_body, level)},
    {"bytes", ROW(in.outcome.bytes), HAS(struct reward_body, bytes)},
    {"download_s", ROW(in.outcome.download_s), HAS(struct reward_body, download)},
    {"rebuffer_s", ROW(in.outcome.rebuffer_s), HAS(struct reward_body, rebuffer)},
    {"final", ROW(in.final)},
    {"profile", ROW(in.profile)},
    {"reward", ROW(in.external), HAS(struct reward_body, in.has_external)},
    {"other_bytes", ROW(in.outcome.other_bytes),
     HAS(struct reward_body, in.outcome.has_other)},
    {"other_kbps", ROW(in.outcome.other_kbps)},
    {0}};
#undef ROW

int wire_reward(struct reward_in *out, const char *body, size_t n, struct err *e)
{
    struct reward_body b;
    memset(&b, 0, sizeof b);
    int rc = wire_body(REWARD, &b, body, n, e);
    b.in.chunk = b.in.outcome.chunk;
    b.in.has_outcome = b.level || b.bytes || b.download || b.rebuffer;
    memcpy(out, &b.in, sizeof *out);
    if (rc || (!out->has_outcome && (out->has_external || out->final))) return rc;

    const char *missing = !b.level      ? "level"
                          : !b.bytes    ? "bytes"
                          : !b.download ? "download_s"
                          : !b.rebuffer ? "rebuffer_s"
                                        : NULL;
    return missing ? err_field(e, ERR_INVALID, missing, "is missing") : 0;
}

#define ROW(member) FIELD(struct underway_in, member)
static const struct field UNDERWAY[] = {{"chunk", ROW(chunk), REQUIRED},
                                        {"level", ROW(level), REQUIRED},
                                        {"bytes", ROW(bytes), REQUIRED},
                                        {"elapsed_s", ROW(elapsed_s), REQUIRED},
                                        {"buffer_s", ROW(buffer_s), REQUIRED},
                                        {"max_kbps", ROW(max_kbps)},
                                        {0}};
#undef ROW

int wire_underway(struct underway_in *out, const char *body, size_t n, struct err *e)
{
    *out = (struct underway_in){0};
    return wire_body(UNDERWAY, out, body, n, e);
}

struct decide_body {
    struct wire_decide out;
    struct values v;
    double kbps[WIRE_HISTORY], seconds[WIRE_HISTORY];
    double other_kbps;
    int n_kbps, n_seconds, n_next;
    bool has_next;
    double quality[VIEW_LEVELS], height[VIEW_LEVELS], next_quality[VIEW_LEVELS];
    int n_quality, n_height, n_next_quality;
    bool has_quality, has_height, has_next_quality, has_last_quality;
};
static const struct field DECIDE_WEIGHTS[] = WEIGHT_ROWS(struct decide_body);
#define ROW(member) FIELD(struct decide_body, member)
static const struct field DECIDE[] = {
    {"ladder_kbps", ROW(out.view.ladder_kbps),
     LENGTH(struct decide_body, out.view.levels), REQUIRED},
    {"chunk_s", ROW(out.view.chunk_s), REQUIRED},
    {"buffer_s", ROW(out.view.buffer_s), REQUIRED},
    {"chunk", ROW(out.view.chunk)},
    {"chunks", ROW(out.view.chunks)},
    {"buffer_max_s", ROW(out.view.buffer_max_s)},
    {"last_level", ROW(out.view.last_level)},
    {"stalled_s", ROW(out.view.stalled_s)},
    {"played_s", ROW(out.view.played_s)},
    {"throughput_kbps", ROW(kbps), LENGTH(struct decide_body, n_kbps)},
    {"download_s", ROW(seconds), LENGTH(struct decide_body, n_seconds)},
    {"next_bytes", ROW(out.view.next_bytes), HAS(struct decide_body, has_next),
     LENGTH(struct decide_body, n_next), .flags = FIELD_NULL_IS_ZERO},
    {"next_quality", ROW(next_quality), HAS(struct decide_body, has_next_quality),
     LENGTH(struct decide_body, n_next_quality), .flags = FIELD_NULL_IS_NAN},
    {"quality", ROW(quality), HAS(struct decide_body, has_quality),
     LENGTH(struct decide_body, n_quality)},
    {"last_quality", ROW(out.view.last_points),
     HAS(struct decide_body, has_last_quality)},
    {"height", ROW(height), HAS(struct decide_body, has_height),
     LENGTH(struct decide_body, n_height)},
    {"max_kbps", ROW(out.max_kbps)},
    {"other_kbps", ROW(other_kbps)},
    {"profile", ROW(out.profile)},
    {"weights", .type = FIELD_OBJECT, HAS(struct decide_body, v.has_weights),
     .fields = DECIDE_WEIGHTS},
    {"mu", ROW(v.mu), HAS(struct decide_body, v.has_mu),
     LENGTH(struct decide_body, v.n_mu)},
    {"utility", ROW(v.utility)},
    {0}};
#undef ROW

/* The points of the view: of each level, then those of this chunk. limits_view checks ladder, points
 * and last level later. */
static int decide_points(struct decide_body *b, struct err *e)
{
    struct view *view = &b->out.view;
    int levels = view->levels, rc = 0;
    if (b->has_quality) rc = check_count(b->n_quality, levels, "quality", e);
    if (!rc && b->has_quality) rc = limits_quality(b->quality, levels, e);
    if (!rc && b->has_height) rc = check_count(b->n_height, levels, "height", e);
    if (!rc && b->has_height) rc = limits_heights(b->height, levels, e);
    if (!rc && b->has_next_quality)
        rc = check_count(b->n_next_quality, levels, "next_quality", e);
    if (!rc && b->has_next_quality) rc = limits_next_quality(b->next_quality, levels, e);
    if (rc) return rc;
    if (b->has_quality)
        memcpy(view->points, b->quality, sizeof view->points);
    else if (!limits_ladder(view->ladder_kbps, levels, NULL))
        limits_curve(view->points, view->ladder_kbps, b->has_height ? b->height : NULL,
                     levels);
    bool last = view->last_level >= 0 && view->last_level < levels;
    if (last && !b->has_last_quality) view->last_points = view->points[view->last_level];
    for (int k = 0; k < levels; k++) {
        bool chunk = b->has_next_quality && !isnan(b->next_quality[k]);
        if (chunk) view->points[k] = b->next_quality[k];
        b->out.from[k] = chunk            ? QUALITY_CHUNK
                         : b->has_quality ? QUALITY_LEVEL
                                          : QUALITY_CURVE;
    }
    return 0;
}

static int check_decide(struct decide_body *b, struct err *e)
{
    struct view *view = &b->out.view;
    int rc = check_history(b->kbps, b->n_kbps, b->seconds, b->n_seconds, e);
    if (rc) return rc;
    const char *own = b->v.has_mu ? "mu" : b->v.has_weights ? "weights" : NULL;
    if (own && b->out.profile[0])
        return err_field(e, ERR_INVALID, own, "is given together with profile: send one");
    rc = b->has_next ? check_count(b->n_next, view->levels, "next_bytes", e) : 0;
    if (!rc) rc = limits_cap(b->out.max_kbps, e);
    if (!rc) rc = limits_other(&(struct outcome){.other_kbps = b->other_kbps}, "", e);
    if (rc) return rc;
    for (int i = 0; i < b->n_kbps; i++)
        view_push_kbps(view, sound_left_kbps(b->kbps[i], b->other_kbps), b->seconds[i]);
    rc = decide_points(b, e);
    if (!rc) rc = to_qoe(&view->qoe, &b->v, e);
    b->out.has_mu = rc > 0;
    return rc < 0 ? rc : 0;
}

int wire_decide(struct wire_decide *out, const char *body, size_t n, struct err *e)
{
    struct decide_body b;
    memset(&b, 0, sizeof b);
    b.out.view = view_default();
    b.out.view.buffer_max_s = WIRE_BUFFER_MAX_S;
    b.out.view.last_level = -1;
    b.v = VALUES_DEFAULT;
    int rc = wire_body(DECIDE, &b, body, n, e);
    if (!rc) rc = check_decide(&b, e);
    memcpy(out, &b.out, sizeof *out);
    return rc;
}

struct profile_body {
    struct values v;
    double stall_ratio_max, startup_max_s;
    bool has_stall_ratio_max, has_startup_max_s;
    bool grow;
};
static const struct field PROFILE_WEIGHTS[] = WEIGHT_ROWS(struct profile_body);
#define ROW(member) FIELD(struct profile_body, member)
static const struct field PROFILE[] = {
    {"weights", .type = FIELD_OBJECT, HAS(struct profile_body, v.has_weights),
     .fields = PROFILE_WEIGHTS},
    {"mu", ROW(v.mu), HAS(struct profile_body, v.has_mu),
     LENGTH(struct profile_body, v.n_mu)},
    {"utility", ROW(v.utility)},
    {"stall_ratio_max", ROW(stall_ratio_max),
     HAS(struct profile_body, has_stall_ratio_max)},
    {"startup_max_s", ROW(startup_max_s), HAS(struct profile_body, has_startup_max_s)},
    {"grow", ROW(grow)},
    {0}};
#undef ROW

int wire_profile(struct profile *out, const char *body, size_t n, struct err *e)
{
    struct profile_body b = {.v = VALUES_DEFAULT, .grow = out->grow};
    int rc = wire_body(PROFILE, &b, body, n, e);
    out->grow = b.grow;
    if (!rc) rc = limits_ceilings(b.stall_ratio_max, b.startup_max_s, "", e);
    if (rc) return rc;
    rc = to_qoe(&out->qoe, &b.v, e);
    if (rc < 0) return rc;
    if (!rc)
        return err_field(e, ERR_INVALID, "weights", "is missing: send weights, or mu");
    out->own_stall_ratio_max = b.has_stall_ratio_max;
    out->own_startup_max_s = b.has_startup_max_s;
    out->qoe.stall_ratio_max = b.stall_ratio_max;
    out->qoe.startup_max_s = b.startup_max_s;
    return 0;
}

int wire_gate(const char *body, size_t n, struct err *e)
{
    struct {
        bool reset;
    } b = {false};
    const struct field fields[] = {{"reset", FIELD_TO(b.reset), REQUIRED}, {0}};
    int rc = wire_body(fields, &b, body, n, e);
    if (rc || b.reset) return rc;
    return err_field(e, ERR_INVALID, "reset", "must be true: a gate stops by itself");
}

int wire_aside(int *updates, const char *body, size_t n, struct err *e)
{
    const struct field fields[] = {{"updates", FIELD_TO(*updates), REQUIRED}, {0}};
    return wire_body(fields, updates, body, n, e);
}

#define ROW(member) FIELD(struct wire_forget, member)
static const struct field FORGET_LABELS[] = LABEL_ROWS(struct wire_forget, choice.labels);
static const struct field FORGET[] = {
    {"session", ROW(session)},
    {"viewer", ROW(viewer), HAS(struct wire_forget, has_viewer)},
    {"before", ROW(before)},
    {"labels", .type = FIELD_OBJECT, .fields = FORGET_LABELS},
    {"dry_run", ROW(dry_run)},
    {0}};
#undef ROW

int wire_forget(struct wire_forget *out, const char *body, size_t n, struct err *e)
{
    *out = (struct wire_forget){.dry_run = false};
    struct forget_choice *c = &out->choice;
    int rc = wire_body(FORGET, out, body, n, e);
    if (out->has_viewer) c->viewer = out->viewer;
    c->has_id = out->session[0] != '\0';
    if (!rc && c->has_id && !sessions_id_parse(c->id, out->session))
        rc = err_field(e, ERR_INVALID, "session", "is not 32 hex digits");
    if (!rc && out->before[0]) rc = forget_time(&c->before, out->before, e);
    if (!rc) rc = labels_check(&c->labels, e);
    return rc ? rc : forget_check(c, e);
}
