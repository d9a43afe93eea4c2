/* out.h - results as rows: an aligned table for people, CSV and JSON for programs.
 *
 *   struct out *o = out_new(&cfg, &e);
 *   for (...) {
 *       out_row(o);
 *       out_cells(o, "policy=%s n=%d mean_qoe=%.3f", name, n, qoe);
 *   }
 *   rc = out_finish(o, &e);      (table on stdout, files written)
 *
 * Columns appear in the order in which they were first named; a row need not have all of them. The
 * table rounds reals to the given digits; CSV and JSON carry 12 significant digits. A value that is not
 * finite is "-" in the table, empty in CSV, null in JSON. On a terminal (term.h) the titles are bold,
 * verdicts ("ok", "fail") have a colour, and the last column is folded at the edge. '?' replaces bytes that
 * are not UTF-8, which names of files may contain. JSON is one object, {"rows": [{...}, ...]}.
 *
 * A command with many columns gives its rows brief cells as well (out_brief). The table then consists
 * of these, without the rows that have none. With --wide it consists of the columns. CSV and JSON have
 * all columns and no brief cells.
 *
 * If --csv or --json is "-", or another option writes to stdout, nothing else goes to stdout: there is
 * no table, and out_say writes to stderr. Files are written completely or not at all. out_new checks
 * that their folder exists, before hours of work.
 *
 * Errors: out_new ERR_INVALID (both are "-"), ERR_IO, ERR_MEMORY; out_finish ERR_IO,
 * ERR_MEMORY (also when memory ran out while rows were added).
 * Threads: not shared. */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct out_cfg {
    const char *csv, *json; /* file, "-" for stdout, NULL for none */
    bool taken;             /* another option writes to stdout */
    bool wide;              /* the table has all columns */
};

/* for commands with brief cells */
#define OUT_WIDE(cfg)                                                                   \
    {                                                                                   \
        "wide", NULL, "print all columns, as in --csv and --json", FIELD_TO((cfg).wide) \
    }

/* the two options for a command's table (cli/opt.h) */
#define OUT_OPTIONS(cfg)                                                          \
    {"csv", "FILE", "file for the rows as CSV; - is standard output",             \
     FIELD_TO((cfg).csv), .flags = FIELD_OUTPUT},                                 \
    {                                                                             \
        "json", "FILE",                                                           \
            "file for the rows as JSON, {\"rows\": [...]}; - is standard output", \
            FIELD_TO((cfg).json), .flags = FIELD_OUTPUT                           \
    }

struct out;

struct out *out_new(const struct out_cfg *cfg, struct err *e);
void out_free(struct out *o);

void out_row(struct out *o); /* begins a row */
void out_text(struct out *o, const char *column, const char *value);
void out_int(struct out *o, const char *column, int64_t value);
/* digits of the table: behind the point, or OUT_SHORT: five significant ones, as %.5g. */
#define OUT_SHORT (-2)
void out_real(struct out *o, const char *column, double value, int digits);

/* Several cells at once. Each is a column, '=' and a conversion: %s, %d, %ld, %lld, or %.Nf with the
 * digits of the table; spaces between: "policy=%s n=%d mean_qoe=%.3f". */
void out_cells(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Three columns: NAME, NAME_lo and NAME_hi. */
void out_interval(struct out *o, const char *column, double mean, double lo, double hi,
                  int digits);

/* A cell of the brief table, as it is printed. left: aligned to the left, as text is. A row without a
 * cell under a title has "-" there. */
void out_brief(struct out *o, const char *title, bool left, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* A line for people, next to the rows. */
void out_say(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --csv -, --json - or another option: standard output carries nothing else. */
bool out_takes_stdout(const struct out *o);

int out_finish(struct out *o, struct err *e) __attribute__((warn_unused_result));

#endif
