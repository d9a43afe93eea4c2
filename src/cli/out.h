/* out.h - results as rows: an aligned table for people, CSV and JSON for programs.
 *
 *   struct out *o = out_new(&cfg, &e);
 *   for (...) {
 *       out_row(o);
 *       out_text(o, "policy", name);
 *       out_real(o, "mean_qoe", qoe, 3);
 *   }
 *   rc = out_finish(o, &e);      (table on stdout, files written)
 *
 * Columns appear in the order in which they were first named; a row need not have all of
 * them. The table rounds reals to the digits asked for; CSV and JSON carry 12 significant
 * digits. A value that is not finite is "-" in the table, empty in CSV, null in JSON; of a
 * text that is not UTF-8, as names of files may be, '?' stands for the bytes that are not.
 * JSON is one object, {"rows": [{...}, ...]}.
 *
 * When --csv or --json names "-", or stdout is taken by what the command writes elsewhere, that
 * alone goes to stdout: no table, and out_say goes to stderr. Files are written whole or not at all; that their folder exists is checked
 * at the start, before hours of work.
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
    bool taken;             /* stdout, by another option's "-" */
};

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
/* digits of the table: behind the point, or OUT_SHORT: five that count, as %.5g has them. */
#define OUT_SHORT (-2)
void out_real(struct out *o, const char *column, double value, int digits);

/* A line for people, beside the rows. */
void out_say(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --csv -, --json - or another's: standard output carries nothing else. */
bool out_takes_stdout(const struct out *o);

int out_finish(struct out *o, struct err *e) __attribute__((warn_unused_result));

#endif
