/* trace.h - the capacity of a link over time.
 *
 * mbps[i] holds from time_s[i-1] to time_s[i] (Pensieve's reading: row i gives the
 * throughput of the slot that ends at its time; row 0 only marks the start).
 *
 * Formats, found by the first line that is not blank:
 *   - Pensieve: "time_s mbps" per line (space or tab);
 *   - Mahimahi: one integer millisecond per line, each a 1500-byte delivery; binned to 1 s,
 *     the last bin ends with the last delivery;
 *   - sabre: JSON array of {duration_ms, bandwidth_kbps, latency_ms}, at most 16 MB;
 *   - CSV with a header that names a time and a throughput column with its unit
 *     (time_s|time_ms|timestamp_s|timestamp_ms, mbps|kbps|throughput_mbps|throughput_kbps|
 *     bytes_per_s); other columns are passed over, times count from the first row;
 *   - logs of moving receivers, six columns a line: unix time, ms since the start, latitude,
 *     longitude, bytes received since the line before, ms that this took. Unix time is in
 *     seconds in the HSDPA logs of Riiser et al. (MMSys 2013) and in ms in the 4G logs of van
 *     der Hooft et al. (IEEE Communications Letters 2016, Ghent). A slot ends at its line's
 *     ms, has bytes over the ms they took, and also stands for a gap before it.
 * Logs with many sessions in one file (FCC, Puffer, Lumos5G) are for trace_set.h; here they
 * are refused with that advice.
 * Every format: UTF-8 byte order mark, CRLF and blank lines are fine. Equal times are an
 * empty slot (the Lumos traces have some).
 * Refused, naming file and line: negative or infinite numbers and NaN, time that goes back,
 * anything behind the expected columns, lines over 1023 bytes, files over 64 MB, more than 1e6
 * rows. Refused as a whole: what trace_check refuses.
 *
 * Ownership: owned by the caller; trace_free(NULL) is legal.
 * Errors: ERR_IO, ERR_ABSENT, ERR_INVALID, ERR_RANGE, ERR_MEMORY; e->field is "file:line".
 * Threads: shared read-only after construction. */
#ifndef ABR_TRACE_H
#define ABR_TRACE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define TRACE_ROWS_MAX 1000000
#define TRACE_MEAN_MIN \
    0.001 /* Mbit/s: below it nothing plays, the trace is called all zero */

struct trace {
    char name[128]; /* file name without its folder, or the generator's; valid UTF-8 */
    int n;
    double *time_s; /* (n), ascending, owned */
    double *mbps;   /* (n), >= 0, owned */
    double rtt_s;   /* mean latency when the format states one, else < 0 */
};

/* All rows zero; the caller fills them. Bytes of the name that are not printable UTF-8
 * become '?', and a name that is too long is cut. */
struct trace *trace_new(int n, const char *name, struct err *e);
struct trace *trace_load(const char *path, struct err *e);
struct trace *trace_parse(const char *text, size_t len, const char *name, struct err *e);

/* What every trace from a file or a generator obeys, so that an emulator comes to an end on
 * it: 2 .. TRACE_ROWS_MAX rows, finite ascending times >= 0 of at least 1 ms a slot on
 * average, finite throughputs of 0 .. 1e6 Mbit/s, and a mean >= TRACE_MEAN_MIN over the rows
 * that are played (row 0 is not). ERR_RANGE or ERR_INVALID; e->field is the name. */
int trace_check(const struct trace *t, struct err *e) __attribute__((warn_unused_result));

/* Pensieve text, shortest decimals that read back to the same doubles; atomic. */
int trace_save(const struct trace *t, const char *path, struct err *e)
    __attribute__((warn_unused_result));
void trace_free(struct trace *t);

/* CRC-32 of the rows, behind what crc is of (bytes_crc32). */
uint32_t trace_crc(uint32_t crc, const struct trace *t);
/* Time-weighted mean over the trace [Mbit/s]. */
double trace_mean_mbps(const struct trace *t);

#endif
