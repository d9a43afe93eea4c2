#include "report/report.h"

#include "base/text.h"
#include "report_priv.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char NAME_LETTERS[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool report_priv_is_name(const char *s)
{
    return *s && !s[strspn(s, NAME_LETTERS)];
}

struct report *report_new(const char *name, const char *title, struct err *e)
{
    assert(report_priv_is_name(name) && strlen(name) < sizeof((struct report *)0)->name);
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
    assert(report_priv_is_name(id));
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

void report_histogram(struct report *r, const char *name, const double *values, int n,
                      int bins, double lo, double hi)
{
    assert(bins > 0 && lo < hi);
    double *x = calloc((size_t)bins, sizeof *x), *share = calloc((size_t)bins, sizeof *x);
    if (x && share) {
        int finite = 0;
        for (int i = 0; i < n; i++) {
            finite += isfinite(values[i]);
            if (!(values[i] >= lo && values[i] <= hi)) continue;
            int b = (int)((values[i] - lo) / (hi - lo) * bins);
            share[b < bins ? b : bins - 1] += 1;
        }
        for (int b = 0; b < bins; b++) {
            x[b] = lo + (hi - lo) * (b + .5) / bins;
            share[b] = finite ? share[b] / finite : 0;
        }
        report_series(
            r, &(struct report_series){
                   .name = name, .kind = REPORT_BARS, .n = bins, .x = x, .y = share});
    } else {
        r->no_memory = true;
    }
    free(x);
    free(share);
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
        .name = report_priv_text(o, "name"),
        .value = number_or(json_object_get(o, "value"), NAN),
        .low = number_or(json_object_get(o, "low"), -INFINITY),
        .high = number_or(json_object_get(o, "high"), INFINITY),
        .pass = json_is_true(json_object_get(o, "pass")),
    };
}

/* ---- reading back ---- */

const char *report_priv_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

const char *report_priv_verdict(int v)
{
    static const char *const word[] = {"pass", "short", "differs", "untested"};
    return word[v];
}

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

    const char *is = report_priv_text(c, "is");
    const json_t *v = json_object_get(c, "v");
    int digits = (int)json_integer_value(json_object_get(c, "digits"));
    if (strcmp(is, "text") == 0) return json_string_value(v);
    if (strcmp(is, "verdict") == 0)
        return report_priv_verdict((int)json_integer_value(v));
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
