#include "serve/http/wire.h"

#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "serve/session/limits.h"
#include "serve/http/scan.h"

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

static int read_numbers(double *out, int *n, int max, bool sizes, const json_t *v,
                        const char *path, struct err *e)
{
    if (!json_is_array(v)) return wrong(e, path, "an array of numbers", v);
    size_t count = json_array_size(v);
    if (count > (size_t)max)
        return err_field(e, ERR_RANGE, path, "has %zu entries, the limit is %d", count,
                         max);

    for (size_t i = 0; i < count; i++) {
        const json_t *x = json_array_get(v, i);
        if (sizes && json_is_null(x)) {
            out[i] = 0.0;
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
                       const struct scan_field *fields, struct err *e);

static int read_field(const struct scan_field *f, const json_t *v, const char *path,
                      struct err *e)
{
    int64_t whole;
    int rc = 0, n = 0;
    switch (f->kind) {
    case SCAN_NUMBER:
        rc = wire_read_number(f->out, v, path, e);
        break;
    case SCAN_WHOLE:
        rc = read_whole(&whole, v, INT_MIN, INT_MAX, path, e);
        if (!rc) *(int *)f->out = (int)whole;
        break;
    case SCAN_WHOLE64:
        rc = read_whole(f->out, v, INT64_MIN, INT64_MAX, path, e);
        break;
    case SCAN_KEY:
        rc = read_key(f->out, v, path, e);
        break;
    case SCAN_YES:
        if (!json_is_boolean(v)) return wrong(e, path, "true or false", v);
        *(bool *)f->out = json_is_true(v);
        break;
    case SCAN_TEXT:
        rc = read_text(f->out, f->max, v, path, e);
        break;
    case SCAN_NUMBERS:
    case SCAN_SIZES:
        rc = read_numbers(f->out, f->n ? f->n : &n, f->max, f->kind == SCAN_SIZES, v,
                          path, e);
        break;
    case SCAN_OBJECT:
        if (!json_is_object(v)) return wrong(e, path, "an object", v);
        rc = read_object(v, path, f->fields, e);
        break;
    case SCAN_ANY:
        break;
    }
    if (!rc && f->has) *f->has = true;
    return rc;
}

static const struct scan_field *wire_find(const struct scan_field *fields,
                                          const char *name)
{
    for (const struct scan_field *f = fields; f->name; f++)
        if (strcmp(f->name, name) == 0) return f;
    return NULL;
}

static int unknown(const struct scan_field *fields, const char *path, struct err *e)
{
    char known[200] = "";
    size_t w = 0;
    for (const struct scan_field *f = fields; f->name && w < sizeof known; f++)
        w +=
            (size_t)snprintf(known + w, sizeof known - w, "%s%s", w ? ", " : "", f->name);
    return err_field(e, ERR_INVALID, path, "is not a field here; there are %s", known);
}

static int read_object(const json_t *object, const char *prefix,
                       const struct scan_field *fields, struct err *e)
{
    char path[PATH_MAX_LEN];
    const char *dot = *prefix ? "." : "", *name;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)object, name, v)
    {
        const struct scan_field *f = wire_find(fields, name);
        if (!f) f = wire_find(fields, "*");
        snprintf(path, sizeof path, "%.20s%s%.40s", prefix, dot, name);
        if (!f) return unknown(fields, path, e);
        if (json_is_null(v)) continue;
        int rc = read_field(f, v, path, e);
        if (rc) return rc;
    }

    for (const struct scan_field *f = fields; f->name; f++) {
        if (!f->required) continue;
        v = json_object_get(object, f->name);
        if (v && !json_is_null(v)) continue;
        snprintf(path, sizeof path, "%.20s%s%.40s", prefix, dot, f->name);
        return err_field(e, ERR_INVALID, path, "is missing");
    }
    return 0;
}

static int read_body(const struct scan_field *fields, const char *body, size_t n,
                     struct err *e)
{
    if (scan_object(fields, body, n)) return 0;

    json_error_t why;
    json_t *root = json_loadb(body, n, JSON_REJECT_DUPLICATES, &why);
    int rc = 0;
    if (!root && n == 0) {
        rc = err_set(e, ERR_INVALID, "the body is empty; a JSON object is expected");
    } else if (!root) {
        /* the library's text quotes the input, which the answer must not */
        rc = err_set(e, ERR_INVALID, "the body is not JSON: line %d, column %d%s",
                     why.line, why.column,
                     json_error_code(&why) == json_error_duplicate_key
                         ? " (a field is given twice)"
                         : "");
    } else if (!json_is_object(root)) {
        rc = err_set(e, ERR_INVALID, "the body is not a JSON object");
    } else {
        rc = read_object(root, "", fields, e);
    }
    json_decref(root);
    return rc;
}

/* ---- what several bodies have ---- */

struct values {
    double mu[3];
    int n_mu;
    bool has_mu;
    char utility[16];
};

static int to_qoe(struct qoe *out, const struct values *v, struct err *e)
{
    if (v->utility[0] && !v->has_mu)
        return err_field(e, ERR_INVALID, "utility", "is given without mu");
    if (!v->has_mu) return 0;
    if (v->n_mu != 3)
        return err_field(e, ERR_INVALID, "mu",
                         "has %d entries, not 3: quality, switch, stall", v->n_mu);

    *out =
        (struct qoe){.mu_quality = v->mu[0], .mu_switch = v->mu[1], .mu_stall = v->mu[2]};
    if (!v->utility[0]) return 0;
    return qoe_utility_parse(&out->utility, v->utility, NULL)
               ? err_field(e, ERR_INVALID, "utility", "must be linear, log or pamoe")
               : 0;
}

static int check_count(int n, int levels, const char *name, struct err *e)
{
    if (n == levels) return 0;
    return err_field(e, ERR_INVALID, name, "has %d entries, the ladder has %d", n,
                     levels);
}

/* ---- the bodies ---- */

int wire_open(struct session_open *out, const char *body, size_t n, struct err *e)
{
    *out = (struct session_open){.buffer_max_s = WIRE_BUFFER_MAX_S};
    struct values v = {0};
    int n_next = 0;
    const struct scan_field fields[] = {
        {"ladder_kbps", SCAN_NUMBERS, .out = out->ladder_kbps, .max = VIEW_LEVELS,
         .required = true, .n = &out->levels},
        {"chunk_s", SCAN_NUMBER, .out = &out->chunk_s, .required = true},
        {"chunks", SCAN_WHOLE, .out = &out->chunks},
        {"buffer_max_s", SCAN_NUMBER, .out = &out->buffer_max_s},
        {"profile", SCAN_TEXT, .out = out->profile, .max = SERVICE_NAME},
        {"mu", SCAN_NUMBERS, .out = v.mu, .max = 3, .has = &v.has_mu, .n = &v.n_mu},
        {"utility", SCAN_TEXT, .out = v.utility, .max = sizeof v.utility},
        {"content_id", SCAN_TEXT, .out = out->content_id, .max = SERVICE_CONTENT},
        {"key", SCAN_KEY, .out = &out->key, .has = &out->has_key},
        {"next_bytes", SCAN_SIZES, .out = out->next_bytes, .max = VIEW_LEVELS,
         .has = &out->has_next, .n = &n_next},
        {0}};

    int rc = read_body(fields, body, n, e);
    if (!rc) rc = to_qoe(&out->qoe, &v, e);
    if (!rc && out->has_next) rc = check_count(n_next, out->levels, "next_bytes", e);
    out->has_mu = v.has_mu;
    return rc;
}

int wire_question(struct question *out, const char *body, size_t n, struct err *e)
{
    *out = (struct question){0};
    const struct scan_field last[] = {
        {"chunk", SCAN_WHOLE, .out = &out->last.chunk, .required = true},
        {"level", SCAN_WHOLE, .out = &out->last.level, .required = true},
        {"bytes", SCAN_WHOLE64, .out = &out->last.bytes, .required = true},
        {"download_s", SCAN_NUMBER, .out = &out->last.download_s, .required = true},
        {"rebuffer_s", SCAN_NUMBER, .out = &out->last.rebuffer_s, .required = true},
        {0}};
    const struct scan_field fields[] = {
        {"chunk", SCAN_WHOLE, .out = &out->chunk, .required = true},
        {"buffer_s", SCAN_NUMBER, .out = &out->buffer_s, .required = true},
        {"last", SCAN_OBJECT, .has = &out->has_last, .fields = last},
        {"next_bytes", SCAN_SIZES, .out = out->next_bytes, .max = VIEW_LEVELS,
         .has = &out->has_next, .n = &out->n_next},
        {0}};
    int rc = read_body(fields, body, n, e);
    if (!rc && out->has_next && !out->n_next)
        rc = err_field(e, ERR_INVALID, "next_bytes", "is empty");
    return rc;
}

int wire_reward(struct reward_in *out, const char *body, size_t n, struct err *e)
{
    *out = (struct reward_in){0};
    struct outcome *o = &out->outcome;
    bool level = false, bytes = false, download = false, rebuffer = false;
    const struct scan_field fields[] = {
        {"chunk", SCAN_WHOLE, .out = &o->chunk, .required = true},
        {"level", SCAN_WHOLE, .out = &o->level, .has = &level},
        {"bytes", SCAN_WHOLE64, .out = &o->bytes, .has = &bytes},
        {"download_s", SCAN_NUMBER, .out = &o->download_s, .has = &download},
        {"rebuffer_s", SCAN_NUMBER, .out = &o->rebuffer_s, .has = &rebuffer},
        {"final", SCAN_YES, .out = &out->final},
        {"profile", SCAN_TEXT, .out = out->profile, .max = SERVICE_NAME},
        {"reward", SCAN_NUMBER, .out = &out->external, .has = &out->has_external},
        {0}};

    int rc = read_body(fields, body, n, e);
    if (rc) return rc;
    out->chunk = o->chunk;
    out->has_outcome = level || bytes || download || rebuffer;
    if (!out->has_outcome && (out->has_external || out->final)) return 0;

    const char *missing = !level      ? "level"
                          : !bytes    ? "bytes"
                          : !download ? "download_s"
                          : !rebuffer ? "rebuffer_s"
                                      : NULL;
    return missing ? err_field(e, ERR_INVALID, missing, "is missing") : 0;
}

int wire_underway(struct underway_in *out, const char *body, size_t n, struct err *e)
{
    *out = (struct underway_in){0};
    const struct scan_field fields[] = {
        {"chunk", SCAN_WHOLE, .out = &out->chunk, .required = true},
        {"level", SCAN_WHOLE, .out = &out->level, .required = true},
        {"bytes", SCAN_WHOLE64, .out = &out->bytes, .required = true},
        {"elapsed_s", SCAN_NUMBER, .out = &out->elapsed_s, .required = true},
        {"buffer_s", SCAN_NUMBER, .out = &out->buffer_s, .required = true},
        {0}};
    return read_body(fields, body, n, e);
}

int wire_decide(struct wire_decide *out, const char *body, size_t n, struct err *e)
{
    *out = (struct wire_decide){.view = view_default()};
    struct view *view = &out->view;
    view->buffer_max_s = WIRE_BUFFER_MAX_S;
    view->last_level = -1;

    struct values v = {0};
    double kbps[WIRE_HISTORY], seconds[WIRE_HISTORY];
    int n_kbps = 0, n_seconds = 0, n_next = 0;
    bool has_next = false;
    const struct scan_field fields[] = {
        {"ladder_kbps", SCAN_NUMBERS, .out = view->ladder_kbps, .max = VIEW_LEVELS,
         .required = true, .n = &view->levels},
        {"chunk_s", SCAN_NUMBER, .out = &view->chunk_s, .required = true},
        {"buffer_s", SCAN_NUMBER, .out = &view->buffer_s, .required = true},
        {"chunk", SCAN_WHOLE, .out = &view->chunk},
        {"chunks", SCAN_WHOLE, .out = &view->chunks},
        {"buffer_max_s", SCAN_NUMBER, .out = &view->buffer_max_s},
        {"last_level", SCAN_WHOLE, .out = &view->last_level},
        {"throughput_kbps", SCAN_NUMBERS, .out = kbps, .max = WIRE_HISTORY, .n = &n_kbps},
        {"download_s", SCAN_NUMBERS, .out = seconds, .max = WIRE_HISTORY,
         .n = &n_seconds},
        {"next_bytes", SCAN_SIZES, .out = view->next_bytes, .max = VIEW_LEVELS,
         .has = &has_next, .n = &n_next},
        {"profile", SCAN_TEXT, .out = out->profile, .max = SERVICE_NAME},
        {"mu", SCAN_NUMBERS, .out = v.mu, .max = 3, .has = &v.has_mu, .n = &v.n_mu},
        {"utility", SCAN_TEXT, .out = v.utility, .max = sizeof v.utility},
        {0}};

    int rc = read_body(fields, body, n, e);
    if (rc) return rc;
    if (n_kbps != n_seconds)
        return err_field(e, ERR_INVALID, "download_s",
                         "has %d entries, throughput_kbps has %d", n_seconds, n_kbps);
    if (v.has_mu && out->profile[0])
        return err_field(e, ERR_INVALID, "mu", "is given beside profile; choose one");
    if (has_next && (rc = check_count(n_next, view->levels, "next_bytes", e))) return rc;

    /* all of them, also what is left out: an error names the entry as it was sent */
    rc = limits_history(kbps, seconds, n_kbps, e);
    if (rc) return rc;
    int skip = n_kbps > VIEW_HISTORY ? n_kbps - VIEW_HISTORY : 0;
    view->n_history = n_kbps - skip;
    memcpy(view->throughput_kbps, kbps + skip, (size_t)view->n_history * sizeof *kbps);
    memcpy(view->download_s, seconds + skip, (size_t)view->n_history * sizeof *seconds);
    out->has_mu = v.has_mu;
    return to_qoe(&view->qoe, &v, e);
}

int wire_profile(struct profile *out, const char *body, size_t n, struct err *e)
{
    struct values v = {0};
    const struct scan_field fields[] = {
        {"mu", SCAN_NUMBERS, .out = v.mu, .max = 3, .required = true, .has = &v.has_mu,
         .n = &v.n_mu},
        {"utility", SCAN_TEXT, .out = v.utility, .max = sizeof v.utility},
        {"grow", SCAN_YES, .out = &out->grow},
        {0}};
    int rc = read_body(fields, body, n, e);
    return rc ? rc : to_qoe(&out->qoe, &v, e);
}

int wire_gate(const char *body, size_t n, struct err *e)
{
    bool reset = false, given;
    const struct scan_field fields[] = {
        {"reset", SCAN_YES, .out = &reset, .required = true, .has = &given}, {0}};
    int rc = read_body(fields, body, n, e);
    if (rc || reset) return rc;
    return err_field(e, ERR_INVALID, "reset", "must be true: a gate stops by itself");
}

int wire_aside(int *updates, const char *body, size_t n, struct err *e)
{
    bool given;
    const struct scan_field fields[] = {
        {"updates", SCAN_WHOLE, .out = updates, .required = true, .has = &given}, {0}};
    return read_body(fields, body, n, e);
}

/* What old clients send is not ours to limit: fields that are not known are passed over. */
int wire_pensieve(struct pensieve_post *out, const char *body, size_t n, struct err *e)
{
    *out = (struct pensieve_post){0};
    double begun_ms = 0, ended_ms = 0, stalled_ms = 0;
    bool request = false, quality = false, buffer = false, stalled = false, begun = false,
         ended = false, size = false;
    const struct scan_field fields[] = {
        {"nextChunkSize", SCAN_SIZES, .out = out->next_bytes, .max = VIEW_LEVELS,
         .has = &out->has_next, .n = &out->n_next},
        {"lastquality", SCAN_WHOLE, .out = &out->level, .has = &quality},
        {"buffer", SCAN_NUMBER, .out = &out->buffer_s, .has = &buffer},
        {"lastRequest", SCAN_WHOLE, .out = &out->chunk, .has = &request},
        {"RebufferTime", SCAN_NUMBER, .out = &stalled_ms, .has = &stalled},
        {"lastChunkFinishTime", SCAN_NUMBER, .out = &ended_ms, .has = &ended},
        {"lastChunkStartTime", SCAN_NUMBER, .out = &begun_ms, .has = &begun},
        {"lastChunkSize", SCAN_WHOLE64, .out = &out->bytes, .has = &size},
        {"pastThroughput", SCAN_ANY, .has = &out->summary},
        {"*", SCAN_ANY, .out = NULL},
        {0}};
    int rc = read_body(fields, body, n, e);
    if (rc || out->summary) return rc;

    const char *missing = !request   ? "lastRequest"
                          : !quality ? "lastquality"
                          : !buffer  ? "buffer"
                          : !stalled ? "RebufferTime"
                          : !begun   ? "lastChunkStartTime"
                          : !ended   ? "lastChunkFinishTime"
                          : !size    ? "lastChunkSize"
                                     : NULL;
    if (missing) return err_field(e, ERR_INVALID, missing, "is missing");
    out->has_next = out->has_next && out->n_next > 0;
    out->stalled_s = stalled_ms / 1e3;
    out->download_s = (ended_ms - begun_ms) / 1e3;
    return 0;
}
