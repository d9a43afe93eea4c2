/* figure.h - a table of figures: one row declares a member of a struct for /metrics and for JSON.
 *
 *   static const struct figure FIGURES[] = {
 *       {"abrd_sessions_live", "sessions_live", FIGURE_GAUGE, "Live sessions.",
 *        FIELD(struct service_stats, sessions_live)},
 *       {0},
 *   };
 *
 * To add a figure, add a member, its row, and the line that counts. figure_put writes the samples of
 * /metrics (Prometheus' text format 0.0.4), figure_json the members of a JSON object, figure_reference
 * the table of deploy/REFERENCE.md. If a value needs arithmetic, the function that fills the struct
 * computes it.
 *
 * Rows of one family are adjacent, and only the first has a help text. The type of a row is the type of
 * its member (base/field.h):
 *
 *   a number, a bool           one sample; `label` and `word` make it label="word"
 *   an enum                    one sample for each of `words`: 1 for the current value, else 0
 *   double[n], uint64_t[n]     one sample per element, with label="word of the element" or its index
 *   uint64_t[n + 1], `bounds`  a histogram: counts up to each of n bounds, and above the last one;
 *                              `sum` is the place of the values' sum. JSON has the counts
 *   char[n], const char *      JSON only
 *   FIELD_NAMES                JSON only: an array of strings
 *
 * Threads: pure functions. */
#ifndef SERVE_FIGURE_H
#define SERVE_FIGURE_H

#include "base/field.h"

struct emit;

#define FIGURE_LABELS 128 /* bytes within the braces */

enum figure_kind { FIGURE_GAUGE, FIGURE_COUNTER, FIGURE_HISTOGRAM };

enum {
    FIGURE_ROUNDED = 1 << 0, /* JSON: rounded to six decimals */
    FIGURE_SPARSE = 1 << 1,  /* /metrics: without elements that are 0 */
    FIGURE_USED = 1 << 2,    /* JSON: without trailing elements that are 0 */
};

struct figure {
    const char *metric; /* NULL: not in /metrics */
    const char *json;   /* NULL: not in JSON */
    enum figure_kind kind;
    const char *help; /* NULL: same family as the row before */
    enum field_type type;
    size_t at, size;          /* place in the struct; bytes */
    const char *label, *word; /* label="word" */
    const char *const *words; /* of an enum, or of the elements; ended by NULL */
    int from;                 /* index of the first element or word shown */
    size_t count; /* an array: FIELD_PLACE of its length, an int; 0: all elements */
    const double *bounds; /* of a histogram, ascending */
    size_t sum;           /* of a histogram: FIELD_PLACE of a double */
    size_t names,
        name_size; /* an array: place of the elements' words, char[n][name_size] */
    /* shown in /metrics only if the member at `when` is not 0 or, with when_is, equals it; 0: always */
    size_t when, when_size;
    int when_is;
    unsigned flags;
};

#define FIGURE_WHEN(tag, member) \
    .when = offsetof(tag, member), .when_size = sizeof(((tag *)0)->member)

/* One of several structs that the same rows describe. */
struct figure_element {
    char labels[FIGURE_LABELS]; /* profile="live"; "": none */
    const void *base;
};

/* The lines HELP and TYPE. */
void figure_head(struct emit *o, const struct figure *f);
/* The line name{labels} v; labels without braces, may be "". */
void figure_sample(struct emit *o, const char *name, const char *labels, double v);

void figure_put(struct emit *o, const struct figure *rows, const void *base);
/* The families over n structs; n = 0: only their heads. The first struct decides `when`. */
void figure_put_each(struct emit *o, const struct figure *rows,
                     const struct figure_element *e, int n);

/* Members of an open JSON object. */
void figure_json(struct emit *o, const struct figure *rows, const void *base);

/* Rows of a Markdown table, metric | type | labels | help. labels: of the elements, "": none. */
void figure_reference(struct emit *o, const struct figure *rows, const char *labels);

#endif
