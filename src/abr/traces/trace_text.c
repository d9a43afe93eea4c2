#include "trace_priv.h"

#include "abr/traces/trace_set.h"
#include "base/text.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

int trace_next_line(struct trace_lines *l, const char *name, struct err *e)
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

static bool ends(const char *s)
{
    return !s[strspn(s, " \t")];
}

int trace_read_pensieve(struct trace_rows *rows, const char *text, size_t len,
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

/* ------------------------------------------------------------------------- Mahimahi */

static const double PACKET_MBIT = 1500 * 8 / 1e6;

/* A bin is open on the left, so that a trace whose last delivery is at 60000 ms is 60 s
 * long and repeats with that period, as Mahimahi repeats it. */
static int64_t bin_of(int64_t ms)
{
    return ms > 0 ? (ms - 1) / 1000 : 0;
}

int trace_read_mahimahi(struct trace_rows *rows, const char *text, size_t len,
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

/* ------------------------------------------------------------------------------ CSV */

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

int trace_read_csv(struct trace_rows *rows, const char *text, size_t len, struct err *e)
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
