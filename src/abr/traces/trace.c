#include "trace_priv.h"

#include "abr/traces/trace_set.h"
#include "base/bytes.h"
#include "base/json_text.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { FILE_MAX = 64 << 20 }; /* bytes; a million rows need about 40 MB */
enum { JSON_MAX = 16 << 20 }; /* bytes; parsed, JSON takes about twenty times as much */

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

/* ---- rows, lines and cells ---- */

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

/* The lines of a text, one at a time as NUL-terminated copies. */
struct trace_lines {
    const char *at, *end;
    int number; /* of the current line, from 1 */
    char line[1024];
};

/* 1: l->line holds a line that is not blank, 0: the end, < 0: refused. */
static int trace_next_line(struct trace_lines *l, const char *name, struct err *e)
{
    while (l->at < l->end) {
        size_t rest = (size_t)(l->end - l->at);
        const char *nl = memchr(l->at, '\n', rest);
        size_t len = nl ? (size_t)(nl - l->at) : rest;
        const char *from = l->at;
        l->at += nl ? len + 1 : len;
        l->number++;

        if (len && from[len - 1] == '\r') len--;
        if (memchr(from, '\0', len))
            return text_refuse(name, l->number, ERR_INVALID, e,
                               "a NUL byte: this is not a text in UTF-8");
        if (len >= sizeof l->line)
            return text_refuse(name, l->number, ERR_INVALID, e,
                               "a line of %zu bytes, more than %zu", len,
                               sizeof l->line - 1);
        memcpy(l->line, from, len);
        l->line[len] = '\0';
        if (l->line[strspn(l->line, " \t")]) return 1;
    }
    return 0;
}

/* Ends the cell that begins at s, without its quotes and the blanks around it, where RFC 4180
 * ends it: at a comma outside quotes, in which two quotes are one. Returns what is behind the
 * comma, NULL when there is none. */
static char *cut_cell(char **cell, char *s)
{
    char *in = s + strspn(s, " \t"), *out = in;
    bool quoted = *in == '"';
    *cell = in;
    for (in += quoted; *in && (quoted || *in != ','); in++) {
        if (quoted && *in == '"') {
            quoted = in[1] == '"';
            if (!quoted) continue;
            in++;
        }
        *out++ = *in;
    }
    char *next = *in ? in + 1 : NULL;
    *out = '\0';
    *cell += strspn(*cell, " \t");
    while (out > *cell && strchr(" \t", out[-1]))
        *--out = '\0';
    return next;
}

int trace_split(char *cell[TRACE_CELLS], char *line)
{
    int n = 0;
    for (char *s = line, *at; s; n++) {
        s = cut_cell(&at, s);
        if (n == TRACE_CELLS) return n + 1;
        cell[n] = at;
    }
    return n;
}

/* ---- Pensieve ---- */

static bool ends(const char *s)
{
    return !s[strspn(s, " \t")];
}

static int trace_read_pensieve(struct trace_rows *rows, const char *text, size_t len,
                               struct err *e)
{
    struct trace_lines l = {.at = text, .end = text + len};
    int rc;
    while ((rc = trace_next_line(&l, rows->name, e)) > 0) {
        const char *s = l.line;
        double time_s, mbps;
        if (text_scan_double(&time_s, &s, NULL) || (*s != ' ' && *s != '\t') ||
            text_scan_double(&mbps, &s, NULL) || !ends(s))
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "'%.60s' is not 'seconds Mbit/s'", l.line);
        rc = trace_rows_add(rows, l.number, time_s, mbps, e);
        if (rc) return rc;
    }
    return rc;
}

/* ---- Mahimahi ---- */

static const double PACKET_MBIT = 1500 * 8 / 1e6;

/* A bin is open on the left, so that a trace whose last delivery is at 60000 ms is 60 s
 * long and repeats with that period, as Mahimahi repeats it. */
static int64_t bin_of(int64_t ms)
{
    return ms > 0 ? (ms - 1) / 1000 : 0;
}

static int trace_read_mahimahi(struct trace_rows *rows, const char *text, size_t len,
                               struct err *e)
{
    struct trace_lines l = {.at = text, .end = text + len};
    int64_t last_ms = 0, bin = 0;
    int packets = 0;
    int rc = trace_rows_add(rows, 1, 0.0, 0.0, e);
    while (!rc && (rc = trace_next_line(&l, rows->name, e)) > 0) {
        int64_t ms;
        char *number = l.line + strspn(l.line, " \t");
        size_t digits = strcspn(number, " \t");
        bool alone = ends(number + digits);
        if (alone) number[digits] = '\0';
        if (!alone || text_int(&ms, number, 0, INT64_C(1000000000000), "", NULL))
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "'%.60s' is not one whole number of milliseconds", l.line);
        if (ms < last_ms)
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "time goes back from %lld ms to %lld ms",
                               (long long)last_ms, (long long)ms);

        if (bin_of(ms) >= TRACE_ROWS_MAX)
            return text_refuse(rows->name, l.number, ERR_RANGE, e,
                               "%lld ms: more than %d rows of a second", (long long)ms,
                               TRACE_ROWS_MAX);

        for (rc = 0; !rc && bin < bin_of(ms); packets = 0)
            rc = trace_rows_add(rows, l.number, (double)++bin, packets * PACKET_MBIT, e);
        packets++;
        last_ms = ms;
    }
    if (rc) return rc;

    double rest_s = (double)last_ms / 1000.0 - (double)bin;
    if (rest_s <= 0.0) return 0; /* everything at 0 ms: too short, trace_check says so */
    return trace_rows_add(rows, l.number, (double)last_ms / 1000.0,
                          packets * PACKET_MBIT / rest_s, e);
}

/* ---- CSV ---- */

struct unit {
    const char *name;
    double factor; /* to seconds or Mbit/s */
};

static const struct unit times[] = {{"time_s", 1.0},
                                    {"timestamp_s", 1.0},
                                    {"time_ms", 1e-3},
                                    {"timestamp_ms", 1e-3},
                                    {0}};
static const struct unit rates[] = {{"mbps", 1.0},         {"throughput_mbps", 1.0},
                                    {"kbps", 1e-3},        {"throughput_kbps", 1e-3},
                                    {"bytes_per_s", 8e-6}, {0}};

static const struct unit *unit_named(const struct unit *u, const char *name)
{
    for (; u->name; u++)
        if (!strcasecmp(u->name, name)) return u;
    return NULL;
}

/* The column whose heading is one of the units; -1: none, -2: several. */
static int find_column(const struct unit **unit, const struct unit *units, char **heading,
                       int n)
{
    int column = -1;
    for (int i = 0; i < n; i++) {
        const struct unit *u = unit_named(units, heading[i]);
        if (!u) continue;
        if (column >= 0) return -2;
        column = i;
        *unit = u;
    }
    return column;
}

static int trace_read_csv(struct trace_rows *rows, const char *text, size_t len,
                          struct err *e)
{
    struct trace_lines l = {.at = text, .end = text + len};
    int rc = trace_next_line(&l, rows->name, e);
    if (rc <= 0) return rc;

    const char *format = trace_set_format(l.line);
    if (format)
        return text_refuse(rows->name, l.number, ERR_INVALID, e,
                           "%s holds many sessions: `abrd trace convert FILE DIR` makes "
                           "one trace of each",
                           format);
    char *cell[TRACE_CELLS];
    const struct unit *time_unit = NULL, *rate_unit = NULL;
    int columns = trace_split(cell, l.line);
    if (columns > TRACE_CELLS)
        return text_refuse(rows->name, l.number, ERR_RANGE, e, "more than %d columns",
                           TRACE_CELLS);
    int time = find_column(&time_unit, times, cell, columns);
    int rate = find_column(&rate_unit, rates, cell, columns);
    if (time < 0)
        return text_refuse(rows->name, l.number, ERR_INVALID, e,
                           "%s column of time in the header: time_s, time_ms, "
                           "timestamp_s or timestamp_ms",
                           time == -1 ? "no" : "more than one");
    if (rate < 0)
        return text_refuse(rows->name, l.number, ERR_INVALID, e,
                           "%s column of throughput in the header: mbps, kbps, "
                           "throughput_mbps, throughput_kbps or bytes_per_s",
                           rate == -1 ? "no" : "more than one");

    double start = 0.0;
    while ((rc = trace_next_line(&l, rows->name, e)) > 0) {
        int n = trace_split(cell, l.line);
        if (n != columns)
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "%d cells where the header has %d", n, columns);
        double t, y;
        if (text_double(&t, cell[time], 0.0, 1e15, "", NULL))
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "%s: '%.40s' is not a time >= 0", time_unit->name,
                               cell[time]);
        if (text_double(&y, cell[rate], 0.0, 1e15, "", NULL))
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "%s: '%.40s' is not a throughput >= 0", rate_unit->name,
                               cell[rate]);
        if (!rows->n) start = t;
        if (t < start)
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "time goes back before the first row");
        rc = trace_rows_add(rows, l.number, (t - start) * time_unit->factor,
                            y * rate_unit->factor, e);
        if (rc) return rc;
    }
    return rc;
}

/* ---- receivers that move: the HSDPA logs of Riiser and the 4G logs of Ghent ---- */

enum { COLUMNS = 6 };

static const struct column {
    const char *name;
    double lo, hi;
} columns[COLUMNS] = {
    {"unix time", 0, 1e15}, {"ms since the start", 0, 1e12},
    {"latitude", -90, 90},  {"longitude", -180, 180},
    {"bytes", 0, 1e12},     {"ms elapsed", 1, 1e9},
};
enum { START_MS = 1, BYTES = 4, ELAPSED_MS = 5 };

static int read_columns(double *value, const struct trace_lines *l, const char *name,
                        struct err *e)
{
    const char *s = l->line;
    for (int i = 0; i < COLUMNS; i++) {
        const struct column *c = &columns[i];
        if (text_scan_double(&value[i], &s, NULL) || (*s && *s != ' ' && *s != '\t'))
            return text_refuse(name, l->number, ERR_INVALID, e,
                               "column %d (%s) of '%.60s' is not a number", i + 1,
                               c->name, l->line);
        if (!(value[i] >= c->lo && value[i] <= c->hi))
            return text_refuse(name, l->number, ERR_RANGE, e,
                               "column %d (%s): %g is not within %g .. %g", i + 1,
                               c->name, value[i], c->lo, c->hi);
    }
    if (s[strspn(s, " \t")])
        return text_refuse(name, l->number, ERR_INVALID, e,
                           "more than %d columns: '%.60s'", COLUMNS, l->line);
    return 0;
}

static int trace_read_mobile(struct trace_rows *rows, const char *text, size_t len,
                             struct err *e)
{
    struct trace_lines l = {.at = text, .end = text + len};
    double start_ms = 0.0, last_ms = 0.0, value[COLUMNS];
    int rc;
    while ((rc = trace_next_line(&l, rows->name, e)) > 0) {
        rc = read_columns(value, &l, rows->name, e);
        if (rc) return rc;

        if (rows->n && value[START_MS] < last_ms)
            return text_refuse(rows->name, l.number, ERR_INVALID, e,
                               "column %d (%s): time goes back from %.0f to %.0f",
                               START_MS + 1, columns[START_MS].name, last_ms,
                               value[START_MS]);
        last_ms = value[START_MS];

        /* the first interval began before its line was written */
        double mbps = value[BYTES] * 8e-3 / value[ELAPSED_MS];
        if (!rows->n) {
            start_ms = value[START_MS] - value[ELAPSED_MS];
            rc = trace_rows_add(rows, l.number, 0.0, mbps, e);
        }
        if (!rc)
            rc = trace_rows_add(rows, l.number, (value[START_MS] - start_ms) / 1000.0,
                                mbps, e);
        if (rc) return rc;
    }
    return rc;
}

/* ---- JSON of sabre (Spiteri et al., MMSys 2018) ---- */

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

/* Sets rows->rtt_s when every period states a latency. */
static int trace_read_sabre(struct trace_rows *rows, const char *text, size_t len,
                            struct err *e)
{
    json_t *root = json_text_parse(text, len, JSON_MAX, rows->name, e);
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

/* ---- the formats ---- */

static const char *after_digits(const char *s, const char *end)
{
    while (s < end && isdigit((unsigned char)*s))
        s++;
    return s;
}

static bool looks_like_json(const char *s, const char *end)
{
    return s < end && (*s == '[' || *s == '{');
}

/* A log without a header line is also read as CSV, whose reader asks for the header. */
static bool looks_like_csv(const char *s, const char *end)
{
    if (s < end && (isalpha((unsigned char)*s) || *s == '"')) return true;
    const char *behind = after_digits(s, end);
    return behind > s && behind < end && *behind == ',';
}

static bool looks_like_mahimahi(const char *s, const char *end)
{
    const char *behind = after_digits(s, end);
    if (behind == s) return false;
    while (behind < end && strchr(" \t\r", *behind))
        behind++;
    return behind == end || *behind == '\n';
}

/* Six words in the line. */
static bool looks_like_mobile(const char *s, const char *end)
{
    int words = 0;
    for (bool inside = false; s < end && *s != '\n'; s++) {
        bool blank = isspace((unsigned char)*s);
        words += !blank && !inside;
        inside = !blank;
    }
    return words == COLUMNS;
}

static bool anything(const char *s, const char *end)
{
    (void)s, (void)end;
    return true;
}

/* The first reader that accepts the text from its first character that is not blank reads it. To
 * add a format: one row, its two functions above, its line in trace.h. */
static const struct trace_reader {
    bool (*sniff)(const char *s, const char *end);
    int (*read)(struct trace_rows *rows, const char *text, size_t len, struct err *e);
} READERS[] = {
    {looks_like_json, trace_read_sabre},
    {looks_like_csv, trace_read_csv},
    {looks_like_mahimahi, trace_read_mahimahi},
    {looks_like_mobile, trace_read_mobile},
    {anything, trace_read_pensieve},
};

static int read_rows(struct trace_rows *rows, const char *text, size_t len, struct err *e)
{
    const char *s = text, *end = text + len;
    while (s < end && isspace((unsigned char)*s))
        s++;
    const struct trace_reader *r = READERS;
    while (!r->sniff(s, end))
        r++;
    return r->read(rows, text, len, e);
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
