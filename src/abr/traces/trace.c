#include "trace_priv.h"

#include "base/bytes.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 64 << 20 }; /* bytes; a million rows need about 40 MB */

static const double TIME_MAX_S = 1e9, MBPS_MAX = 1e6;

struct trace *trace_new(int n, const char *name, struct err *e)
{
    struct trace *t = calloc(1, sizeof *t);
    if (!t) goto fail;
    t->n = n;
    t->rtt_s = -1.0;
    text_clean(t->name, sizeof t->name, name);
    t->time_s = calloc((size_t)n + 1, sizeof *t->time_s);
    t->mbps = calloc((size_t)n + 1, sizeof *t->mbps);
    if (t->time_s && t->mbps) return t;

fail:
    trace_free(t);
    err_set(e, ERR_MEMORY, "no memory for a trace of %d rows", n);
    return NULL;
}

void trace_free(struct trace *t)
{
    if (!t) return;
    free(t->mbps);
    free(t->time_s);
    free(t);
}

static int trace_grow(struct trace_rows *rows)
{
    int cap = rows->cap ? rows->cap * 2 : 512;
    double *time_s = realloc(rows->time_s, (size_t)cap * sizeof *time_s);
    if (!time_s) return ERR_MEMORY;
    rows->time_s = time_s;
    double *mbps = realloc(rows->mbps, (size_t)cap * sizeof *mbps);
    if (!mbps) return ERR_MEMORY;
    rows->mbps = mbps;
    rows->cap = cap;
    return 0;
}

int trace_rows_add(struct trace_rows *rows, int line, double time_s, double mbps,
                   struct err *e)
{
    const char *name = rows->name;
    if (rows->n >= TRACE_ROWS_MAX)
        return text_refuse(name, line, ERR_RANGE, e, "more than %d rows", TRACE_ROWS_MAX);
    if (!(time_s >= 0.0 && time_s <= TIME_MAX_S))
        return text_refuse(name, line, ERR_RANGE, e, "time %g s is not within 0 .. %g",
                           time_s, TIME_MAX_S);
    if (!(mbps >= 0.0 && mbps <= MBPS_MAX))
        return text_refuse(name, line, ERR_RANGE, e,
                           "throughput %g Mbit/s is not within 0 .. %g", mbps, MBPS_MAX);
    if (rows->n && time_s < rows->time_s[rows->n - 1])
        return text_refuse(name, line, ERR_INVALID, e,
                           "time goes back from %.17g s to %.17g s",
                           rows->time_s[rows->n - 1], time_s);

    if (rows->n == rows->cap && trace_grow(rows))
        return text_refuse(name, line, ERR_MEMORY, e, "out of memory");
    rows->time_s[rows->n] = time_s;
    rows->mbps[rows->n] = mbps;
    rows->n++;
    return 0;
}

double trace_mean_mbps(const struct trace *t)
{
    double bits = 0.0;
    for (int i = 1; i < t->n; i++)
        bits += t->mbps[i] * (t->time_s[i] - t->time_s[i - 1]);
    double span = t->time_s[t->n - 1] - t->time_s[0];
    return span > 0.0 ? bits / span : 0.0;
}

int trace_check(const struct trace *t, struct err *e)
{
    if (t->n < 2)
        return text_refuse(t->name, 0, ERR_INVALID, e,
                           "%d rows: a trace needs at least 2, a start and a slot", t->n);
    if (t->n > TRACE_ROWS_MAX)
        return text_refuse(t->name, 0, ERR_RANGE, e, "more than %d rows", TRACE_ROWS_MAX);

    for (int i = 0; i < t->n; i++) {
        double before = i ? t->time_s[i - 1] : 0.0;
        if (!(t->time_s[i] >= before && t->time_s[i] <= TIME_MAX_S))
            return text_refuse(t->name, 0, ERR_INVALID, e,
                               "row %d: time %g s is not within %g .. %g", i,
                               t->time_s[i], before, TIME_MAX_S);
        if (!(t->mbps[i] >= 0.0 && t->mbps[i] <= MBPS_MAX))
            return text_refuse(t->name, 0, ERR_RANGE, e,
                               "row %d: throughput %g Mbit/s is not within 0 .. %g", i,
                               t->mbps[i], MBPS_MAX);
    }

    double span = t->time_s[t->n - 1] - t->time_s[0];
    if (span < 0.001 * (t->n - 1))
        return text_refuse(
            t->name, 0, ERR_RANGE, e,
            "%d slots in %g s: slots must be 1 ms long on average; are the "
            "times in seconds?",
            t->n - 1, span);
    double mean = trace_mean_mbps(t);
    if (mean < TRACE_MEAN_MIN)
        return text_refuse(
            t->name, 0, ERR_RANGE, e,
            "all zero: the mean of the rows behind the first is %g Mbit/s, "
            "below %g",
            mean, TRACE_MEAN_MIN);
    return 0;
}

/* How many words stand in the line at s. */
static int trace_words(const char *s, const char *end)
{
    int n = 0;
    for (bool inside = false; s < end && *s != '\n'; s++) {
        bool blank = isspace((unsigned char)*s);
        n += !blank && !inside;
        inside = !blank;
    }
    return n;
}

/* The format shows in the first line that is not blank. */
static int read_rows(struct trace_rows *rows, const char *text, size_t len, struct err *e)
{
    const char *s = text, *end = text + len;
    while (s < end && isspace((unsigned char)*s))
        s++;
    if (s < end && (*s == '[' || *s == '{')) return sabre_read_trace(rows, text, len, e);
    if (s < end && (isalpha((unsigned char)*s) || *s == '"'))
        return trace_read_csv(rows, text, len, e);

    const char *digits = s;
    while (s < end && isdigit((unsigned char)*s))
        s++;
    bool number = s > digits;
    /* a log without a header line; a CSV needs one, and its reader says so */
    if (number && s < end && *s == ',') return trace_read_csv(rows, text, len, e);
    while (s < end && (*s == ' ' || *s == '\t' || *s == '\r'))
        s++;
    if (number && (s == end || *s == '\n'))
        return trace_read_mahimahi(rows, text, len, e);
    if (trace_words(digits, end) == 6) return trace_read_mobile(rows, text, len, e);
    return trace_read_pensieve(rows, text, len, e);
}

struct trace *trace_of_rows(const struct trace_rows *rows, const char *name,
                            struct err *e)
{
    struct trace *t = trace_new(rows->n, name, e);
    if (!t) return NULL;
    if (rows->n) {
        memcpy(t->time_s, rows->time_s, (size_t)rows->n * sizeof *t->time_s);
        memcpy(t->mbps, rows->mbps, (size_t)rows->n * sizeof *t->mbps);
    }
    t->rtt_s = rows->rtt_s;
    if (!trace_check(t, e)) return t;
    trace_free(t);
    return NULL;
}

struct trace *trace_parse(const char *text, size_t len, const char *name, struct err *e)
{
    if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        text += 3;
        len -= 3;
    }

    struct trace_rows rows = {.name = name, .rtt_s = -1.0};
    int rc = read_rows(&rows, text, len, e);
    struct trace *t = rc ? NULL : trace_of_rows(&rows, name, e);
    free(rows.time_s);
    free(rows.mbps);
    return t;
}

struct trace *trace_load(const char *path, struct err *e)
{
    size_t len;
    char *text = text_read_file(path, FILE_MAX, &len, e);
    if (!text) return NULL;
    char name[256];
    text_last_component(name, sizeof name, path);
    struct trace *t = trace_parse(text, len, name, e);
    free(text);
    return t;
}

/* %.15g strips trailing zeros, so the first precision that reads back is the shortest. */
static int shortest(char *out, size_t size, double v)
{
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, size, "%.*g", digits, v);
        if (strtod(out, NULL) == v) break;
    }
    return n;
}

int trace_save(const struct trace *t, const char *path, struct err *e)
{
    enum { NUMBER_MAX = 26, ROW_MAX = 2 * NUMBER_MAX + 2 };
    char *text = malloc((size_t)t->n * ROW_MAX + 1);
    if (!text) return err_set(e, ERR_MEMORY, "no memory to write %d rows", t->n);

    char *p = text;
    for (int i = 0; i < t->n; i++) {
        p += shortest(p, NUMBER_MAX, t->time_s[i]);
        *p++ = '\t';
        p += shortest(p, NUMBER_MAX, t->mbps[i]);
        *p++ = '\n';
    }
    int rc = text_write_file(path, text, (size_t)(p - text), e);
    free(text);
    return rc;
}

uint32_t trace_crc(uint32_t crc, const struct trace *t)
{
    crc = bytes_crc32(crc, t->time_s, (size_t)t->n * sizeof *t->time_s);
    return bytes_crc32(crc, t->mbps, (size_t)t->n * sizeof *t->mbps);
}
