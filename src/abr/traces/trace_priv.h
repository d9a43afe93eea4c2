/* trace_priv.h - rows and cells, shared by the readers of trace.c and trace_set.c. */
#ifndef ABR_TRACE_PRIV_H
#define ABR_TRACE_PRIV_H

#include "abr/traces/trace.h"

/* The rows of a file that is being read. Grows by doubling, up to TRACE_ROWS_MAX. */
struct trace_rows {
    const char *name; /* of the file, for messages */
    int n, cap;
    double *time_s, *mbps;
    double rtt_s; /* < 0: the format does not state it */
};

/* Checks the row and the order of the rows, and appends it. An error names the line, if line > 0. */
int trace_rows_add(struct trace_rows *rows, int line, double time_s, double mbps,
                   struct err *e);

/* Cuts the line at the commas outside quotes and removes blanks and quotes around each cell. Returns
 * the number of cells, more than TRACE_CELLS when there are too many. */
enum { TRACE_CELLS = 64 };
int trace_split(char *cell[TRACE_CELLS], char *line);

/* Makes a trace of the rows and checks it (trace_check). NULL on failure. */
struct trace *trace_of_rows(const struct trace_rows *rows, const char *name,
                            struct err *e);

#endif
