/* range.h - the part of a file that a request asks for (RFC 9110, 14).
 *
 *   Range: bytes=FIRST-LAST | bytes=FIRST- | bytes=-COUNT
 *
 * Only one range is supported. Several ranges, another unit or a malformed range are ignored: the
 * answer is the whole file, which the standard allows.
 * Threads: pure function. */
#ifndef SERVE_RANGE_H
#define SERVE_RANGE_H

#include <stdint.h>

enum range_kind {
    RANGE_WHOLE,
    RANGE_PART,
    RANGE_BEYOND /* 416: it lies behind the file's end */
};

/* header may be NULL; size >= 0 [bytes]. With RANGE_PART *first and *n are set, n > 0 and
 * first + n <= size; else they are 0 and size. */
enum range_kind range_of(int64_t *first, int64_t *n, const char *header, int64_t size);

#endif
