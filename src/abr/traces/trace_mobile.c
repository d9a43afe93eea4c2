/* trace_mobile.c - throughput logs of receivers that move: Riiser's HSDPA logs and Ghent's 4G
 * logs, one line of six columns per interval. */
#include "trace_priv.h"

#include "base/text.h"

#include <string.h>

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

int trace_read_mobile(struct trace_rows *rows, const char *text, size_t len,
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
