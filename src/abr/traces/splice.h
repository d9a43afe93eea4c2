/* splice.h - new links from recorded ones: pieces of them in another order.
 *
 * A recording is one draw of what its link could have been, and a policy that meets it again and
 * again learns it by heart. A splice joins pieces of exponentially distributed length, each cut
 * from a recording of about the same mean throughput and half of them run backwards: within a
 * piece it is the recording, as a whole it was never seen. It is the stationary bootstrap
 * (Politis and Romano 1994) of a time series, over several series that are alike.
 *
 * Errors: ERR_MEMORY; what trace_check refuses, when the recordings have no throughput.
 * Threads: pure function. */
#ifndef ABR_SPLICE_H
#define ABR_SPLICE_H

#include "abr/traces/trace.h"

/* At least `seconds` long, in slots as long as those of the recordings (n of them, n >= 1). The
 * same (seed, id) gives the same link. Owned by the caller. */
struct trace *splice_link(const struct trace *const *from, int n, double seconds,
                          uint64_t seed, uint64_t id, struct err *e);

#endif
