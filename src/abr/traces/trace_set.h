/* trace_set.h - log files that hold many sessions, as one trace each.
 *
 * Formats, found by the columns that the first line names (their order does not matter). Some
 * files of the FCC were published without that line, curr_webget_2016_01.csv among them: they
 * are found by how many columns they have, with the time in the second one, and read in the order
 * of the FCC's data dictionaries, with or without the last column, location_id.
 *   - FCC webget: curr_webget*.csv of Measuring Broadband America's raw data (unit_id, target,
 *     bytes_sec, ...). A session is what one unit fetched from one target, in the file's
 *     order; a row is a slot of 5 s at bytes_sec, as the corpora made of it read it (Mao et
 *     al., SIGCOMM 2017, Sec. 5.1);
 *   - FCC httpgetmt: curr_httpgetmt*.csv (unit_id, target, fetch_time [us], bytes_sec_interval,
 *     sequence, ...). A row is an interval of a test; fetch_time counts from the test's start,
 *     so a slot lasts from that of the sequence number before. A row whose interval before is
 *     missing is passed over;
 *   - Puffer: video_sent_X.csv, with video_acked_X.csv beside it (session_id, index, video_ts,
 *     size, "time (ns GMT)", ...). A session is one stream (session_id and index); a chunk is
 *     a slot that ends when it was acknowledged, at its size over the time since it was sent.
 *     The pause before a chunk counts as part of its slot. Chunks that were never
 *     acknowledged are passed over;
 *   - Lumos5G: Lumos5G-v1.0.csv (run_num, seq_num, Throughput [Mbit/s], and where they are
 *     there mobility_mode and trajectory_direction). A session is a run, a row its next
 *     second.
 * Rows of tests that failed (successes is 0) and rows whose throughput is empty or NaN are
 * passed over.
 * Files are read line by line, of any size; what is kept of them is limited to 2e7 rows and
 * 1e6 sessions, a line to 4095 bytes.
 *
 * Ownership: trace_set_free releases the traces; also after a failure.
 * Errors: ERR_IO, ERR_ABSENT (no session is long enough; the file of acknowledgements is
 * missing), ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is "file:line", the detail names the
 * column.
 * Threads: not shared. */
#ifndef ABR_TRACE_SET_H
#define ABR_TRACE_SET_H

#include "abr/traces/trace.h"

#include <stdbool.h>

struct trace_set_cfg {
    double min_s;     /* 60; shorter sessions are left out */
    int max;          /* 10000; the first so many sessions that are long enough */
    int64_t max_rows; /* of all sessions; 0: 2e7 */
    void (*progress)(void *ctx, double share); /* of the file's bytes; may be NULL */
    void *progress_ctx;
};

struct trace_set_cfg trace_set_cfg_default(void);

struct trace_set {
    const char *format; /* "FCC webget", ... */
    int n;
    struct trace **traces; /* (n); names are of letters, digits, '.', '_' and '-' */
    int sessions; /* in the file; those that are no trace are too short or empty */
};

/* What a file with this first line is; NULL when it is no log of many sessions. */
const char *trace_set_format(const char *first);

/* *out is overwritten. cfg may be NULL. */
int trace_set_load(struct trace_set *out, const char *path,
                   const struct trace_set_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* From memory; acked is the text of Puffer's other file, NULL for none. */
int trace_set_parse(struct trace_set *out, const char *text, const char *acked,
                    const char *name, const struct trace_set_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void trace_set_free(struct trace_set *s);

/* Whether the file's first line is one of a log of many sessions. */
bool trace_set_is(const char *path);

#endif
