/* trace_set.h - log files that hold many sessions, as one trace each.
 *
 * Formats, recognised by the columns that the first line names, in any order. The FCC published some
 * files without that line, for example curr_webget_2016_01.csv. They are recognised by their number
 * of columns and a time in the second one. Their columns are in the order of the FCC's data
 * dictionaries, with or without the last one, location_id.
 *   - FCC webget: curr_webget*.csv of Measuring Broadband America's raw data (unit_id, target,
 *     bytes_sec, ...). A session is what one unit fetched from one target, in the file's order. A row
 *     is a slot of 5 s at bytes_sec, as in the corpora made from it (Mao et al., SIGCOMM 2017,
 *     Sec. 5.1).
 *   - FCC httpgetmt: curr_httpgetmt*.csv (unit_id, target, fetch_time [us], bytes_sec_interval,
 *     sequence, ...). A row is an interval of a test. fetch_time counts from the test's start, so a
 *     slot begins at the fetch_time of the sequence number before. A row without that one is skipped.
 *   - Puffer: video_sent_X.csv, with video_acked_X.csv in the same folder (session_id, index,
 *     video_ts, size, "time (ns GMT)", ...). A session is one stream (session_id and index). A chunk
 *     is a slot that ends when it was acknowledged, with its size over the time since it was sent.
 *     The pause before a chunk belongs to its slot. Chunks without an acknowledgement are skipped.
 *   - Lumos5G: Lumos5G-v1.0.csv (run_num, seq_num, Throughput [Mbit/s], optionally mobility_mode and
 *     trajectory_direction). A session is a run, a row its next second.
 * Rows of failed tests (successes is 0) and rows whose throughput is empty or NaN are skipped.
 * Files of any size are read line by line. Limits: 2e7 rows and 1e6 sessions are kept, a line has at
 * most 4095 bytes.
 *
 * Errors: ERR_IO, ERR_ABSENT (no session is long enough; the file of acknowledgements is missing),
 * ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is "file:line", the detail names the column.
 * Ownership: trace_set_free releases the traces, also after a failure.
 * Threads: not shared. */
#ifndef ABR_TRACE_SET_H
#define ABR_TRACE_SET_H

#include "abr/traces/trace.h"

#include <stdbool.h>

struct trace_set_cfg {
    double min_s;     /* shorter sessions are left out; default 60 */
    int first;        /* number of the first session in the names of traces; default 0 */
    int max;          /* keep this many of the long enough sessions; default 10000 */
    int64_t max_rows; /* over all sessions; 0: 2e7 */
    void (*progress)(void *ctx, double share); /* of the file's bytes; may be NULL */
    void *progress_ctx;
};

struct trace_set_cfg trace_set_cfg_default(void);

struct trace_set {
    const char *format; /* "FCC webget", ... */
    int n;
    struct trace **traces; /* (n); names are of letters, digits, '.', '_' and '-' */
    int sessions;          /* in the file; those without a trace are too short or empty */
};

/* The format of a file with this first line; NULL when it is no log of many sessions. */
const char *trace_set_format(const char *first);

/* *out is overwritten. cfg may be NULL. */
int trace_set_load(struct trace_set *out, const char *path,
                   const struct trace_set_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* From memory. acked: the text of Puffer's second file, or NULL. */
int trace_set_parse(struct trace_set *out, const char *text, const char *acked,
                    const char *name, const struct trace_set_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void trace_set_free(struct trace_set *s);

/* Whether the file is a log of many sessions, by its first line. */
bool trace_set_is(const char *path);

#endif
