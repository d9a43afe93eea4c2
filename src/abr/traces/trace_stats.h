/* trace_stats.h - statistics of a trace, or of a set of traces.
 *
 * Everything is weighted by time: a slot of 5 s counts five times as much as a slot of 1 s, so traces
 * with different slots are comparable. Row 0 only marks the start and does not count.
 *
 * Threads: pure functions. */
#ifndef ABR_TRACE_STATS_H
#define ABR_TRACE_STATS_H

#include "abr/traces/trace.h"

struct trace_stats {
    int64_t slots;
    double duration_s;
    double mean, p5, p50, p95; /* Mbit/s; p50: half of the time is at or below it */
    double cv;                 /* standard deviation / mean */
    double zero_share;         /* of the time, 0 .. 1 */
};

/* Over n >= 1 traces together. Errors: ERR_MEMORY. */
int trace_stats(struct trace_stats *out, struct trace *const *traces, int n,
                struct err *e) __attribute__((warn_unused_result));

#endif
