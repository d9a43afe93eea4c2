#include "serve/metrics/figure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "serve/wire/emit.h"

static const void *figure_place(const struct figure *f, const void *base)
{
    return (const char *)base + f->at;
}

/* ---- /metrics ---- */

static const char *const KINDS[] = {"gauge", "counter", "histogram"};

void figure_head(struct emit *o, const struct figure *f)
{
    emit_text(o, "# HELP %s %s\n# TYPE %s %s\n", f->metric, f->help, f->metric,
              KINDS[f->kind]);
}

void figure_sample(struct emit *o, const char *name, const char *labels, double v)
{
    char number[EMIT_DOUBLE];
    if (isfinite(v))
        emit_format_double(number, v);
    else
        snprintf(number, sizeof number, "%s", isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
    emit_text(o, "%s%s%s%s %s\n", name, *labels ? "{" : "", labels, *labels ? "}" : "",
              number);
}

static double number_at(enum field_type type, const void *at)
{
    switch (type) {
    case FIELD_FLAG:
        return *(const bool *)at;
    case FIELD_INT:
        return *(const int *)at;
    case FIELD_WORD:
        return *(const unsigned *)at;
    case FIELD_INT64:
        return (double)*(const int64_t *)at;
    case FIELD_UINT64:
    case FIELD_COUNTS:
        return (double)*(const uint64_t *)at;
    default:
        return *(const double *)at;
    }
}

/* Number of elements of an array. */
static int length_of(const struct figure *f, const void *base)
{
    int most = (int)(f->size / sizeof(double));
    const int *n = field_member(base, f->count);
    if (!n) return most;
    return f->type != FIELD_NAMES && *n > most ? most : *n;
}

static void sample(struct emit *o, const struct figure *f, const char *outer,
                   const char *word, double v)
{
    char labels[2 * FIGURE_LABELS];
    if (f->label)
        snprintf(labels, sizeof labels, "%s%s%s=\"%s\"", outer, *outer ? "," : "",
                 f->label, word);
    else
        snprintf(labels, sizeof labels, "%s", outer);
    figure_sample(o, f->metric, labels, v);
}

static void array_samples(struct emit *o, const struct figure *f,
                          const struct figure_element *e)
{
    _Static_assert(sizeof(double) == sizeof(uint64_t), "elements have one size");
    const double *at = figure_place(f, e->base);
    const char *names = (const char *)e->base + f->names;
    for (int i = f->from; i < length_of(f, e->base); i++) {
        char index[16];
        double v = number_at(f->type, at + i);
        if (f->flags & FIGURE_SPARSE && v == 0) continue;
        snprintf(index, sizeof index, "%d", i);
        sample(o, f, e->labels,
               f->words       ? f->words[i]
               : f->name_size ? names + (size_t)i * f->name_size
                              : index,
               v);
    }
}

/* The family of Prometheus' histogram: cumulative buckets, sum and count. */
static void histogram_samples(struct emit *o, const struct figure *f,
                              const struct figure_element *e)
{
    const uint64_t *at = figure_place(f, e->base);
    int n = (int)(f->size / sizeof *at) - 1;
    char name[FIGURE_LABELS], labels[2 * FIGURE_LABELS], bound[EMIT_DOUBLE];
    const char *comma = *e->labels ? "," : "";
    uint64_t below = 0;
    snprintf(name, sizeof name, "%s_bucket", f->metric);
    for (int i = 0; i <= n; i++) {
        below += at[i];
        if (i < n) emit_format_double(bound, f->bounds[i]);
        snprintf(labels, sizeof labels, "%s%sle=\"%s\"", e->labels, comma,
                 i < n ? bound : "+Inf");
        figure_sample(o, name, labels, (double)below);
    }
    const double *sum = field_member(e->base, f->sum);
    snprintf(name, sizeof name, "%s_sum", f->metric);
    figure_sample(o, name, e->labels, *sum);
    snprintf(name, sizeof name, "%s_count", f->metric);
    figure_sample(o, name, e->labels, (double)below);
}

static void put_samples(struct emit *o, const struct figure *f,
                        const struct figure_element *e)
{
    double v = 0;
    if (f->bounds) {
        histogram_samples(o, f, e);
        return;
    }
    switch (f->type) {
    case FIELD_REALS:
    case FIELD_COUNTS:
        array_samples(o, f, e);
        break;
    case FIELD_WORD:
        v = number_at(f->type, figure_place(f, e->base));
        for (int i = f->from; f->words[i]; i++)
            sample(o, f, e->labels, f->words[i], i == v);
        break;
    default:
        v = number_at(f->type, figure_place(f, e->base));
        sample(o, f, e->labels, f->word, v);
    }
}

static bool shown(const struct figure *f, const void *base)
{
    const char *when = (const char *)base + f->when;
    if (!f->when_size) return true;
    if (f->when_is) return *(const int *)(const void *)when == f->when_is;
    for (size_t i = 0; i < f->when_size; i++)
        if (when[i]) return true;
    return false;
}

void figure_put_each(struct emit *o, const struct figure *rows,
                     const struct figure_element *e, int n)
{
    for (const struct figure *f = rows; f->metric || f->json; f++) {
        if (!f->metric || (n && !shown(f, e[0].base))) continue;
        if (f->help) figure_head(o, f);
        for (int i = 0; i < n; i++)
            put_samples(o, f, &e[i]);
    }
}

void figure_put(struct emit *o, const struct figure *rows, const void *base)
{
    const struct figure_element e = {.base = base};
    figure_put_each(o, rows, &e, 1);
}

/* ---- JSON ---- */

static void json_array(struct emit *o, const struct figure *f, const void *base)
{
    const void *at = figure_place(f, base);
    int n = length_of(f, base);
    emit_open(o, '[');
    if (f->flags & FIGURE_USED)
        while (n > 0 && ((const uint64_t *)at)[n - 1] == 0)
            n--;
    for (int i = 0; i < n; i++)
        if (f->type == FIELD_NAMES)
            emit_string(o, (const char *)at + (size_t)i * f->size);
        else if (f->type == FIELD_COUNTS)
            emit_u64(o, ((const uint64_t *)at)[i]);
        else
            emit_double(o, ((const double *)at)[i]);
    emit_close(o, ']');
}

static void json_value(struct emit *o, const struct figure *f, const void *base)
{
    const void *at = figure_place(f, base);
    switch (f->type) {
    case FIELD_FLAG:
        emit_bool(o, *(const bool *)at);
        break;
    case FIELD_INT:
        emit_int(o, *(const int *)at);
        break;
    case FIELD_INT64:
        emit_int(o, *(const int64_t *)at);
        break;
    case FIELD_UINT64:
        emit_u64(o, *(const uint64_t *)at);
        break;
    case FIELD_REAL:
        if (f->flags & FIGURE_ROUNDED)
            emit_rounded(o, *(const double *)at);
        else
            emit_double(o, *(const double *)at);
        break;
    case FIELD_WORD:
        emit_string(o, f->words[*(const unsigned *)at]);
        break;
    case FIELD_TEXT:
        emit_string(o, *(const char *const *)at);
        break;
    case FIELD_CHARS:
        emit_string(o, at);
        break;
    default:
        json_array(o, f, base);
    }
}

void figure_json(struct emit *o, const struct figure *rows, const void *base)
{
    for (const struct figure *f = rows; f->metric || f->json; f++) {
        if (!f->json) continue;
        emit_key(o, f->json);
        json_value(o, f, base);
    }
}

/* ---- the reference ---- */

void figure_reference(struct emit *o, const struct figure *rows, const char *labels)
{
    for (const struct figure *f = rows; f->metric || f->json; f++) {
        if (!f->metric || !f->help) continue;
        emit_text(o, "| `%s` | %s | %s%s%s | %s |\n", f->metric, KINDS[f->kind], labels,
                  *labels && f->label ? ", " : "", f->label ? f->label : "", f->help);
    }
}
