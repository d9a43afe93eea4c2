/* splice.h - new links from recorded ones: pieces of recordings in another order.
 *
 * A recording is one draw of what its link could have been. A policy that meets it often learns it
 * by heart. A splice joins pieces of exponentially distributed length. Each piece is cut from a
 * recording of about the same mean throughput, and half of the pieces run backwards. Within a piece
 * the splice equals the recording; as a whole it is new. This is the stationary bootstrap of a time
 * series over several similar series.
 *
 * Source: Politis and Romano 1994.
 * Errors: ERR_MEMORY; what trace_check refuses, when the recordings have no throughput.
 * Threads: pure function. */
#ifndef ABR_SPLICE_H
#define ABR_SPLICE_H

#include "abr/traces/trace.h"

/* A link of at least `seconds`, in slots as long as those of the n >= 1 recordings. The same
 * (seed, id) gives the same link. Owned by the caller. */
struct trace *splice_link(const struct trace *const *from, int n, double seconds,
                          uint64_t seed, uint64_t id, struct err *e);

#endif
