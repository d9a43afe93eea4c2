/* trace.h - the throughput of a link over time.
 *
 * mbps[i] holds from time_s[i-1] to time_s[i], as in Pensieve: row i gives the throughput of the slot
 * that ends at its time. Row 0 only marks the start.
 *
 * Formats, recognised by the first line that is not blank:
 *   - Pensieve: "time_s mbps" per line, separated by blanks or tabs.
 *   - Mahimahi: one integer of milliseconds per line, each the delivery of 1500 bytes. Binned to 1 s;
 *     the last bin ends with the last delivery.
 *   - sabre: JSON array of {duration_ms, bandwidth_kbps, latency_ms}, at most 16 MB.
 *   - CSV with a header line that names a time column and a throughput column with their units
 *     (time_s|time_ms|timestamp_s|timestamp_ms, mbps|kbps|throughput_mbps|throughput_kbps|
 *     bytes_per_s). Other columns are ignored. Times count from the first row.
 *   - Logs of moving receivers, six columns per line: unix time, ms since the start, latitude,
 *     longitude, bytes received since the line before, ms that this took. Unix time is in seconds in
 *     the HSDPA logs of Riiser et al. (MMSys 2013) and in ms in the 4G logs of van der Hooft et al.
 *     (IEEE Communications Letters 2016, Ghent). A slot ends at its line's ms. Its throughput is the
 *     bytes over the ms they took, and also holds for a gap before the slot.
 * Logs with many sessions in one file (FCC, Puffer, Lumos5G) are refused with a hint to
 * `abrd trace convert` (trace_set.h).
 * A UTF-8 byte order mark, CRLF and blank lines are fine in every format. Two rows with the same time
 * are an empty slot (some of the Lumos traces have them).
 * Refused with file and line: negative or infinite numbers, NaN, time that goes back, text behind the
 * expected columns, lines over 1023 bytes, files over 64 MB, more than 1e6 rows. Refused as a whole:
 * what trace_check refuses.
 *
 * Errors: ERR_IO, ERR_ABSENT, ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is "file:line".
 * Ownership: owned by the caller; trace_free(NULL) is legal.
 * Threads: shared read-only after construction. */
#ifndef ABR_TRACE_H
#define ABR_TRACE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_ROWS_MAX 1000000
#define TRACE_MEAN_MIN \
    0.001 /* Mbit/s; a trace below it plays nothing and counts as all zero */

struct trace {
    char name
        [128]; /* the file's name without its folder, or the generator's; valid UTF-8 */
    int n;
    double *time_s; /* (n), ascending, owned */
    double *mbps;   /* (n), >= 0, owned */
    double rtt_s;   /* mean latency; < 0 when the format does not state it */
};

/* All rows are zero; the caller fills them. Bytes of the name that are not printable UTF-8 become
 * '?'. A name that is too long is cut. */
struct trace *trace_new(int n, const char *name, struct err *e);
struct trace *trace_load(const char *path, struct err *e);
struct trace *trace_parse(const char *text, size_t len, const char *name, struct err *e);

/* The rules for every trace from a file or a generator, so that an emulation ends: 2 ..
 * TRACE_ROWS_MAX rows; finite ascending times >= 0, at least 1 ms per slot on average; finite
 * throughputs of 0 .. 1e6 Mbit/s; a mean >= TRACE_MEAN_MIN over the rows behind the first, which is
 * not played. ERR_RANGE or ERR_INVALID; e->field is the name. */
int trace_check(const struct trace *t, struct err *e) __attribute__((warn_unused_result));

/* Writes Pensieve's format atomically, with the shortest decimals that read back as the same
 * doubles. */
int trace_save(const struct trace *t, const char *path, struct err *e)
    __attribute__((warn_unused_result));
void trace_free(struct trace *t);

/* Continues a CRC-32 over the rows (bytes_crc32). */
uint32_t trace_crc(uint32_t crc, const struct trace *t);
/* Time-weighted mean over the trace [Mbit/s]. */
double trace_mean_mbps(const struct trace *t);

#endif
