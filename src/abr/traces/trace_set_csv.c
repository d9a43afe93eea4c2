/* trace_set_csv.c - a CSV, read line by line. */
#include "trace_set_priv.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* 1: a line that is not blank is in text, 0: the end, < 0: refused. */
static int read_line(struct trace_set_csv *c, char *text, struct err *e)
{
    for (;;) {
        /* behind a NUL byte fgets's text would end early: the mark shows where it ended */
        memset(text, '\n', TRACE_SET_LINE);
        errno = 0;
        if (!fgets(text, TRACE_SET_LINE, c->f))
            return ferror(c->f)
                       ? text_refuse(c->name, c->line, ERR_IO, e, "%s", strerror(errno))
                       : 0;
        c->line++;
        size_t len = strlen(text);
        bool ended = len && text[len - 1] == '\n';
        if (len + 1 == TRACE_SET_LINE && !ended)
            return text_refuse(c->name, c->line, ERR_INVALID, e, "a line over %d bytes",
                               TRACE_SET_LINE - 1);
        if (!ended && !feof(c->f))
            return text_refuse(c->name, c->line, ERR_INVALID, e,
                               "a NUL byte: this is not a text in UTF-8");
        while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
            text[--len] = '\0';
        if (text[strspn(text, " \t")]) return 1;
    }
}

int trace_set_csv_open(struct trace_set_csv *c, FILE *f, const char *name, struct err *e)
{
    *c = (struct trace_set_csv){.f = f, .name = name};
    int rc = read_line(c, c->text, e);
    if (rc < 0) return rc;
    if (!rc) return text_refuse(name, 0, ERR_INVALID, e, "is empty");
    size_t bom = strncmp(c->text, "\xef\xbb\xbf", 3) ? 0 : 3;
    memmove(c->text, c->text + bom, strlen(c->text + bom) + 1);
    strcpy(c->header, c->text); /* the text is cut when the line turns out to be a row */
    c->columns = trace_split(c->heading, c->header);
    if (c->columns <= TRACE_CELLS) return 0;
    return text_refuse(name, c->line, ERR_RANGE, e, "more than %d columns", TRACE_CELLS);
}

void trace_set_csv_name(struct trace_set_csv *c, const char *columns)
{
    strcpy(c->header, columns);
    trace_split(c->heading, c->header);
    trace_split(c->cell, c->text);
    c->held = true;
}

static void tell_progress(struct trace_set_csv *c)
{
    struct trace_set_meter *m = c->meter;
    double at = (double)ftello(c->f);
    m->read += at - c->metered;
    c->metered = at;
    m->cfg->progress(m->cfg->progress_ctx, m->read / m->total);
}

int trace_set_csv_next(struct trace_set_csv *c, struct err *e)
{
    if (c->held) {
        c->held = false;
        return 1;
    }
    if (c->meter && c->line % 4096 == 0) tell_progress(c);
    int rc = read_line(c, c->text, e);
    if (rc <= 0) return rc;
    int n = trace_split(c->cell, c->text);
    if (n == c->columns) return 1;
    return text_refuse(c->name, c->line, ERR_INVALID, e,
                       "%d cells where the first line has %d", n, c->columns);
}

int trace_set_csv_column(const struct trace_set_csv *c, const char *heading)
{
    for (int i = 0; i < c->columns; i++)
        if (!strcmp(c->heading[i], heading)) return i;
    return -1;
}

int trace_set_csv_columns(int *out, const struct trace_set_csv *c,
                          const char *const *names, int n, struct err *e)
{
    for (int i = 0; i < n; i++) {
        out[i] = trace_set_csv_column(c, names[i]);
        if (out[i] < 0)
            return text_refuse(c->name, 1, ERR_INVALID, e, "there is no column '%s'",
                               names[i]);
    }
    return 0;
}

int trace_set_csv_number(double *out, const struct trace_set_csv *c, int column,
                         double lo, double hi, struct err *e)
{
    if (!text_double(out, c->cell[column], lo, hi, "", NULL)) return 0;
    return text_refuse(c->name, c->line, ERR_INVALID, e,
                       "column %s: '%.40s' is not a number within %g .. %g",
                       c->heading[column], c->cell[column], lo, hi);
}

int trace_set_csv_int(int64_t *out, const struct trace_set_csv *c, int column,
                      struct err *e)
{
    if (!text_int(out, c->cell[column], 0, INT64_MAX, "", NULL)) return 0;
    return text_refuse(c->name, c->line, ERR_INVALID, e,
                       "column %s: '%.40s' is not a whole number >= 0",
                       c->heading[column], c->cell[column]);
}

bool trace_set_csv_empty(const struct trace_set_csv *c, int column)
{
    return !*c->cell[column] || !strcasecmp(c->cell[column], "nan");
}
