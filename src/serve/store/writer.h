/* writer.h - the bounded queue in front of the store: many put, one writes, in groups.
 *
 * Room is reserved before something is decided and filled after it, so that what was
 * acknowledged is never lost to a full queue: without room the request is refused
 * (ERR_FULL), and so it is while a commit hangs for more than ten times flush_s, as what waits behind it
 * would be acknowledged but not safe, and while the store fails (ERR_IO, in the store's own words),
 * or says that the disk has no room for what comes next (store.h: room). Records stay queued over a
 * failure and are written when the store works again.
 *
 * A record waits at most flush_s for company; then one transaction takes all there are.
 *
 * Threads: locked inside, a leaf; the store is called without the lock. No allocation
 * after writer_new. */
#ifndef SERVE_WRITER_H
#define SERVE_WRITER_H

#include "serve/store/store.h"

#include <stdbool.h>

struct writer;

/* store is taken, also on failure. */
struct writer *writer_new(struct store *store, int cap, double flush_s, struct err *e);
/* Forgets what is not yet written: call writer_flush first. */
void writer_free(struct writer *w);

int writer_reserve(struct writer *w, int n, struct err *e)
    __attribute__((warn_unused_result));
/* More than a quarter of the queue waits: what can be done later should be, as the rest is for those
 * who ask now. */
bool writer_pressed(struct writer *w);
/* Gives up the reservation of `reserved` and puts n <= reserved records. */
void writer_put(struct writer *w, const struct store_rec *rec, int n, int reserved);
/* The same for what happened to a session; opened: its row is new. envelope: the trajectory that
 * was closed, on its way to the bus; NULL: none. */
void writer_put_changes(struct writer *w, const struct changes *c, bool opened,
                        const uint8_t id[TRACK_ID], const struct bus_envelope *envelope,
                        int reserved);

/* Before the first record: bus->stored is told of every envelope that is durable. Borrowed. */
void writer_tell(struct writer *w, const struct bus *bus);

/* Everything put before the call is durable when it returns 0. A store that had no room is asked
 * again. */
int writer_flush(struct writer *w, struct err *e) __attribute__((warn_unused_result));

/* The thread: writer_run returns after writer_stop. */
void writer_run(struct writer *w);
void writer_stop(struct writer *w);

struct writer_stats {
    uint64_t queued, written, errors;
    double lag_s; /* how long the oldest of the queue has waited, or a little less */
    bool ok;
};
void writer_stats(struct writer *w, struct writer_stats *out);

/* Reading goes past the queue: flush first. Borrowed. */
const struct store *writer_store(const struct writer *w);

#endif
