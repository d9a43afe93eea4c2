/* trace_priv.h - what the readers of trace formats share. */
#ifndef ABR_TRACE_PRIV_H
#define ABR_TRACE_PRIV_H

#include "abr/traces/trace.h"

/* Rows gathered while a file is read; grows by doubling up to TRACE_ROWS_MAX. */
struct trace_rows {
    const char *name; /* of the file, for messages */
    int n, cap;
    double *time_s, *mbps;
    double rtt_s; /* < 0: the format does not say */
};

/* Appends a row after the checks that concern it alone and its order; e names the line
 * (0: the format has none). */
int trace_rows_add(struct trace_rows *rows, int line, double time_s, double mbps,
                   struct err *e);
/* One reader per format; text is (len) bytes behind any byte order mark. */
int trace_read_pensieve(struct trace_rows *rows, const char *text, size_t len,
                        struct err *e);
int trace_read_mahimahi(struct trace_rows *rows, const char *text, size_t len,
                        struct err *e);
int trace_read_csv(struct trace_rows *rows, const char *text, size_t len, struct err *e);
int trace_read_mobile(struct trace_rows *rows, const char *text, size_t len,
                      struct err *e);
/* Sets rows->rtt_s when every period states a latency. */
int sabre_read_trace(struct trace_rows *rows, const char *text, size_t len,
                     struct err *e);

/* The lines of a text, one at a time as NUL-terminated copies. */
struct trace_lines {
    const char *at, *end;
    int number; /* of the current line, from 1 */
    char line[1024];
};

/* 1: a line that is not blank is in l->line, 0: there is none, < 0: refused. */
int trace_next_line(struct trace_lines *l, const char *name, struct err *e);

/* Cuts the line at its commas outside quotes; blanks and quotes around a cell go. Returns the
 * number of cells, more than TRACE_CELLS when there are too many. */
enum { TRACE_CELLS = 64 };
int trace_split(char *cell[TRACE_CELLS], char *line);

/* Gathered rows as a trace that passes trace_check; NULL on failure. */
struct trace *trace_of_rows(const struct trace_rows *rows, const char *name,
                            struct err *e);

#endif
