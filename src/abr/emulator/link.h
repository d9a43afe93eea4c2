/* link.h - the bytes that a trace carries, as a function of time.
 *
 *   c(t) = bytes of payload delivered from the start to t,  finish(t, s) = min {u : c(u) >= c(t) + s}
 *
 * t [s] counts from the start row without round trips, as the emulator's clock (emu.h). Slots, wraps
 * and factors are those of the emulator, summed up once. A search over many plans then finds the end
 * of a download without walking the trace from its beginning. Results equal the emulator's up to
 * rounding (about 1e-12 of the time), with one exception: a download that ends with a slot ends there,
 * while the emulator goes on to the next slot that carries anything.
 *
 * finish never decreases in t: an earlier start never ends later. oracle.h builds on it.
 *
 * Ownership: link_new does not keep its world; link_free(NULL) is legal.
 * Threads: shared read-only after construction. */
#ifndef ABR_LINK_H
#define ABR_LINK_H

#include "abr/emulator/emu.h"

struct link;

struct link *link_new(const struct emu_world *world, int start_row, struct err *e);
void link_free(struct link *l);

/* out[k] = finish(from_s, bytes[k]) for k < n. */
void link_finish(double *out, const struct link *l, double from_s, const int64_t *bytes,
                 int n);

#endif
