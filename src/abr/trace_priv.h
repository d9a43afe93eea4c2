/* trace_priv.h - what the readers of trace formats share. */
#ifndef ABR_TRACE_PRIV_H
#define ABR_TRACE_PRIV_H

#include "abr/trace.h"

/* Rows gathered while a file is read; grows by doubling up to TRACE_ROWS_MAX. */
struct trace_rows {
    const char *name; /* of the file, for messages */
    int n, cap;
    double *time_s, *mbps;
    double rtt_s; /* < 0: the format does not say */
};

/* Appends a row after the checks that concern it alone and its order; e names the line.
 */
/* line 0: the format has none. */
int trace_rows_add(struct trace_rows *rows, int line, double time_s, double mbps,
                   struct err *e);
/* One reader per format; text is (len) bytes behind any byte order mark. */
int trace_read_pensieve(struct trace_rows *rows, const char *text, size_t len,
                        struct err *e);
int trace_read_mahimahi(struct trace_rows *rows, const char *text, size_t len,
                        struct err *e);
int trace_read_csv(struct trace_rows *rows, const char *text, size_t len, struct err *e);
/* Sets rows->rtt_s when every period states a latency. */
int sabre_read_trace(struct trace_rows *rows, const char *text, size_t len,
                     struct err *e);

#endif
