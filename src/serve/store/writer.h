/* writer.h - the bounded queue in front of the store: many threads put, one writes, in groups.
 *
 * A request reserves room before it is decided and puts its records afterwards, so what was
 * acknowledged is never lost to a full queue. writer_reserve refuses
 *
 *   ERR_FULL  without room, or while a commit takes more than ten times flush_s: what waits behind it
 *             would be acknowledged, but not safe;
 *   ERR_IO    while the store fails, in the store's own words, or while it says that the disk has no
 *             room for what comes next (store.h: room).
 *
 * Records stay queued over a failure and are written when the store works again. A record waits at most
 * flush_s; then one transaction takes all that wait.
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
/* More than a quarter of the queue waits: work that can be done later should be, because the rest is
 * for viewers who wait for a decision. */
bool writer_pressed(struct writer *w);
/* Gives up the reservation of `reserved` and puts n <= reserved records. */
void writer_put(struct writer *w, const struct store_rec *rec, int n, int reserved);
/* The same for what happened to a session; opened: its row is new. envelope: the trajectory that
 * was closed, on its way to the bus; NULL: none. */
void writer_put_changes(struct writer *w, const struct changes *c, bool opened,
                        const uint8_t id[TRACK_ID], const struct bus_envelope *envelope,
                        int reserved);

/* Before the first record: bus->stored is called for every envelope that is durable. Borrowed. */
void writer_tell(struct writer *w, const struct bus *bus);

/* Everything put before the call is durable when it returns 0. Asks a store that had no room again. */
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
