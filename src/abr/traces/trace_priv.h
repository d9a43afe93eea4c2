/* trace_priv.h - rows and cells, shared by the readers of trace.c and trace_set.c. */
#ifndef ABR_TRACE_PRIV_H
#define ABR_TRACE_PRIV_H

#include "abr/traces/trace.h"

/* The rows of a file that is being read. The arrays grow by doubling, up to TRACE_ROWS_MAX rows. */
struct trace_rows {
    const char *name; /* name of the file, for messages */
    int n, cap;
    double *time_s, *mbps;
    double rtt_s; /* < 0: the format does not state it */
};

/* Appends a row after two checks: its numbers are in range, and its time is not before that of the
 * last row. If line > 0, an error names the line. */
int trace_rows_add(struct trace_rows *rows, int line, double time_s, double mbps,
                   struct err *e);

/* Splits the line at the commas outside quotes. Removes blanks and quotes around each cell. Returns
 * the number of cells. A number above TRACE_CELLS means that the line has too many. */
enum { TRACE_CELLS = 64 };
int trace_split(char *cell[TRACE_CELLS], char *line);

/* Builds a trace from the rows and checks it (trace_check). NULL on failure. */
struct trace *trace_of_rows(const struct trace_rows *rows, const char *name,
                            struct err *e);

#endif
