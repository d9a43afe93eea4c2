/* sabre.c - the two JSON formats of sabre (Spiteri et al., MMSys 2018): network traces
 * and video manifests. The one place of layer abr that knows jansson. */
#include "trace_priv.h"
#include "abr/manifests/video_priv.h"

#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_MAX = 16 << 20 }; /* bytes; as a tree it takes some twenty times as much */

/* NULL: e names the line. */
static json_t *sabre_parse(const char *text, size_t len, const char *name, struct err *e)
{
    if (len > JSON_MAX) {
        text_refuse(name, 0, ERR_RANGE, e, "%zu bytes of JSON, more than %d", len,
                    JSON_MAX);
        return NULL;
    }
    json_error_t why;
    json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (root) return root;
    int code =
        json_error_code(&why) == json_error_out_of_memory ? ERR_MEMORY : ERR_INVALID;
    text_refuse(name, why.line > 0 ? why.line : 0, code, e, "not JSON: %s", why.text);
    return NULL;
}

static bool number(double *out, const json_t *v)
{
    if (!json_is_number(v)) return false;
    *out = json_number_value(v);
    return true;
}

static int read_period(struct trace_rows *rows, const json_t *period, size_t i,
                       double *latency_s, struct err *e)
{
    double duration_ms, kbps, latency_ms;
    if (!number(&duration_ms, json_object_get(period, "duration_ms")) ||
        !number(&kbps, json_object_get(period, "bandwidth_kbps")))
        return text_refuse(rows->name, 0, ERR_INVALID, e,
                           "period %zu: needs numbers duration_ms and bandwidth_kbps", i);
    if (!(duration_ms >= 0.0 && kbps >= 0.0))
        return text_refuse(rows->name, 0, ERR_RANGE, e,
                           "period %zu: %g ms with %g kbit/s: neither may be negative", i,
                           duration_ms, kbps);

    const json_t *latency = json_object_get(period, "latency_ms");
    if (latency && (!number(&latency_ms, latency) || !(latency_ms >= 0.0)))
        return text_refuse(rows->name, 0, ERR_RANGE, e,
                           "period %zu: latency_ms is not a number >= 0", i);
    if (!latency)
        *latency_s = NAN; /* not all of them state one: the mean is unknown */
    else
        *latency_s += latency_ms / 1000.0 * duration_ms / 1000.0;

    /* a period lasts to its end: the first row only marks the start */
    double mbps = kbps / 1000.0;
    int rc = i ? 0 : trace_rows_add(rows, 0, 0.0, mbps, e);
    if (rc) return rc;
    double end_s = rows->time_s[rows->n - 1] + duration_ms / 1000.0;
    return trace_rows_add(rows, 0, end_s, mbps, e);
}

int sabre_read_trace(struct trace_rows *rows, const char *text, size_t len, struct err *e)
{
    json_t *root = sabre_parse(text, len, rows->name, e);
    if (!root) return ERR_INVALID;

    int rc = 0;
    if (!json_is_array(root))
        rc = text_refuse(rows->name, 1, ERR_INVALID, e,
                         "a trace in JSON is an array of {duration_ms, bandwidth_kbps, "
                         "latency_ms}");
    double latency_s = 0.0;
    size_t i;
    json_t *period;
    json_array_foreach(root, i, period)
    {
        if (!rc) rc = read_period(rows, period, i, &latency_s, e);
    }
    double span_s = rows->n ? rows->time_s[rows->n - 1] : 0.0;
    if (!rc && span_s > 0.0 && latency_s >= 0.0) rows->rtt_s = latency_s / span_s;
    json_decref(root);
    return rc;
}

static int read_ladder(double *kbps, int *levels, const json_t *rates, const char *name,
                       struct err *e)
{
    size_t n = json_array_size(rates);
    if (n < 2 || n > VIEW_LEVELS)
        return text_refuse(name, 0, ERR_RANGE, e,
                           "bitrates_kbps is not an array of 2 to %d numbers",
                           VIEW_LEVELS);
    for (size_t k = 0; k < n; k++)
        if (!number(&kbps[k], json_array_get(rates, k)))
            return text_refuse(name, 0, ERR_INVALID, e,
                               "bitrates_kbps: entry %zu is not a number", k);
    *levels = (int)n;
    return 0;
}

static int read_sizes(struct video *v, const json_t *sizes, const char *name,
                      struct err *e)
{
    for (int c = 0; c < v->chunks; c++) {
        const json_t *row = json_array_get(sizes, (size_t)c);
        if (json_array_size(row) != (size_t)v->levels)
            return text_refuse(
                name, 0, ERR_INVALID, e,
                "segment_sizes_bits: segment %d is not an array of %d sizes", c,
                v->levels);
        for (int k = 0; k < v->levels; k++) {
            double bits;
            bool ok = number(&bits, json_array_get(row, (size_t)k));
            if (!ok || !(bits >= 1.0 && bits <= 8.0 * (double)VIDEO_BYTES_MAX))
                return text_refuse(name, 0, ERR_RANGE, e,
                                   "segment_sizes_bits: segment %d, level %d is not a "
                                   "number of 1 .. 8e9 bits",
                                   c, k);
            v->bytes[(size_t)c * (size_t)v->levels + (size_t)k] =
                (int64_t)ceil(bits / 8.0);
        }
    }
    return 0;
}

struct video *sabre_read_video(const char *text, size_t len, const char *name,
                               struct err *e)
{
    json_t *root = sabre_parse(text, len, name, e);
    if (!root) return NULL;

    struct video *v = NULL;
    double ladder[VIEW_LEVELS], chunk_ms;
    int levels = 0;
    const json_t *sizes = json_object_get(root, "segment_sizes_bits");
    if (!number(&chunk_ms, json_object_get(root, "segment_duration_ms")) ||
        !json_is_array(sizes)) {
        text_refuse(name, 0, ERR_INVALID, e,
                    "needs segment_duration_ms, bitrates_kbps and segment_sizes_bits");
        goto out;
    }
    if (read_ladder(ladder, &levels, json_object_get(root, "bitrates_kbps"), name, e))
        goto out;
    if (json_array_size(sizes) > VIDEO_CHUNKS_MAX) {
        text_refuse(name, 0, ERR_RANGE, e, "more than %d segments", VIDEO_CHUNKS_MAX);
        goto out;
    }

    v = video_new(levels, (int)json_array_size(sizes), chunk_ms / 1000.0, ladder, e);
    if (v && read_sizes(v, sizes, name, e)) {
        video_free(v);
        v = NULL;
    }
out:
    json_decref(root);
    return v;
}

int sabre_write_video(const struct video *v, const char *path, struct err *e)
{
    json_t *rates = json_array(), *sizes = json_array();
    bool ok = rates && sizes;
    for (int k = 0; ok && k < v->levels; k++)
        ok = !json_array_append_new(rates, json_real(v->ladder_kbps[k]));
    for (int c = 0; ok && c < v->chunks; c++) {
        json_t *row = json_array();
        for (int k = 0; row && k < v->levels; k++)
            json_array_append_new(row, json_integer(8 * video_chunk(v, c)[k]));
        ok = row && !json_array_append_new(sizes, row) &&
             (int)json_array_size(row) == v->levels;
    }
    json_t *root =
        json_pack("{s:f, s:o?, s:o?}", "segment_duration_ms", v->chunk_s * 1000.0,
                  "bitrates_kbps", rates, "segment_sizes_bits", sizes);
    char *text = ok && root ? json_dumps(root, JSON_REAL_PRECISION(15)) : NULL;
    int rc = text ? text_write_file(path, text, strlen(text), e)
                  : err_set(e, ERR_MEMORY, "no memory to write %d chunks", v->chunks);
    free(text);
    json_decref(root);
    return rc;
}
