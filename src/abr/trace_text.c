#include "trace_priv.h"

#include "base/text.h"

#include <stdbool.h>
#include <string.h>

/* The lines of a text, one at a time as NUL-terminated copies. */
struct lines {
    const char *at, *end;
    int number; /* of the current line, from 1 */
    char line[256];
};

/* 1: a line that is not blank is in l->line, 0: there is none, < 0: refused. */
static int next_line(struct lines *l, const char *name, struct err *e)
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
            return trace_refuse(name, l->number, ERR_INVALID, e,
                                "a NUL byte: this is not a text file in UTF-8");
        if (len >= sizeof l->line)
            return trace_refuse(name, l->number, ERR_INVALID, e, "line of %zu bytes",
                                len);
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
    struct lines l = {.at = text, .end = text + len};
    int rc;
    while ((rc = next_line(&l, rows->name, e)) > 0) {
        struct err why = {0};
        const char *s = l.line;
        double time_s, mbps;
        if (text_scan_double(&time_s, &s, &why) || (*s != ' ' && *s != '\t') ||
            text_scan_double(&mbps, &s, &why) || !ends(s))
            return trace_refuse(rows->name, l.number, ERR_INVALID, e,
                                "'%.60s' is not 'seconds Mbit/s'", l.line);
        rc = trace_rows_add(rows, l.number, time_s, mbps, e);
        if (rc) return rc;
    }
    return rc;
}
