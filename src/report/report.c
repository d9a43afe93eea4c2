#include "report/report.h"

#include "base/text.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A report while it grows: JSON values, in the order in which they were added.
 *   params  {key: string | integer | real}
 *   blocks  [{"is": "heading" | "text", "text"}, table, figure, ...]
 *   table   {"is": "table", "title", "columns": [name], "rows": [{name: cell}],
 *            "best": name, "higher": bool, "within": name}
 *   cell    {"is": "text" | "int" | "real" | "interval" | "verdict", "v", "digits", "lo", "hi"}
 *   figure  {"is": "figure", "id", "title", "caption", "panels": [panel]}
 *   panel   {"title", "x": axis, "y": axis, "category": [name], "rules": [{"axis", "at", "label"}],
 *            "series": [{"name", "kind", "x": [], "y": [], "lo": [], "hi": []}]}
 *   axis    {"label", "log", "lo", "hi"}
 *   checks  [{"name", "value", "low", "high", "pass"}]
 * A number that is not finite is null. */
enum { SENTENCE = 512 };

struct report {
    char name[64], title[256];
    json_t *params, *blocks, *tables, *checks; /* tables: the tables of `blocks` */
    json_t *table, *row, *figure, *panel;      /* the newest of each, borrowed */
    json_t *summary; /* string; NULL: it follows from the tables */
    bool no_memory;
};

static const char NAME_LETTERS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool report_is_name(const char *s)
{
    return *s && !s[strspn(s, NAME_LETTERS)];
}

/* "" when the key is absent. */
static const char *report_member(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

static const char *report_verdict_word(int v)
{
    static const char *const word[] = {"pass", "short", "differs", "untested"};
    return word[v];
}

struct report_claims report_claims(const struct report *r)
{
    struct report_claims out = {{0}};
    size_t t, i;
    json_t *table, *row, *cell;
    const char *column;
    json_array_foreach(r->tables, t, table)
    {
        json_array_foreach(json_object_get(table, "rows"), i, row)
        {
            json_object_foreach(row, column, cell)
            {
                if (strcmp(report_member(cell, "is"), "verdict") == 0)
                    out.n[json_integer_value(json_object_get(cell, "v"))]++;
            }
        }
    }
    return out;
}

bool report_claims_say(char out[REPORT_CLAIMS_WORDS], const struct report_claims *c)
{
    static const char *const says[REPORT_VERDICTS] = {"hold", "in part", "differ",
                                                      "untested"};
    size_t used = (size_t)snprintf(out, REPORT_CLAIMS_WORDS, "the paper's claims:");
    bool any = false;
    for (int v = 0; v < REPORT_VERDICTS; v++) {
        if (!c->n[v]) continue;
        used += (size_t)snprintf(out + used, REPORT_CLAIMS_WORDS - used, "%s %d %s",
                                 any ? "," : "", c->n[v], says[v]);
        any = true;
    }
    return any;
}

struct report *report_new(const char *name, const char *title, struct err *e)
{
    assert(report_is_name(name) && strlen(name) < sizeof((struct report *)0)->name);
    struct report *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(e, ERR_MEMORY, "no memory for a report");
        return NULL;
    }
    strcpy(r->name, name);
    text_clean(r->title, sizeof r->title, title);
    r->params = json_object();
    r->blocks = json_array();
    r->tables = json_array();
    r->checks = json_array();
    r->no_memory = !r->params || !r->blocks || !r->tables || !r->checks;
    return r;
}

void report_free(struct report *r)
{
    if (!r) return;
    json_decref(r->params);
    json_decref(r->blocks);
    json_decref(r->tables);
    json_decref(r->checks);
    json_decref(r->summary);
    free(r);
}

/* ---- JSON values; a lack of memory is remembered until report_write ---- */

static json_t *text_json(const char *s)
{
    if (!s) return json_null();
    size_t n = strlen(s) + 1;
    char *clean = malloc(n);
    if (!clean) return NULL;
    text_clean(clean, n, s);
    json_t *v = json_string(clean);
    free(clean);
    return v;
}

static json_t *format_json(const char *fmt, va_list ap)
{
    char *text = NULL;
    if (vasprintf(&text, fmt, ap) < 0) return NULL;
    json_t *v = text_json(text);
    free(text);
    return v;
}

static json_t *real_json(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* value is taken */
static void set(struct report *r, json_t *object, const char *key, json_t *value)
{
    if (!object || !value || json_object_set_new(object, key, value)) r->no_memory = true;
}

/* value is taken; returns it, borrowed, or NULL */
static json_t *report_append(struct report *r, json_t *array, json_t *value)
{
    if (array && value && !json_array_append_new(array, value)) return value;
    r->no_memory = true;
    return NULL;
}

static json_t *block(struct report *r, const char *is)
{
    json_t *b = report_append(r, r->blocks, json_object());
    set(r, b, "is", json_string(is));
    return b;
}

/* ---- words ---- */

void report_param(struct report *r, const char *key, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(r, r->params, key, format_json(fmt, ap));
    va_end(ap);
}

void report_param_int(struct report *r, const char *key, int64_t value)
{
    set(r, r->params, key, json_integer(value));
}

void report_param_real(struct report *r, const char *key, double value)
{
    set(r, r->params, key, real_json(value));
}

void report_summary(struct report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    json_decref(r->summary);
    r->summary = format_json(fmt, ap);
    va_end(ap);
    if (!r->summary) r->no_memory = true;
}

void report_heading(struct report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(r, block(r, "heading"), "text", format_json(fmt, ap));
    va_end(ap);
}

void report_text(struct report *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set(r, block(r, "text"), "text", format_json(fmt, ap));
    va_end(ap);
}

/* ---- tables ---- */

void report_table(struct report *r, const char *title)
{
    r->table = block(r, "table");
    r->row = NULL;
    set(r, r->table, "title", text_json(title));
    set(r, r->table, "columns", json_array());
    set(r, r->table, "rows", json_array());
    if (!r->table || json_array_append(r->tables, r->table)) r->no_memory = true;
}

void report_row(struct report *r)
{
    assert(r->table || r->no_memory); /* report_table comes first */
    r->row = report_append(r, json_object_get(r->table, "rows"), json_object());
}

/* A new cell of the last row; NULL without memory. */
void report_best(struct report *r, const char *column, bool higher, const char *within)
{
    size_t n = json_array_size(r->tables);
    assert(n > 0);
    json_t *t = json_array_get(r->tables, n - 1);
    set(r, t, "best", text_json(column));
    set(r, t, "higher", json_boolean(higher));
    if (within) set(r, t, "within", text_json(within));
}

static const char BOUND[] = "*bound"; /* a row's member that is no column */

void report_bound(struct report *r)
{
    set(r, r->row, BOUND, json_true());
}

static json_t *report_cell_one(struct report *r, const char *column, const char *is,
                               json_t *value)
{
    assert(r->row || r->no_memory); /* report_row comes first */
    assert(strlen(column) < REPORT_COLUMN);
    json_t *columns = json_object_get(r->table, "columns"), *c;
    size_t i;
    bool known = false;
    json_array_foreach(columns, i, c) known |= strcmp(json_string_value(c), column) == 0;
    if (!known) report_append(r, columns, text_json(column));

    json_t *made = json_object();
    set(r, made, "is", json_string(is));
    set(r, made, "v", value);
    set(r, r->row, column, made);
    return made;
}

void report_cell(struct report *r, const char *column, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report_cell_one(r, column, "text", format_json(fmt, ap));
    va_end(ap);
}

void report_int(struct report *r, const char *column, int64_t value)
{
    report_cell_one(r, column, "int", json_integer(value));
}

void report_real(struct report *r, const char *column, double value, int digits)
{
    json_t *c = report_cell_one(r, column, "real", real_json(value));
    set(r, c, "digits", json_integer(digits));
}

void report_interval(struct report *r, const char *column, double value, double lo,
                     double hi, int digits)
{
    json_t *c = report_cell_one(r, column, "interval", real_json(value));
    set(r, c, "digits", json_integer(digits));
    set(r, c, "lo", real_json(lo));
    set(r, c, "hi", real_json(hi));
}

void report_verdict(struct report *r, const char *column, enum report_verdict v)
{
    report_cell_one(r, column, "verdict", json_integer(v));
}

/* ---- charts ---- */

void report_figure(struct report *r, const char *id, const char *title,
                   const char *caption)
{
    assert(report_is_name(id));
    r->figure = block(r, "figure");
    r->panel = NULL;
    set(r, r->figure, "id", json_string(id));
    set(r, r->figure, "title", text_json(title));
    set(r, r->figure, "caption", text_json(caption));
    set(r, r->figure, "panels", json_array());
}

static json_t *axis_json(struct report *r, const struct report_axis *a)
{
    assert(a->label);
    bool range = a->lo != 0 || a->hi != 0;
    assert(!range || (a->lo < a->hi && (!a->log || a->lo > 0)));
    json_t *o = json_object();
    set(r, o, "label", text_json(a->label));
    set(r, o, "log", json_boolean(a->log));
    set(r, o, "lo", range ? real_json(a->lo) : json_null());
    set(r, o, "hi", range ? real_json(a->hi) : json_null());
    return o;
}

void report_panel(struct report *r, const struct report_panel *p)
{
    assert(r->figure || r->no_memory); /* report_figure comes first */
    r->panel = report_append(r, json_object_get(r->figure, "panels"), json_object());
    set(r, r->panel, "title", text_json(p->title));
    set(r, r->panel, "x", axis_json(r, &p->x));
    set(r, r->panel, "y", axis_json(r, &p->y));
    json_t *category = p->category ? json_array() : json_null();
    for (int i = 0; p->category && i < p->categories; i++)
        report_append(r, category, text_json(p->category[i]));
    set(r, r->panel, "category", category);
    set(r, r->panel, "rules", json_array());
    set(r, r->panel, "series", json_array());
}

static json_t *report_numbers(struct report *r, const double *v, int n)
{
    if (!v) return json_null();
    json_t *a = json_array();
    for (int i = 0; i < n; i++)
        report_append(r, a, real_json(v[i]));
    return a;
}

static json_t *places(struct report *r, const double *x, int n)
{
    json_t *a = json_array();
    for (int i = 0; i < n; i++) {
        assert(!x || (isfinite(x[i]) && (i == 0 || x[i] > x[i - 1])));
        report_append(r, a, json_real(x ? x[i] : i));
    }
    return a;
}

void report_series(struct report *r, const struct report_series *s)
{
    static const char *const kind[] = {"line", "dashed", "points", "bars"};
    assert(r->panel || r->no_memory); /* report_panel comes first */
    assert(s->name && s->n >= 0 && s->y && !s->lo == !s->hi);
    json_t *o = report_append(r, json_object_get(r->panel, "series"), json_object());
    set(r, o, "name", text_json(s->name));
    set(r, o, "kind", json_string(kind[s->kind]));
    set(r, o, "x", places(r, s->x, s->n));
    set(r, o, "y", report_numbers(r, s->y, s->n));
    set(r, o, "lo", report_numbers(r, s->lo, s->n));
    set(r, o, "hi", report_numbers(r, s->hi, s->n));
}

void report_rule(struct report *r, char axis, double at, const char *label)
{
    assert((axis == 'x' || axis == 'y') && (r->panel || r->no_memory));
    json_t *o = report_append(r, json_object_get(r->panel, "rules"), json_object());
    set(r, o, "axis", json_string(axis == 'x' ? "x" : "y"));
    set(r, o, "at", real_json(at));
    set(r, o, "label", text_json(label));
}

/* ---- checks ---- */

bool report_check(struct report *r, const char *name, double value, double low,
                  double high)
{
    assert(!isnan(low) && !isnan(high));
    bool pass = value >= low && value <= high; /* false for NaN */
    json_t *o = report_append(r, r->checks, json_object());
    set(r, o, "name", text_json(name));
    set(r, o, "value", real_json(value));
    set(r, o, "low", real_json(low));
    set(r, o, "high", real_json(high));
    set(r, o, "pass", json_boolean(pass));
    return pass;
}

int report_checks(const struct report *r)
{
    return (int)json_array_size(r->checks);
}

int report_checks_failed(const struct report *r)
{
    int failed = 0;
    for (int i = 0; i < report_checks(r); i++)
        failed += !report_check_at(r, i).pass;
    return failed;
}

static double number_or(const json_t *v, double otherwise)
{
    return json_is_number(v) ? json_number_value(v) : otherwise;
}

struct report_check report_check_at(const struct report *r, int i)
{
    const json_t *o = json_array_get(r->checks, (size_t)i);
    assert(o);
    return (struct report_check){
        .name = report_member(o, "name"),
        .value = number_or(json_object_get(o, "value"), NAN),
        .low = number_or(json_object_get(o, "low"), -INFINITY),
        .high = number_or(json_object_get(o, "high"), INFINITY),
        .pass = json_is_true(json_object_get(o, "pass")),
    };
}

/* ---- reading back ---- */

int report_tables(const struct report *r)
{
    return (int)json_array_size(r->tables);
}

const char *report_column(const struct report *r, int table, int column)
{
    const json_t *t = json_array_get(r->tables, (size_t)table);
    return json_string_value(
        json_array_get(json_object_get(t, "columns"), (size_t)column));
}

int report_rows(const struct report *r, int table)
{
    const json_t *t = json_array_get(r->tables, (size_t)table);
    return (int)json_array_size(json_object_get(t, "rows"));
}

const char *report_shown(char buf[64], const struct report *r, int table, int row,
                         int column)
{
    const char *name = report_column(r, table, column);
    const json_t *t = json_array_get(r->tables, (size_t)table);
    const json_t *rows = json_object_get(t, "rows");
    const json_t *c = json_object_get(json_array_get(rows, (size_t)row), name);
    if (!c) return NULL;

    const char *is = report_member(c, "is");
    const json_t *v = json_object_get(c, "v");
    int digits = (int)json_integer_value(json_object_get(c, "digits"));
    if (strcmp(is, "text") == 0) return json_string_value(v);
    if (strcmp(is, "verdict") == 0)
        return report_verdict_word((int)json_integer_value(v));
    if (strcmp(is, "int") == 0)
        snprintf(buf, 64, "%lld", (long long)json_integer_value(v));
    else if (!json_is_real(v))
        snprintf(buf, 64, "-");
    else if (strcmp(is, "real") == 0)
        snprintf(buf, 64, "%.*f", digits, json_real_value(v));
    else
        snprintf(buf, 64, "%.*f [%.*f, %.*f]", digits, json_real_value(v), digits,
                 number_or(json_object_get(c, "lo"), NAN), digits,
                 number_or(json_object_get(c, "hi"), NAN));
    return buf;
}

/* What a file is printed from. */
struct part {
    const struct report *report;
    const struct report_assets *assets;
    const json_t *reports; /* index.html alone */
    bool indexed;          /* an index.html lies in the same folder */
};

/* ---- the page: what it is made of ---- */

/* The page of a report, and the index of several. */

enum { COLOURS = 7, KEYS = 256, WIDE = 6 /* columns, and no more, are not many */ };

static void html(FILE *f, const char *s)
{
    for (; *s; s++) {
        switch (*s) {
        case '&':
            fputs("&amp;", f);
            break;
        case '<':
            fputs("&lt;", f);
            break;
        case '>':
            fputs("&gt;", f);
            break;
        case '"':
            fputs("&quot;", f);
            break;
        case '\'':
            fputs("&#39;", f);
            break;
        default:
            fputc(*s, f);
        }
    }
}

/* <tag>text</tag> */
static void element(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>", tag);
    html(f, text);
    fprintf(f, "</%s>\n", tag);
}

/* JSON inside <script>: a '<' could end it, and in JSON it stands in strings only. */
static void script_json(FILE *f, const json_t *v)
{
    char *text = json_dumps(v, JSON_COMPACT | JSON_REAL_PRECISION(9));
    for (const char *c = text; c && *c; c++) {
        if (*c == '<')
            fputs("\\u003c", f);
        else
            fputc(*c, f);
    }
    free(text);
}

static void put_head(FILE *f, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n",
          f);
    element(f, "title", title);
}

static void put_text_block(FILE *f, const char *tag, const char *text)
{
    fprintf(f, "<%s>%s</%s>\n", tag, text, tag);
}

/* ---- the page: tables ---- */

static const char *kind_of(const json_t *cell)
{
    return report_member(cell, "is");
}

static bool is_numeric(const json_t *rows, const char *column)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        const json_t *c = json_object_get(row, column);
        if (c && (strcmp(kind_of(c), "text") == 0 || strcmp(kind_of(c), "verdict") == 0))
            return false;
    }
    return true;
}

static void put_digits(FILE *f, const json_t *v, int digits)
{
    if (!json_is_real(v))
        fputs("-", f);
    else
        fprintf(f, "%.*f", digits, json_real_value(v));
}

/* mark: how the row stands in its group, or "" */
static void put_cell(FILE *f, const char *column, const json_t *c, bool numeric,
                     const char *mark)
{
    const char *is = kind_of(c);
    const json_t *v = json_object_get(c, "v");
    int digits = (int)json_integer_value(json_object_get(c, "digits"));
    if (strcmp(is, "verdict") == 0) {
        const char *word = report_verdict_word((int)json_integer_value(v));
        fputs("<td data-of=\"", f);
        html(f, column);
        fprintf(f, "\"><span class=\"verdict %s\">%s</span></td>", word, word);
        return;
    }
    /* a phone shows a row as a list, with the column's name before each value */
    fputs(numeric ? "<td class=\"num\" data-of=\"" : "<td data-of=\"", f);
    html(f, column);
    fputs("\"><span>", f);
    if (strcmp(is, "text") == 0) html(f, json_string_value(v));
    if (strcmp(is, "int") == 0) fprintf(f, "%lld", (long long)json_integer_value(v));
    if (strcmp(is, "real") == 0) put_digits(f, v, digits);
    if (strcmp(is, "interval") == 0) {
        put_digits(f, v, digits);
        fputs(" <span class=\"range\">", f);
        put_digits(f, json_object_get(c, "lo"), digits);
        fputs(" to ", f);
        put_digits(f, json_object_get(c, "hi"), digits);
        fputs("</span>", f);
    }
    if (*mark) fprintf(f, " <span class=\"mark %s\">%s</span>", mark, mark);
    fputs("</span></td>", f);
}

/* ---- the winner of a table ---- */

/* A row's number in the table's best column; NaN: none. */
static double best_value(const json_t *t, const json_t *row)
{
    const json_t *c = json_object_get(row, BOUND)
                          ? NULL
                          : json_object_get(row, report_member(t, "best"));
    return c ? number_or(json_object_get(c, "v"), NAN) : (double)NAN;
}

/* The text of a row's group; "" if all rows are one group. */
static const char *best_group(const json_t *t, const json_t *row)
{
    const json_t *c = json_object_get(t, "within")
                          ? json_object_get(row, report_member(t, "within"))
                          : NULL;
    const char *text = c ? json_string_value(json_object_get(c, "v")) : NULL;
    return text ? text : "";
}

/* The best row of `row`'s group; NULL: no row has a number. */
static const json_t *best_of(const json_t *t, const json_t *row)
{
    bool higher = json_is_true(json_object_get(t, "higher"));
    const char *group = best_group(t, row);
    const json_t *best = NULL;
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(t, "rows"), i, other)
    {
        double v = best_value(t, other);
        if (isnan(v) || strcmp(best_group(t, other), group) != 0) continue;
        if (!best || (higher ? v > best_value(t, best) : v < best_value(t, best)))
            best = other;
    }
    return best;
}

/* "best", "overlaps" or "": how a row stands in its group. A group of one has no winner. */
static const char *best_mark(const json_t *t, const json_t *row)
{
    if (!json_object_get(t, "best") || isnan(best_value(t, row))) return "";
    const json_t *best = best_of(t, row);
    int n = 0;
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(t, "rows"), i, other) n +=
        !isnan(best_value(t, other)) &&
        strcmp(best_group(t, other), best_group(t, row)) == 0;
    if (n < 2) return "";
    double top = best_value(t, best);
    if (best == row || best_value(t, row) == top) return "best";
    const json_t *c = json_object_get(row, report_member(t, "best"));
    double lo = number_or(json_object_get(c, "lo"), NAN);
    double hi = number_or(json_object_get(c, "hi"), NAN);
    return lo <= top && top <= hi ? "overlaps" : "";
}

/* What names a row: the first text that is not its group. */
static const char *row_name(const json_t *t, const json_t *row)
{
    size_t k;
    json_t *column;
    const json_t *within = json_object_get(t, "within");
    json_array_foreach(json_object_get(t, "columns"), k, column)
    {
        const char *name = json_string_value(column);
        const json_t *c = json_object_get(row, name);
        if (within && strcmp(name, json_string_value(within)) == 0) continue;
        if (c && strcmp(kind_of(c), "text") == 0)
            return json_string_value(json_object_get(c, "v"));
    }
    return "";
}

/* ---- the sentence that a report begins with ---- */

/* "X has the best QoE in 5 of 6 profiles." False: the table names no winner. */
static bool winner_sentence(char out[SENTENCE], const json_t *t)
{
    if (!json_object_get(t, "best")) return false;
    const json_t *rows = json_object_get(t, "rows");
    const char *most = NULL;
    int won = 0, groups = 0;
    bool overlap = false;
    size_t i, k;
    json_t *a, *b;
    json_array_foreach(rows, i, a)
    {
        overlap |= strcmp(best_mark(t, a), "overlaps") == 0;
        if (strcmp(best_mark(t, a), "best") != 0) continue;
        groups += best_of(t, a) == a;
        int n = 0;
        json_array_foreach(rows, k, b) n += strcmp(best_mark(t, b), "best") == 0 &&
                                            strcmp(row_name(t, a), row_name(t, b)) == 0;
        if (n > won) {
            won = n;
            most = row_name(t, a);
        }
    }
    if (!most) return false;
    int at =
        snprintf(out, SENTENCE, "%s has the best %s", most, report_member(t, "best"));
    if (groups > 1 && at < SENTENCE)
        at += snprintf(out + at, (size_t)(SENTENCE - at), " in %d of %d groups (%s)", won,
                       groups, report_member(t, "within"));
    if (at < SENTENCE)
        snprintf(out + at, (size_t)(SENTENCE - at), "%s.",
                 overlap ? "; the intervals of others overlap" : "");
    return true;
}

/* How many verdicts of the tables hold. False: there is none. */
static bool verdict_sentence(char out[SENTENCE], const struct report *r)
{
    int n[REPORT_UNTESTED + 1] = {0}, all = 0;
    size_t i, k;
    json_t *t, *row, *c;
    const char *key;
    json_array_foreach(r->tables, i, t)
    {
        json_array_foreach(json_object_get(t, "rows"), k, row)
        {
            json_object_foreach(row, key, c)
            {
                if (strcmp(kind_of(c), "verdict") != 0) continue;
                n[json_integer_value(json_object_get(c, "v"))]++;
                all++;
            }
        }
    }
    if (!all) return false;
    snprintf(out, SENTENCE,
             "%d of %d claims hold, %d fall short, %d differ, %d cannot be told.",
             n[REPORT_PASS], all, n[REPORT_SHORT], n[REPORT_DIFFERS], n[REPORT_UNTESTED]);
    return true;
}

static void make_sentence(char out[SENTENCE], const struct report *r)
{
    size_t i;
    json_t *t;
    if (json_is_string(r->summary)) {
        snprintf(out, SENTENCE, "%s", json_string_value(r->summary));
        return;
    }
    json_array_foreach(r->tables, i, t) if (winner_sentence(out, t)) return;
    if (verdict_sentence(out, r)) return;
    int checks = report_checks(r), failed = report_checks_failed(r);
    if (!checks)
        snprintf(out, SENTENCE,
                 "%s: %d tables and the figures below say what was measured.", r->title,
                 report_tables(r));
    else if (!failed)
        snprintf(out, SENTENCE, "All %d checks pass.", checks);
    else
        snprintf(out, SENTENCE, "%d of %d checks fail.", failed, checks);
}

static void put_table(FILE *f, const json_t *t)
{
    const json_t *columns = json_object_get(t, "columns");
    const json_t *rows = json_object_get(t, "rows");
    fputs("<section class=\"table\">\n", f);
    element(f, "h3", report_member(t, "title"));
    fprintf(f, "<div class=\"scroll\"><table%s>\n<thead><tr>",
            json_array_size(columns) > WIDE ? " class=\"wide\"" : "");
    size_t i, k;
    json_t *row, *column;
    json_array_foreach(columns, k, column)
    {
        const char *name = json_string_value(column);
        fputs(is_numeric(rows, name) ? "<th scope=\"col\" class=\"num\">"
                                     : "<th scope=\"col\">",
              f);
        html(f, name);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
    json_array_foreach(rows, i, row)
    {
        const char *mark = best_mark(t, row);
        fputs(strcmp(mark, "best") == 0 ? "<tr class=\"won\">" : "<tr>", f);
        json_array_foreach(columns, k, column)
        {
            const char *name = json_string_value(column);
            const json_t *c = json_object_get(row, name);
            if (c)
                put_cell(f, name, c, is_numeric(rows, name),
                         *mark && strcmp(name, report_member(t, "best")) == 0 ? mark
                                                                              : "");
            else
                fputs("<td></td>", f);
        }
        fputs("</tr>\n", f);
    }
    fputs("</tbody></table></div>\n</section>\n", f);
}

static void put_bound(FILE *f, const char *column, double v)
{
    fprintf(f, "<td class=\"num\" data-of=\"%s\">", column);
    if (isfinite(v))
        fprintf(f, "%.5g</td>", v);
    else
        fputs("-</td>", f);
}

static void put_checks(FILE *f, const struct report *r)
{
    if (!report_checks(r)) return;
    fputs(
        "<section class=\"table\" id=\"checks\">\n<h2>Checks</h2>\n<div class=\"scroll\">"
        "<table>\n<thead><tr><th scope=\"col\">what</th>"
        "<th scope=\"col\" class=\"num\">value</th><th scope=\"col\" "
        "class=\"num\">low</th>"
        "<th scope=\"col\" class=\"num\">high</th><th scope=\"col\">result</th></tr>"
        "</thead>\n<tbody>\n",
        f);
    for (int i = 0; i < report_checks(r); i++) {
        struct report_check c = report_check_at(r, i);
        fputs("<tr><td data-of=\"what\"><span>", f);
        html(f, c.name);
        fputs("</span></td>", f);
        put_bound(f, "value", c.value);
        put_bound(f, "low", c.low);
        put_bound(f, "high", c.high);
        fprintf(f,
                "<td data-of=\"result\"><span class=\"verdict %s\">%s</span></td></tr>\n",
                c.pass ? "pass" : "differs", c.pass ? "pass" : "fails");
    }
    fputs("</tbody></table></div>\n</section>\n", f);
}

/* ---- the page: figures ---- */

/* What a series looks like, by its name. */
struct key {
    const char *name, *kind;
    int colour;
    bool dashed; /* its colour is another's as well */
};

struct keys {
    int n;
    struct key key[KEYS];
};

static const struct key *key_of(const struct keys *k, const char *name)
{
    for (int i = 0; i < k->n; i++)
        if (strcmp(k->key[i].name, name) == 0) return &k->key[i];
    return NULL;
}

static bool taken(const struct keys *k, int colour)
{
    for (int i = 0; i < k->n; i++)
        if (k->key[i].colour == colour) return true;
    return false;
}

/* The colour that the name has elsewhere in the report, unless another of this figure has it. */
static void choose_colour(struct key *k, const struct keys *figure,
                          const struct keys *report)
{
    const struct key *before = key_of(report, k->name);
    k->colour = before ? before->colour : 0;
    for (int i = 0; taken(figure, k->colour) && i < COLOURS; i++)
        k->colour = i;
    if (!taken(figure, k->colour)) return;
    k->colour = figure->n % COLOURS;
    k->dashed = true;
}

static void add_keys(struct keys *figure, struct keys *report, const json_t *f)
{
    size_t p, i;
    json_t *panel, *s;
    json_array_foreach(json_object_get(f, "panels"), p, panel)
    {
        json_array_foreach(json_object_get(panel, "series"), i, s)
        {
            struct key k = {.name = report_member(s, "name"),
                            .kind = report_member(s, "kind")};
            if (key_of(figure, k.name) || figure->n == KEYS) continue;
            choose_colour(&k, figure, report);
            figure->key[figure->n++] = k;
            if (!key_of(report, k.name) && report->n < KEYS) report->key[report->n++] = k;
        }
    }
}

static void put_swatch(FILE *f, const struct key *k)
{
    bool dashed = k->dashed || strcmp(k->kind, "dashed") == 0;
    fputs("<svg width=\"26\" height=\"12\" viewBox=\"0 0 26 12\" aria-hidden=\"true\">",
          f);
    if (strcmp(k->kind, "bars") == 0)
        fprintf(f,
                "<rect x=\"7\" y=\"0\" width=\"12\" height=\"12\" "
                "style=\"fill:var(--c%d)\"%s/>",
                k->colour, k->dashed ? " opacity=\".5\"" : "");
    else if (strcmp(k->kind, "points") == 0)
        fprintf(f, "<circle cx=\"13\" cy=\"6\" r=\"4\" style=\"fill:var(--c%d)\"/>",
                k->colour);
    else
        fprintf(f,
                "<line x1=\"0\" y1=\"6\" x2=\"26\" y2=\"6\" stroke-width=\"2.5\" "
                "style=\"stroke:var(--c%d)\"%s/>",
                k->colour, dashed ? " stroke-dasharray=\"6 4\"" : "");
    fputs("</svg>", f);
}

static void put_legend(FILE *f, const struct keys *keys)
{
    fputs("<div class=\"legend\">", f);
    for (int i = 0; i < keys->n; i++) {
        const struct key *k = &keys->key[i];
        fprintf(f,
                "<button type=\"button\" aria-pressed=\"true\" data-colour=\"%d\"%s "
                "data-name=\"",
                k->colour, k->dashed ? " data-dashed" : "");
        html(f, k->name);
        fputs("\">", f);
        put_swatch(f, k);
        html(f, k->name);
        fputs("</button>", f);
    }
    fputs("</div>\n", f);
}

static void put_figure(FILE *f, const json_t *figure, struct keys *report)
{
    struct keys keys = {0};
    add_keys(&keys, report, figure);
    const json_t *panels = json_object_get(figure, "panels");
    fprintf(f, "<figure id=\"%s\">\n<figcaption>", report_member(figure, "id"));
    element(f, "h3", report_member(figure, "title"));
    if (*report_member(figure, "caption"))
        element(f, "p", report_member(figure, "caption"));
    fputs("</figcaption>\n", f);
    put_legend(f, &keys);
    fprintf(f, "<div class=\"panels of-%zu\">\n", json_array_size(panels));
    size_t i;
    json_t *panel;
    json_array_foreach(panels, i, panel)
    {
        fputs("<div class=\"panel\">", f);
        if (*report_member(panel, "title"))
            element(f, "h4", report_member(panel, "title"));
        fputs("<div class=\"plot\"></div></div>\n", f);
    }
    fputs("</div>\n</figure>\n", f);
}

/* ---- the page as a whole ---- */

static void put_params(FILE *f, const struct report *r)
{
    fputs("<dl>\n", f);
    const char *key;
    json_t *v;
    json_object_foreach(r->params, key, v)
    {
        fputs("<div>", f);
        element(f, "dt", key);
        fputs("<dd>", f);
        if (json_is_string(v)) html(f, json_string_value(v));
        if (json_is_integer(v)) fprintf(f, "%lld", (long long)json_integer_value(v));
        if (json_is_real(v)) fprintf(f, "%.6g", json_real_value(v));
        if (json_is_null(v)) fputs("-", f);
        fputs("</dd></div>\n", f);
    }
    fputs("</dl>\n", f);
}

static void put_badge(FILE *f, int checks, int failed, const char *link)
{
    if (!checks) return;
    fprintf(f,
            "<a class=\"verdict %s\" href=\"%s#checks\">our checks: %d of %d pass</a>\n",
            failed ? "differs" : "pass", link, checks - failed, checks);
}

/* The verdicts of the tables, next to the badge of the checks: a paper can fail where we pass. */
static void put_claims(FILE *f, const struct report_claims *c)
{
    char words[REPORT_CLAIMS_WORDS];
    if (!report_claims_say(words, c)) return;
    fprintf(f, "<span class=\"verdict %s\">%s</span>\n",
            c->n[REPORT_DIFFERS]                          ? "differs"
            : c->n[REPORT_SHORT] || c->n[REPORT_UNTESTED] ? "short"
                                                          : "pass",
            words);
}

static void put_data(FILE *f, const struct report *r)
{
    json_t *figures = json_array(), *b;
    size_t i;
    json_array_foreach(r->blocks, i, b) if (strcmp(kind_of(b), "figure") == 0)
        json_array_append(figures, b);
    fputs("<script type=\"application/json\" id=\"report-data\">", f);
    script_json(f, figures);
    fputs("</script>\n", f);
    json_decref(figures);
}

static void put_blocks(FILE *f, const struct report *r)
{
    struct keys keys = {0};
    size_t i;
    json_t *b;
    json_array_foreach(r->blocks, i, b)
    {
        if (strcmp(kind_of(b), "heading") == 0)
            element(f, "h2", report_member(b, "text"));
        if (strcmp(kind_of(b), "text") == 0) element(f, "p", report_member(b, "text"));
        if (strcmp(kind_of(b), "table") == 0) put_table(f, b);
        if (strcmp(kind_of(b), "figure") == 0) put_figure(f, b, &keys);
    }
}

static void put_page(FILE *f, const struct part *p)
{
    const struct report *r = p->report;
    const struct report_assets *a = p->assets;
    put_head(f, r->title);
    put_text_block(f, "style", a->uplot_css);
    put_text_block(f, "style", a->page_css);
    fputs("</head>\n<body>\n<header>\n", f);
    if (p->indexed)
        fputs("<p class=\"up\"><a href=\"index.html\">all reports</a></p>\n", f);
    element(f, "h1", r->title);
    char sentence[SENTENCE];
    make_sentence(sentence, r);
    fputs("<p class=\"summary\">", f);
    html(f, sentence);
    fputs("</p>\n", f);
    put_badge(f, report_checks(r), report_checks_failed(r), "");
    struct report_claims claims = report_claims(r);
    put_claims(f, &claims);
    put_params(f, r);
    fputs("<noscript><p>The charts need JavaScript; their numbers are in the CSV file."
          "</p></noscript>\n</header>\n<main>\n",
          f);
    put_blocks(f, r);
    put_checks(f, r);
    fprintf(
        f,
        "</main>\n<footer><p>Every number that is drawn: <a href=\"%s.csv\">%s.csv</a>. "
        "Parameters, checks and tables: <a href=\"%s.json\">%s.json</a>.</p></footer>\n",
        r->name, r->name, r->name, r->name);
    put_data(f, r);
    put_text_block(f, "script", a->uplot_js);
    put_text_block(f, "script", a->page_js);
    fputs("</body>\n</html>\n", f);
}

static void put_entry(FILE *f, const json_t *one)
{
    const json_t *checks = json_object_get(one, "checks");
    size_t i;
    int failed = 0;
    json_t *c;
    json_array_foreach(checks, i, c) failed += !json_is_true(json_object_get(c, "pass"));

    fputs("<li><a href=\"", f);
    html(f, report_member(one, "name"));
    fputs(".html\">", f);
    html(f, report_member(one, "title"));
    fputs("</a> ", f);
    char link[80];
    snprintf(link, sizeof link, "%.64s.html", report_member(one, "name"));
    put_badge(f, (int)json_array_size(checks), failed, link);
    struct report_claims claims = {{0}};
    for (int v = 0; v < REPORT_VERDICTS; v++)
        claims.n[v] = (int)json_integer_value(
            json_object_get(json_object_get(one, "claims"), report_verdict_word(v)));
    put_claims(f, &claims);
    if (failed) fputs("<ul>\n", f);
    json_array_foreach(checks, i, c) if (!json_is_true(json_object_get(c, "pass")))
        element(f, "li", report_member(c, "name"));
    if (failed) fputs("</ul>\n", f);
    fputs("</li>\n", f);
}

static void put_index(FILE *f, const struct part *p)
{
    put_head(f, "abrd lab: reports");
    put_text_block(f, "style", p->assets->page_css);
    fputs("</head>\n<body>\n<header><h1>abrd lab: reports</h1></header>\n<main>\n"
          "<ul class=\"reports\">\n",
          f);
    size_t i;
    json_t *one;
    json_array_foreach(p->reports, i, one) put_entry(f, one);
    fputs("</ul>\n</main>\n</body>\n</html>\n", f);
}

enum { JSON_LIMIT = 64 << 20, REPORTS = 256, PATH = 4096 };

/* ---- CSV ---- */

static void csv_number(FILE *f, const json_t *v)
{
    if (json_is_number(v)) fprintf(f, "%.12g", json_number_value(v));
}

static void csv_series(FILE *f, const char *figure, const json_t *panel, const json_t *s)
{
    const json_t *x = json_object_get(s, "x"),
                 *category = json_object_get(panel, "category");
    for (size_t i = 0; i < json_array_size(x); i++) {
        text_put_csv(f, figure);
        fputc(',', f);
        text_put_csv(f, report_member(panel, "title"));
        fputc(',', f);
        text_put_csv(f, report_member(s, "name"));
        fputc(',', f);
        const json_t *at = json_array_get(x, i);
        const json_t *word = json_array_get(category, (size_t)json_real_value(at));
        if (word)
            text_put_csv(f, json_string_value(word));
        else
            csv_number(f, at);
        static const char *const columns[] = {"y", "lo", "hi"};
        for (int k = 0; k < 3; k++) {
            fputc(',', f);
            csv_number(f, json_array_get(json_object_get(s, columns[k]), i));
        }
        fputc('\n', f);
    }
}

static void put_csv(FILE *f, const struct part *from)
{
    fputs("figure,panel,series,x,y,lo,hi\n", f);
    size_t b, p, k;
    json_t *figure, *panel, *series;
    json_array_foreach(from->report->blocks, b, figure)
    {
        json_array_foreach(json_object_get(figure, "panels"), p, panel)
        {
            json_array_foreach(json_object_get(panel, "series"), k, series)
                csv_series(f, report_member(figure, "id"), panel, series);
        }
    }
}

/* ---- JSON ---- */

static void json_value(FILE *f, const json_t *v)
{
    json_dumpf(v, f, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
}

static void json_cell(FILE *f, const json_t *c)
{
    const char *is = report_member(c, "is");
    const json_t *v = json_object_get(c, "v");
    if (strcmp(is, "verdict") == 0) {
        fprintf(f, "\"%s\"", report_verdict_word((int)json_integer_value(v)));
        return;
    }
    if (strcmp(is, "interval") != 0) {
        json_value(f, v);
        return;
    }
    fputs("{\"value\": ", f);
    json_value(f, v);
    fputs(", \"lo\": ", f);
    json_value(f, json_object_get(c, "lo"));
    fputs(", \"hi\": ", f);
    json_value(f, json_object_get(c, "hi"));
    fputs("}", f);
}

static void json_table(FILE *f, const json_t *t)
{
    fputs("{\"title\": ", f);
    json_value(f, json_object_get(t, "title"));
    fputs(", \"columns\": ", f);
    json_value(f, json_object_get(t, "columns"));
    fputs(", \"rows\": [", f);
    size_t i, k;
    json_t *row, *column;
    json_array_foreach(json_object_get(t, "rows"), i, row)
    {
        fputs(i ? ",\n    {" : "\n    {", f);
        const char *between = "";
        json_array_foreach(json_object_get(t, "columns"), k, column)
        {
            const json_t *c = json_object_get(row, json_string_value(column));
            if (!c) continue;
            fputs(between, f);
            json_value(f, column);
            fputs(": ", f);
            json_cell(f, c);
            between = ", ";
        }
        fputs("}", f);
    }
    fputs("]}", f);
}

static void put_json(FILE *f, const struct part *p)
{
    const struct report *r = p->report;
    json_t *title = json_string(r->title);
    fprintf(f, "{\"name\": \"%s\",\n\"title\": ", r->name);
    json_value(f, title);
    json_decref(title);
    char sentence[SENTENCE];
    make_sentence(sentence, r);
    json_t *summary = json_string(sentence);
    fputs(",\n\"summary\": ", f);
    json_value(f, summary);
    json_decref(summary);
    fputs(",\n\"parameters\": ", f);
    json_value(f, r->params);
    fputs(",\n\"checks\": [", f);
    size_t i;
    json_t *v;
    json_array_foreach(r->checks, i, v)
    {
        fputs(i ? ",\n  " : "\n  ", f);
        json_value(f, v);
    }
    struct report_claims claims = report_claims(r);
    fputs("],\n\"claims\": {", f);
    for (int k = 0; k < REPORT_VERDICTS; k++)
        fprintf(f, "%s\"%s\": %d", k ? ", " : "", report_verdict_word(k), claims.n[k]);
    fputs("},\n\"tables\": [", f);
    json_array_foreach(r->tables, i, v)
    {
        fputs(i ? ",\n  " : "\n  ", f);
        json_table(f, v);
    }
    fputs("]}\n", f);
}

/* ---- the index ---- */

static int by_file_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the .json files in dir, sorted; returns how many. */
static int list_json(char *name[REPORTS], const char *dir)
{
    DIR *d = opendir(dir);
    if (!d) return 0;
    int n = 0;
    for (struct dirent *file; n < REPORTS && (file = readdir(d));) {
        size_t len = strlen(file->d_name);
        if (len < 6 || strcmp(file->d_name + len - 5, ".json") != 0) continue;
        name[n] = strdup(file->d_name);
        n += name[n] != NULL;
    }
    closedir(d);
    qsort(name, (size_t)n, sizeof *name, by_file_name);
    return n;
}

/* A report's JSON; NULL for files that are something else. */
static json_t *read_report(const char *dir, const char *file)
{
    char path[PATH];
    if (snprintf(path, sizeof path, "%s/%s", dir, file) >= PATH) return NULL;
    size_t n;
    char *text = text_read_file(path, JSON_LIMIT, &n, NULL);
    if (!text) return NULL;
    json_t *v = json_loadb(text, n, 0, NULL);
    free(text);

    const char *name = report_member(v, "name");
    if (report_is_name(name) && strncmp(name, file, strlen(name)) == 0 &&
        strlen(name) == strlen(file) - strlen(".json") &&
        json_is_array(json_object_get(v, "checks")))
        return v;
    json_decref(v);
    return NULL;
}

static json_t *all_reports(const char *dir)
{
    json_t *reports = json_array();
    char *file[REPORTS];
    int n = list_json(file, dir);
    for (int i = 0; i < n; i++) {
        json_t *one = read_report(dir, file[i]);
        if (one) json_array_append_new(reports, one);
        free(file[i]);
    }
    return reports;
}

/* ---- writing ---- */

static int deliver(const char *dir, const char *name, const char *ending,
                   void (*print)(FILE *f, const struct part *p), const struct part *p,
                   struct err *e)
{
    char path[PATH];
    if (snprintf(path, sizeof path, "%s/%s.%s", dir, name, ending) >= PATH)
        return err_field(e, ERR_RANGE, "--out", "the path is too long");
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);
    if (!f) return err_set(e, ERR_MEMORY, "no memory for the report");
    print(f, p);
    bool bad = ferror(f) != 0;
    bad |= fclose(f) != 0;
    int rc = bad ? err_set(e, ERR_MEMORY, "no memory for the report")
                 : text_write_file(path, text, n, e);
    free(text);
    return rc;
}

/* An asset stands in the page as it is, so it must not end the element that holds it. */
static int check_asset(const char *text, const char *end, const char *what, struct err *e)
{
    if (!text) return err_field(e, ERR_ABSENT, what, "the report's page needs it");
    if (!strcasestr(text, end)) return 0;
    return err_field(e, ERR_INVALID, what, "it holds %s and cannot be inlined", end);
}

static int write_files(const struct part *p, const char *dir, struct err *e)
{
    const struct report *r = p->report;
    const struct report_assets *a = p->assets;
    if (r->no_memory) return err_set(e, ERR_MEMORY, "no memory for the report");
    int rc = check_asset(a->uplot_js, "</script", "uPlot.iife.min.js", e);
    if (!rc) rc = check_asset(a->uplot_css, "</style", "uPlot.min.css", e);
    if (!rc) rc = check_asset(a->page_js, "</script", "report.js", e);
    if (!rc) rc = check_asset(a->page_css, "</style", "report.css", e);
    if (!rc) rc = deliver(dir, r->name, "csv", put_csv, p, e);
    if (!rc) rc = deliver(dir, r->name, "html", put_page, p, e);
    return rc ? rc : deliver(dir, r->name, "json", put_json, p, e);
}

int report_write_alone(const struct report *r, const char *dir,
                       const struct report_assets *a, struct err *e)
{
    const struct part p = {.report = r, .assets = a};
    return write_files(&p, dir, e);
}

int report_write(const struct report *r, const char *dir, const struct report_assets *a,
                 struct err *e)
{
    struct part p = {.report = r, .assets = a, .indexed = true};
    int rc = write_files(&p, dir, e);
    if (rc) return rc;
    json_t *reports = all_reports(dir);
    p.reports = reports;
    rc = deliver(dir, "index", "html", put_index, &p, e);
    json_decref(reports);
    return rc;
}
