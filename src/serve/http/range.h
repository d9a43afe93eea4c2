/* range.h - the part of a file that a request wants (RFC 9110, 14).
 *
 *   Range: bytes=FIRST-LAST | bytes=FIRST- | bytes=-COUNT
 *
 * One range only: several, another unit or a malformed one count as none, and the whole
 * file is the answer, which the standard allows.
 * Threads: pure function. */
#ifndef SERVE_RANGE_H
#define SERVE_RANGE_H

#include <stdint.h>

enum range_kind {
    RANGE_WHOLE,
    RANGE_PART,
    RANGE_BEYOND /* 416: nothing of it is in the file */
};

/* header may be NULL; size >= 0 [bytes]. With RANGE_PART *first and *n are set, n > 0 and
 * first + n <= size; else they are 0 and size. */
enum range_kind range_of(int64_t *first, int64_t *n, const char *header, int64_t size);

#endif
