/* sidx.h - the segment index box of a fragmented MP4 file: sizes and durations of its segments.
 *
 *   size u32, "sidx", version u8, flags u24, reference_ID u32, timescale u32,
 *   earliest_presentation_time and first_offset (u32 each in version 0, u64 in version 1),
 *   reserved u16, reference_count u16, then per reference:
 *   type u1, referenced_size u31, subsegment_duration u32, SAP fields u32     (big-endian)
 *
 * Source: ISO/IEC 14496-12, 8.16.3. Differs: an index of indices (a reference of type 1) is refused.
 * Errors: ERR_INVALID (malformed, cut), ERR_ABSENT (sidx_find: none in the file), ERR_MEMORY.
 * Threads: pure functions. */
#ifndef ABR_SIDX_H
#define ABR_SIDX_H

#include "abr/manifests/segments.h"

#include <stddef.h>

struct sidx_entry {
    int64_t bytes;     /* > 0 */
    int64_t from;      /* its first byte, counted from the box's first */
    double duration_s; /* > 0 */
    double start_s;    /* presentation time, on the clock of the file */
};

/* box: (len) bytes from the box's size field on; bytes behind the box are ignored. *out: (*n), owned
 * by the caller, NULL on failure. */
int sidx_parse(struct sidx_entry **out, int *n, const void *box, size_t len,
               const char *name, struct err *e) __attribute__((warn_unused_result));

/* The index of the resource: bytes from .. to when to > 0, else the first sidx box among the first
 * boxes of the file. Here segments begin at bytes of the resource. */
int sidx_load(struct sidx_entry **out, int *n, const struct segments_source *source,
              const char *url, int64_t from, int64_t to, struct err *e)
    __attribute__((warn_unused_result));

#endif
