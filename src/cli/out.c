#include "cli/out.h"

#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COLUMNS = 64, CELL = 64 };

struct column {
    char name[48];
    int digits; /* of reals in the table, or OUT_SHORT; -1 = text, to the left */
    int width;
};

struct out {
    struct out_cfg cfg;
    json_t *rows; /* array of objects; table, CSV and JSON are printed from it */
    json_t *row;  /* the last one, borrowed */
    struct column column[COLUMNS];
    int columns;
    bool no_memory;
};

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int out_check_folder(const char *path, struct err *e)
{
    if (!path || is_stdout(path)) return 0;
    char dir[4096];
    snprintf(dir, sizeof dir, "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash) slash[slash == dir ? 1 : 0] = '\0';
    if (access(slash ? dir : ".", W_OK) == 0) return 0;
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
    if (o) o->rows = json_array();
    if (!o || !o->rows) {
        free(o);
        err_set(e, ERR_MEMORY, "out of memory");
        return NULL;
    }
    o->cfg = *cfg;
    return o;
}

void out_free(struct out *o)
{
    if (!o) return;
    json_decref(o->rows);
    free(o);
}

void out_row(struct out *o)
{
    o->row = json_object();
    if (!o->row || json_array_append_new(o->rows, o->row)) {
        o->row = NULL;
        o->no_memory = true;
    }
}

static void out_put(struct out *o, const char *name, json_t *value, int digits)
{
    assert(json_array_size(o->rows) || o->no_memory); /* out_row comes first */
    if (!o->row || !value || json_object_set_new(o->row, name, value)) {
        o->no_memory = true;
        return;
    }
    for (int i = 0; i < o->columns; i++)
        if (strcmp(o->column[i].name, name) == 0) return;
    assert(o->columns < COLUMNS && strlen(name) < sizeof o->column[0].name);
    struct column *c = &o->column[o->columns++];
    strcpy(c->name, name);
    c->digits = digits;
}

void out_text(struct out *o, const char *column, const char *value)
{
    json_t *text = json_string(value);
    char *clean = text ? NULL : malloc(strlen(value) + 1);
    if (clean) { /* names of files may be any bytes, JSON is UTF-8 */
        text_clean(clean, strlen(value) + 1, value);
        text = json_string(clean);
        free(clean);
    }
    out_put(o, column, text, -1);
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

static void print_cell(FILE *f, const char *s, const struct column *c, bool last)
{
    int pad = c->width - width_of(s);
    if (c->digits != -1) fprintf(f, "%*s", pad, "");
    fputs(s, f);
    if (c->digits == -1 && !last) fprintf(f, "%*s", pad, "");
    fputs(last ? "\n" : "  ", f);
}

static void print_table(struct out *o, FILE *f)
{
    char buf[CELL];
    size_t i;
    json_t *row;
    for (int k = 0; k < o->columns; k++) {
        struct column *c = &o->column[k];
        c->width = width_of(c->name);
        json_array_foreach(o->rows, i, row)
        {
            int w = width_of(cell(buf, row, c));
            if (w > c->width) c->width = w;
        }
    }

    for (int k = 0; k < o->columns; k++)
        print_cell(f, o->column[k].name, &o->column[k], k == o->columns - 1);
    json_array_foreach(o->rows, i, row) for (int k = 0; k < o->columns; k++)
        print_cell(f, cell(buf, row, &o->column[k]), &o->column[k], k == o->columns - 1);
}

static void print_csv(const struct out *o, FILE *f)
{
    for (int k = 0; k < o->columns; k++) {
        text_put_csv(f, o->column[k].name);
        fputc(k < o->columns - 1 ? ',' : '\n', f);
    }
    size_t i;
    json_t *row;
    json_array_foreach(o->rows, i, row) for (int k = 0; k < o->columns; k++)
    {
        const json_t *v = json_object_get(row, o->column[k].name);
        if (json_is_string(v)) text_put_csv(f, json_string_value(v));
        if (json_is_integer(v)) fprintf(f, "%lld", (long long)json_integer_value(v));
        if (json_is_real(v)) fprintf(f, "%.12g", json_real_value(v));
        fputc(k < o->columns - 1 ? ',' : '\n', f);
    }
}

static void print_json(const struct out *o, FILE *f)
{
    fputs("{\"rows\": [", f);
    size_t i;
    json_t *row;
    json_array_foreach(o->rows, i, row)
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
    if (!out_takes_stdout(o) && json_array_size(o->rows)) print_table(o, stdout);
    int rc = deliver(o, o->cfg.csv, print_csv, e);
    int rc2 = deliver(o, o->cfg.json, print_json, e);
    return rc ? rc : rc2;
}
