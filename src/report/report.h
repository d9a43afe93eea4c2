/* report.h - what an experiment found, as one self-contained page, a CSV file and a JSON file.
 *
 *   struct report *r = report_new("shift", "Plasticity under shift", &e);
 *   report_param_int(r, "seeds", 10);
 *   report_summary(r, "%s loses least of what it learned.", best);
 *   report_text(r, "Each run is %d steps.", steps);
 *
 *   report_table(r, "Claims");
 *   report_row(r);
 *   report_cell(r, "claim", "effective rank");
 *   report_interval(r, "ours", 1.6, 1.4, 1.8, 2);
 *   report_verdict(r, "verdict", REPORT_PASS);
 *
 *   report_figure(r, "fig1", "QoE over time", "Mean of 10 seeds, 95 % bands.");
 *   report_panel(r, &(struct report_panel){.title = "documentary",
 *       .x = {.label = "steps"}, .y = {.label = "QoE per chunk"}});
 *   report_rule(r, 'x', 2e5, "shift");
 *   report_series(r, &(struct report_series){.name = "pamoe", .n = n, .x = x, .y = y,
 *                                            .lo = lo, .hi = hi});
 *   report_check(r, "effective rank, pamoe / moe", ratio, 1.4, INFINITY);
 *   rc = report_write(r, dir, &assets, &e);
 *
 * Everything is appended: rows and cells to the last table, series and rules to the last panel, panels
 * to the last figure. The panels of a figure stand side by side (small multiples). A series of the same
 * name has the same colour in all panels, and where possible in the whole report. The colours are those
 * of Okabe and Ito, which colour-blind readers can tell apart. After seven in one figure they repeat,
 * dashed.
 *
 * report_write makes in dir, which exists:
 *   NAME.html   opens from disk, needs no network; charts by uPlot, whose text the caller passes
 *   NAME.csv    figure,panel,series,x,y,lo,hi: every number that is drawn
 *   NAME.json   {"name", "title", "summary", "parameters": {}, "checks": [{name, value, low, high, pass}],
 *                "claims": {verdict: number},
 *                "tables": [{title, columns, rows: [{}]}]}
 *   index.html  the list of all reports whose JSON lies in dir
 * Each file is written whole or not at all, with the same bytes for the same content. Numbers have 12
 * significant digits in CSV and JSON. A number that is not finite is a gap in a chart, "-" in the page,
 * empty in CSV and null in JSON.
 *
 * Errors: report_new ERR_MEMORY; report_write ERR_MEMORY (also when memory ran out before), ERR_IO,
 * ERR_INVALID (an asset that would end its own element).
 * Ownership: texts are plain, copied, and escaped when they are printed. Nothing is borrowed past the
 * call.
 * Threads: not shared. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

#define REPORT_ADD(f, a) __attribute__((format(printf, f, a)))

struct report;

/* name: letters, digits, '-' and '_', the files' name. */
struct report *report_new(const char *name, const char *title, struct err *e);
void report_free(struct report *r);

/* ---- words ---- */

/* A parameter of the experiment: command, version, seeds, steps, ... Parameters are shown at the top, in
 * this order. The same key again replaces the value. */
void report_param(struct report *r, const char *key, const char *fmt, ...)
    REPORT_ADD(3, 4);
void report_param_int(struct report *r, const char *key, int64_t value);
void report_param_real(struct report *r, const char *key, double value);

/* The sentence that the report begins with: what was found. Without it the sentence follows from the
 * tables: the winner of report_best, else the verdicts, else the checks. */
void report_summary(struct report *r, const char *fmt, ...) REPORT_ADD(2, 3);

void report_heading(struct report *r, const char *fmt, ...) REPORT_ADD(2, 3);
void report_text(struct report *r, const char *fmt, ...) REPORT_ADD(2, 3);

/* ---- tables ---- */

enum report_verdict {
    REPORT_PASS,     /* as claimed */
    REPORT_SHORT,    /* the same direction, less of it */
    REPORT_DIFFERS,  /* not as claimed */
    REPORT_UNTESTED, /* too few runs to tell, or the claim has no number */
};
#define REPORT_VERDICTS 4

/* Marks the row of the last table that has the best value in the column, among the rows with the same
 * text in the column `within` (NULL: among all). A row whose interval holds the best value is marked, too:
 * "overlaps". That says less than an interval of the difference. higher: whether more is better. */
void report_best(struct report *r, const char *column, bool higher, const char *within);

/* The last row is a bound, not a contender: it is never the best. */
void report_bound(struct report *r);

#define REPORT_COLUMN 48 /* bytes of a column's name, its end included */

/* Columns appear in the order in which they were first named; a row need not have all. */
void report_table(struct report *r, const char *title);
void report_row(struct report *r);
void report_cell(struct report *r, const char *column, const char *fmt, ...)
    REPORT_ADD(3, 4);
void report_int(struct report *r, const char *column, int64_t value);
/* digits: behind the point, in the page and on the terminal */
void report_real(struct report *r, const char *column, double value, int digits);
void report_interval(struct report *r, const char *column, double value, double lo,
                     double hi, int digits);
void report_verdict(struct report *r, const char *column, enum report_verdict v);

/* ---- charts ---- */

/* id: letters, digits, '-' and '_'; the CSV's first column and the page's anchor. caption may be
 * NULL. */
void report_figure(struct report *r, const char *id, const char *title,
                   const char *caption);

struct report_axis {
    const char *label; /* what it shows and its unit; every axis has one */
    bool log;          /* base 10; values <= 0 are gaps */
    double lo, hi;     /* both 0: from the data */
};

struct report_panel {
    const char *title; /* NULL when the figure has one panel */
    struct report_axis x, y;
    const char *const
        *category; /* names of x = 0 .. categories - 1; NULL: x is a number */
    int categories;
};
void report_panel(struct report *r, const struct report_panel *p);

enum report_kind {
    REPORT_LINE,
    REPORT_DASHED, /* a bound, a closed form, another's curve */
    REPORT_POINTS,
    REPORT_BARS, /* side by side when a panel has several series; bars begin at 0 */
};

struct report_series {
    const char *name;
    enum report_kind kind;
    int n;
    const double *x; /* (n), ascending; NULL: 0 .. n - 1 */
    const double *y;
    const double *lo, *hi; /* (n) each or NULL: a band, or whiskers on points and bars */
};
void report_series(struct report *r, const struct report_series *s);

/* A thin line across the panel at x or y = at: a shift, a threshold. label may be NULL. */
void report_rule(struct report *r, char axis, double at, const char *label);

/* ---- checks ---- */

/* Passes when low <= value <= high; -INFINITY and INFINITY leave a side open. A value that is not a
 * number fails. Returns whether it passed. */
bool report_check(struct report *r, const char *name, double value, double low,
                  double high);
int report_checks(const struct report *r);
int report_checks_failed(const struct report *r);

/* Verdicts of all tables: what became of the paper's claims. A check is ours, and says that the lab
 * works or that the product keeps a promise; it is not a claim of the paper. */
struct report_claims {
    int n[REPORT_VERDICTS];
};
struct report_claims report_claims(const struct report *r);
#define REPORT_CLAIMS_WORDS 120
/* "the paper's claims: 5 hold, 2 in part, 1 differ"; false if there are none. */
bool report_claims_say(char out[REPORT_CLAIMS_WORDS], const struct report_claims *c);

/* ---- reading back, for the terminal ---- */

int report_tables(const struct report *r);
/* The text of a cell; NULL when it is empty. It is valid until the next call with the same buf. Rows and
 * columns count from 0. report_column returns NULL past the last column. */
const char *report_column(const struct report *r, int table, int column);
int report_rows(const struct report *r, int table);
const char *report_shown(char buf[64], const struct report *r, int table, int row,
                         int column);
struct report_check {
    const char *name;
    double value, low, high;
    bool pass;
};
struct report_check report_check_at(const struct report *r, int i);

/* ---- files ---- */

struct report_assets {
    const char *uplot_js, *uplot_css; /* of uPlot 1.6: uPlot.iife.min.js, uPlot.min.css */
    const char *page_js, *page_css;   /* of the report: web/report */
};

int report_write(const struct report *r, const char *dir, const struct report_assets *a,
                 struct err *e) __attribute__((warn_unused_result));
/* The same without index.html, for a folder with other files. */
int report_write_alone(const struct report *r, const char *dir,
                       const struct report_assets *a, struct err *e)
    __attribute__((warn_unused_result));

#endif
