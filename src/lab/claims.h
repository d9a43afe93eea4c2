/* claims.h - figures, claims and checks of a lab as const tables, with one drawer and one judge.
 *
 *   static const struct claims_claim CLAIMS[] = {
 *       {.text = "a prefix over none, FA", .paper = "-", .rule = CLAIMS_SIGN,
 *        .of = {{CLAIMS_GAP, FA, PREFIX, FROZEN}}, .digits = 1},
 *       {.text = "gate gaps (Prop. 7)", .paper = "inside below between", .rule = CLAIMS_BELOW,
 *        .of = {{CLAIMS_MEAN, INSIDE, STOP}, {CLAIMS_MEAN, ACROSS, STOP}},
 *        .claimed = 0.5, .pass_by = 1, .short_by = 1, .ours = "#2 inside, #2 between"},
 *   };
 *   static const struct claims_columns COLUMNS = {
 *       .text = "claim", .paper = "paper", .ours = "ours", .verdict = "verdict"};
 *   claims_judge(&lab, &COLUMNS, CLAIMS, CLAIMS_COUNT(CLAIMS));
 *
 * A lab measures arms. An arm is one configuration, repeated; its numbers are columns. A table names
 * a number by kind, column and one or two arms; the lab's `measure` computes it. The judge and the
 * drawer know nothing else of a lab.
 *
 * Arms may lie in a grid: rows (a rule, a method) of `sizes` arms each (a number of experts). A panel
 * then stands for one panel per size, or for one panel with a curve per size (enum claims_each).
 *
 * Ownership: tables are borrowed during the call. Threads: as report.h. */
#ifndef LAB_CLAIMS_H
#define LAB_CLAIMS_H

#include "base/stats.h"
#include "report/report.h"

#include <math.h>

#define CLAIMS_COUNT(table) ((int)(sizeof(table) / sizeof *(table)))

/* ---- numbers ---- */

enum claims_kind {
    CLAIMS_NONE,
    CLAIMS_MEAN,  /* of arm a */
    CLAIMS_GAP,   /* arm a minus arm b, paired */
    CLAIMS_RATIO, /* arm a over arm b, paired */
    CLAIMS_OWN,   /* from here on a lab's own kinds */
};

struct claims_number {
    int kind, column, a, b;
};

struct claims_curve {
    const char *name; /* NULL with CLAIMS_CURVES: that of the size */
    enum report_kind kind;
    int column, arm; /* arm: a row of the grid when the lab has sizes */
};

struct claims_lab {
    struct report *report;
    const void *self;
    const char *prefix; /* of the checks' names; NULL: none */
    /* The number with its 95 % interval; all NaN when it was not measured. */
    struct stats_interval (*measure)(const void *self, struct claims_number n);

    /* ---- for figures */
    int sizes; /* arms per row of the grid; 0 when the lab has none */
    const char *(*size_name)(char out[32], const void *self, int size);
    /* Adds one series to the last panel; adds nothing when the arm was not measured. */
    void (*curve)(const void *self, const struct claims_curve *c, const char *name,
                  int arm);
    /* Adds the rules of the last panel; mark is the panel's. May be NULL. */
    void (*mark)(const void *self, int mark, int size);
    /* Whether a size ran at all: one that did not has no panel. NULL: all did. */
    bool (*ran)(const void *self, int size);
};

/* ---- claims ---- */

enum claims_rule {
    /* By the interval of the first number. */
    CLAIMS_EFFECT, /* claims_effect with `claimed` and `even` */
    CLAIMS_SIGN, /* above 0: pass; below 0: differs; else short; no interval: untested */
    /* the interval at least `claimed`: pass; the mean: short; else differs; no interval: untested */
    CLAIMS_SURE,
    /* By the means: pass when the first number is below the limit (or at least the limit). The limit
     * is `claimed`, or `claimed` times number `pass_by`. If it does not pass: short when it is on the
     * right side of number `short_by`, or always with CLAIMS_ALWAYS; else differs. */
    CLAIMS_BELOW,
    CLAIMS_AT_LEAST,
};

#define CLAIMS_ALWAYS (-1)
#define CLAIMS_NUMBERS 3

struct claims_claim {
    const char *text, *where, *paper; /* where: section or figure */
    const char *published;            /* what the paper's published data say; NULL: "-" */
    struct claims_number of[CLAIMS_NUMBERS];
    enum claims_rule rule;
    double claimed, even;
    int pass_by, short_by; /* index into `of`; 0: none */
    int digits;            /* of an interval */
    const char *ours; /* words around the means: see claims_fill; NULL: the interval */
};

/* The initialiser of a claim by means (CLAIMS_BELOW, CLAIMS_AT_LEAST); last its numbers. */
#define CLAIMS_LIMIT(text, paper, rule, claimed, pass_by, short_by, ours, ...)          \
    {                                                                                   \
        text, NULL, paper, NULL, {__VA_ARGS__}, rule, claimed, 0, pass_by, short_by, 0, \
            ours                                                                        \
    }
#define CLAIMS_MEAN_OF(column, arm) \
    {                               \
        CLAIMS_MEAN, column, arm, 0 \
    }

/* Names of the table's columns, which appear in this order; NULL leaves one out. */
struct claims_columns {
    const char *text, *where, *paper, *published, *ours, *verdict;
    bool verdict_first; /* before `ours` */
    bool measured_only; /* leaves out claims whose first number is NaN */
    bool untested;      /* too few runs for a verdict */
    bool missing_shown; /* the number of such a claim is "-" instead of an empty cell */
    double scale;       /* of an interval, 100 for percent; 0 means 1 */
};

/* One row per claim, in the report's last table. */
void claims_judge(const struct claims_lab *l, const struct claims_columns *c,
                  const struct claims_claim *claim, int n);
/* The two halves of a row, for a table that answers a claim several times. */
void claims_row(struct report *r, const struct claims_columns *c,
                const struct claims_claim *claim);
void claims_answer(const struct claims_lab *l, const struct claims_columns *c,
                   const struct claims_claim *claim);

/* Verdict on "at least `claimed`" where `even` means no effect: as claimed, the same direction but
 * less, or not. claimed < even: "at most". Untested without an interval. */
enum report_verdict claims_effect(struct stats_interval ours, double claimed,
                                  double even);

/* Replaces each "#N" by the next value with N decimals, "#N%" by 100 times the value and " %". */
void claims_fill(char *out, int size, const char *words, const double *value, int n);

/* ---- checks ---- */

enum claims_side { CLAIMS_OF_MEAN, CLAIMS_OF_LOWER, CLAIMS_OF_UPPER };

struct claims_check {
    const char *name;
    struct claims_number of;
    enum claims_side side; /* which end of the interval must lie within low .. high */
    double low, high;
};

/* The initialiser of a check that the interval's upper end is at most 0. */
#define CLAIMS_NEGATIVE(name, kind, column, a, b)                 \
    {                                                             \
        name, {kind, column, a, b}, CLAIMS_OF_UPPER, -INFINITY, 0 \
    }

void claims_check(const struct claims_lab *l, const struct claims_check *check, int n);
/* The same for one size: arms are rows of the grid, and '@' in a name becomes the size's name. */
void claims_check_size(const struct claims_lab *l, const struct claims_check *check,
                       int n, int size);

/* ---- tables of arms ---- */

struct claims_field {
    const char *column;
    struct claims_number of; /* of the row's arm, which becomes its `a` */
    enum { CLAIMS_INTERVAL, CLAIMS_REAL, CLAIMS_PERCENT } as;
    int digits;
};

/* The cells of one arm, in the report's last row. */
void claims_fields(const struct claims_lab *l, const struct claims_field *field, int n,
                   int arm);

/* ---- figures ---- */

/* Two initialisers, for a pointer and the count that follows it:
 *   .curve = CLAIMS_ALL(claims_curve, {"measured", REPORT_LINE, ERROR, STOP}, {...}) */
#define CLAIMS_ALL(type, ...)           \
    (const struct type[]){__VA_ARGS__}, \
        (int)(sizeof((const struct type[]){__VA_ARGS__}) / sizeof(struct type))

enum claims_each {
    CLAIMS_ONE,    /* the panel as it is; a curve's arm is an arm */
    CLAIMS_PANELS, /* a panel per size; a curve's arm is a row */
    CLAIMS_CURVES, /* one panel; each curve once per size */
};

struct claims_panel {
    const char *title; /* NULL with CLAIMS_PANELS: the size's name */
    struct report_axis x, y;
    enum claims_each each;
    int from; /* first size */
    const struct claims_curve *curve;
    int curves;
    int mark; /* for the lab's `mark`; 0: none */
};

struct claims_figure {
    const char *heading; /* opens a section before the figure; NULL: none */
    const char *id, *title, *caption;
    const struct claims_panel *panel;
    int panels;
};

void claims_draw(const struct claims_lab *l, const struct claims_figure *figure, int n);

/* The intervals x (n) as one series of the last panel; at (n) or NULL as in struct report_series. */
void claims_points(struct report *r, const char *name, enum report_kind kind,
                   const double *at, const struct stats_interval *x, int n);

/* A series of bars: the mean of a column of the row's arms, size by size from `from` on. */
void claims_bars(const struct claims_lab *l, const char *name, int row, int from,
                 int column);

/* x times scale: with its interval, or the mean alone when there is no interval. */
void claims_show(struct report *r, const char *column, struct stats_interval x,
                 double scale, int digits);

/* report_interval of a struct stats_interval. */
void claims_cell(struct report *r, const char *column, struct stats_interval x,
                 int digits);

#endif
