/* trace_priv.h - what the readers of trace formats share. */
#ifndef ABR_TRACE_PRIV_H
#define ABR_TRACE_PRIV_H

#include "abr/trace.h"

/* Rows gathered while a file is read; grows by doubling up to TRACE_ROWS_MAX. */
struct trace_rows {
    const char *name; /* of the file, for messages */
    int n, cap;
    double *time_s, *mbps;
};

/* Appends a row after the checks that concern it alone and its order; e names the line.
 */
int trace_rows_add(struct trace_rows *rows, int line, double time_s, double mbps,
                   struct err *e);
/* Records a refusal at name:line (line 0: the whole file), the name cut to fit. */
int trace_refuse(const char *name, int line, int code, struct err *e, const char *fmt,
                 ...) __attribute__((format(printf, 5, 6)));

/* One reader per format: text is (len) bytes behind any byte order mark. */
int trace_read_pensieve(struct trace_rows *rows, const char *text, size_t len,
                        struct err *e);

#endif
