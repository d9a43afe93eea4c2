#include "cli/out.h"

#include "base/text.h"
#include "cli/term.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 64, CELL = 64, FOLD_LEAST = 24 };

struct column {
    char name[48];
    int digits; /* of reals in the table, or OUT_SHORT; -1 = text, to the left */
    int width;
};

/* rows under columns */
struct grid {
    json_t *rows; /* array of objects */
    json_t *row;  /* the last one, borrowed */
    struct column column[COLUMNS];
    int columns;
};

struct out {
    struct out_cfg cfg;
    struct grid all;   /* CSV, JSON and the wide table are printed from it */
    struct grid brief; /* the brief table; its cells are texts */
    bool no_memory;
};

static bool is_stdout(const char *path)
{
    return path && (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0);
}

static int out_check_folder(const char *path, struct err *e)
{
    if (!path || is_stdout(path) || text_is_special(path)) return 0;
    char dir[PATH_MAX];
    if (access(text_folder_of(dir, path), W_OK) == 0) return 0;
    return err_field(e, ERR_IO, path, "cannot be written: %s", strerror(errno));
}

struct out *out_new(const struct out_cfg *cfg, struct err *e)
{
    if (is_stdout(cfg->csv) && is_stdout(cfg->json)) {
        err_field(e, ERR_INVALID, "--json", "--csv and --json cannot both be -");
        return NULL;
    }
    if (out_check_folder(cfg->csv, e) || out_check_folder(cfg->json, e)) return NULL;

    struct out *o = calloc(1, sizeof *o);
    if (o) o->all.rows = json_array();
    if (o) o->brief.rows = json_array();
    if (!o || !o->all.rows || !o->brief.rows) {
        out_free(o);
        err_set(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    o->cfg = *cfg;
    return o;
}

void out_free(struct out *o)
{
    if (!o) return;
    json_decref(o->all.rows);
    json_decref(o->brief.rows);
    free(o);
}

static bool grid_row(struct grid *g)
{
    g->row = json_object();
    if (g->row && !json_array_append_new(g->rows, g->row)) return true;
    g->row = NULL;
    return false;
}

/* value: taken */
static bool grid_put(struct grid *g, const char *name, json_t *value, int digits)
{
    if (!g->row || !value) {
        json_decref(value);
        return false;
    }
    if (json_object_set_new(g->row, name, value)) return false;
    for (int i = 0; i < g->columns; i++)
        if (strcmp(g->column[i].name, name) == 0) return true;
    assert(g->columns < COLUMNS && strlen(name) < sizeof g->column[0].name);
    struct column *c = &g->column[g->columns++];
    strcpy(c->name, name);
    c->digits = digits;
    return true;
}

void out_row(struct out *o)
{
    if (!grid_row(&o->all) || !grid_row(&o->brief)) o->no_memory = true;
}

static void out_put(struct out *o, const char *name, json_t *value, int digits)
{
    assert(json_array_size(o->all.rows) || o->no_memory); /* out_row comes first */
    if (!grid_put(&o->all, name, value, digits)) o->no_memory = true;
}

/* '?' replaces wrong bytes: names of files may be any bytes, JSON is UTF-8 */
static json_t *text_json(const char *value)
{
    json_t *text = json_string(value);
    char *clean = text ? NULL : malloc(strlen(value) + 1);
    if (!clean) return text;
    text_clean(clean, strlen(value) + 1, value);
    text = json_string(clean);
    free(clean);
    return text;
}

void out_text(struct out *o, const char *column, const char *value)
{
    out_put(o, column, text_json(value), -1);
}

void out_brief(struct out *o, const char *title, bool left, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    bool done = vasprintf(&text, fmt, ap) >= 0;
    va_end(ap);
    if (!done || !grid_put(&o->brief, title, text_json(text), left ? -1 : 0))
        o->no_memory = true;
    if (done) free(text);
}

void out_int(struct out *o, const char *column, int64_t value)
{
    out_put(o, column, json_integer(value), 0);
}

void out_real(struct out *o, const char *column, double value, int digits)
{
    out_put(o, column, isfinite(value) ? json_real(value) : json_null(), digits);
}

void out_cells(struct out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    while (*fmt) {
        char name[48];
        size_t n = strcspn(fmt, "=");
        snprintf(name, sizeof name, "%.*s", (int)n, fmt);
        assert(fmt[n] == '=' && fmt[n + 1] == '%');
        fmt += n + 2;
        int digits = 0, longs = 0;
        if (*fmt == '.') {
            digits = fmt[1] - '0';
            fmt += 2;
        }
        for (; *fmt == 'l'; fmt++)
            longs++;
        switch (*fmt++) {
        case 's':
            out_text(o, name, va_arg(ap, const char *));
            break;
        case 'd':
            out_int(o, name,
                    longs == 2   ? va_arg(ap, long long)
                    : longs == 1 ? va_arg(ap, long)
                                 : va_arg(ap, int));
            break;
        case 'f':
            out_real(o, name, va_arg(ap, double), digits);
            break;
        default:
            assert(!"a conversion that out_cells knows");
        }
        fmt += *fmt == ' ';
    }
    va_end(ap);
}

void out_interval(struct out *o, const char *column, double mean, double lo, double hi,
                  int digits)
{
    char name[48];
    out_real(o, column, mean, digits);
    snprintf(name, sizeof name, "%s_lo", column);
    out_real(o, name, lo, digits);
    snprintf(name, sizeof name, "%s_hi", column);
    out_real(o, name, hi, digits);
}

/* ---- printing ---- */

/* the text of a cell, in buf or borrowed from the row */
static const char *cell(char buf[CELL], const json_t *row, const struct column *c)
{
    const json_t *v = json_object_get(row, c->name);
    if (json_is_string(v)) return json_string_value(v);
    if (json_is_integer(v))
        snprintf(buf, CELL, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v) && c->digits == OUT_SHORT)
        snprintf(buf, CELL, "%.5g", json_real_value(v));
    else if (json_is_real(v))
        snprintf(buf, CELL, "%.*f", c->digits, json_real_value(v));
    else
        snprintf(buf, CELL, "-");
    return buf;
}

/* characters, not bytes, for what UTF-8 we print ourselves */
static int width_of(const char *s)
{
    int n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

/* The colour of a cell that is a verdict. */
static enum term_style cell_style(const char *s)
{
    static const struct {
        const char *word;
        enum term_style style;
    } verdicts[] = {
        {"ok", TERM_GOOD},      {"pass", TERM_GOOD},     {"better", TERM_GOOD},
        {"warn", TERM_WARNING}, {"short", TERM_WARNING}, {"untested", TERM_WARNING},
        {"fail", TERM_BAD},     {"FAILS", TERM_BAD},     {"refused", TERM_BAD},
        {"worse", TERM_BAD},    {"differs", TERM_BAD}};
    for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
        if (strcmp(s, verdicts[i].word) == 0) return verdicts[i].style;
    return TERM_PLAIN;
}

/* Text behind `indent` columns, broken at blanks where a line of the terminal ends. */
static void print_folded(FILE *f, const char *s, int indent, int columns)
{
    int room = columns - indent;
    while (room >= FOLD_LEAST && width_of(s) > room) {
        const char *at = NULL;
        int used = 0;
        for (const char *p = s; *p && used <= room; p++) {
            if (*p == ' ' && p > s) at = p;
            used += ((unsigned char)*p & 0xc0) != 0x80;
        }
        if (!at) break;
        fprintf(f, "%.*s\n%*s", (int)(at - s), s, indent, "");
        s = at + 1;
    }
    fputs(s, f);
}

static void print_cell(FILE *f, const char *s, const struct column *c, bool last,
                       enum term_style style, int indent)
{
    int pad = c->width - width_of(s);
    if (c->digits != -1) fprintf(f, "%*s", pad, "");
    fputs(term_on(f, style), f);
    if (last && c->digits == -1)
        print_folded(f, s, indent, term_columns(f, 0, INT_MAX));
    else
        fputs(s, f);
    fputs(term_off(f, style), f);
    if (c->digits == -1 && !last) fprintf(f, "%*s", pad, "");
    fputs(last ? "\n" : "  ", f);
}

static void print_table(struct grid *g, FILE *f)
{
    char buf[CELL];
    size_t i;
    json_t *row;
    for (int k = 0; k < g->columns; k++) {
        struct column *c = &g->column[k];
        c->width = width_of(c->name);
        json_array_foreach(g->rows, i, row)
        {
            int w = width_of(cell(buf, row, c));
            if (w > c->width) c->width = w;
        }
    }

    for (int k = 0; k < g->columns; k++)
        print_cell(f, g->column[k].name, &g->column[k], k == g->columns - 1, TERM_HEADING,
                   0);
    json_array_foreach(g->rows, i, row)
    {
        if (!json_object_size(row)) continue;
        int indent = 0;
        for (int k = 0; k < g->columns; k++) {
            const char *s = cell(buf, row, &g->column[k]);
            print_cell(f, s, &g->column[k], k == g->columns - 1, cell_style(s), indent);
            indent += g->column[k].width + 2;
        }
    }
}

static void print_csv(const struct out *o, FILE *f)
{
    const struct grid *g = &o->all;
    for (int k = 0; k < g->columns; k++) {
        text_put_csv(f, g->column[k].name);
        fputc(k < g->columns - 1 ? ',' : '\n', f);
    }
    size_t i;
    json_t *row;
    json_array_foreach(g->rows, i, row) for (int k = 0; k < g->columns; k++)
    {
        const json_t *v = json_object_get(row, g->column[k].name);
        if (json_is_string(v)) text_put_csv(f, json_string_value(v));
        if (json_is_integer(v)) fprintf(f, "%lld", (long long)json_integer_value(v));
        if (json_is_real(v)) fprintf(f, "%.12g", json_real_value(v));
        fputc(k < g->columns - 1 ? ',' : '\n', f);
    }
}

static void print_json(const struct out *o, FILE *f)
{
    const struct grid *g = &o->all;
    fputs("{\"rows\": [", f);
    size_t i;
    json_t *row;
    json_array_foreach(g->rows, i, row)
    {
        fputs(i ? ",\n  " : "\n  ", f);
        json_dumpf(row, f, JSON_REAL_PRECISION(12));
    }
    fputs("\n]}\n", f);
}

static int deliver(const struct out *o, const char *path,
                   void (*print)(const struct out *o, FILE *f), struct err *e)
{
    if (!path) return 0;
    if (is_stdout(path)) {
        print(o, stdout);
        return fflush(stdout) ? err_set(e, ERR_IO, "standard output: %s", strerror(errno))
                              : 0;
    }

    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) return err_set(e, ERR_MEMORY, "out of memory");
    print(o, f);
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    int rc =
        bad ? err_set(e, ERR_MEMORY, "out of memory") : text_write_file(path, text, n, e);
    free(text);
    return rc;
}

bool out_takes_stdout(const struct out *o)
{
    return o->cfg.taken || is_stdout(o->cfg.csv) || is_stdout(o->cfg.json);
}

void out_say(struct out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    FILE *f = out_takes_stdout(o) ? stderr : stdout;
    vfprintf(f, fmt, ap);
    fputc('\n', f);
    va_end(ap);
}

int out_finish(struct out *o, struct err *e)
{
    if (o->no_memory) return err_set(e, ERR_MEMORY, "out of memory for the table");
    if (!out_takes_stdout(o) && json_array_size(o->all.rows))
        print_table(o->brief.columns && !o->cfg.wide ? &o->brief : &o->all, stdout);
    int rc = deliver(o, o->cfg.csv, print_csv, e);
    int rc2 = deliver(o, o->cfg.json, print_json, e);
    return rc ? rc : rc2;
}
