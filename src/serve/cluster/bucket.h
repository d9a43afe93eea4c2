/* bucket.h - a key-value bucket that all processes of a cluster see.
 *
 * A value has a revision, which grows with every change. put names the revision that it replaces, and
 * is refused when another process was faster (compare-and-swap). So a leader that was replaced learns
 * of it (lead.h).
 *
 * Implementations: bus_nats.h (a bucket of JetStream); tests have one in memory.
 * Errors: ERR_IO the bucket does not answer; ERR_CONFLICT (put) it has another revision; ERR_MEMORY.
 * After ERR_IO a put may have happened or not. Threads: locked inside. */
#ifndef SERVE_BUCKET_H
#define SERVE_BUCKET_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bucket {
    void *self;
    /* *out is owned by the caller. *rev 0 and *out NULL: there is no such value. */
    int (*get)(void *self, const char *key, void **out, size_t *n, uint64_t *rev,
               struct err *e);
    /* last: the revision that it replaces; 0: none. */
    int (*put)(void *self, const char *key, const void *data, size_t n, uint64_t last,
               uint64_t *rev, struct err *e);
    /* Replaces any revision; n 0 removes the value. */
    int (*set)(void *self, const char *key, const void *data, size_t n, struct err *e);
    /* Wakes the processes that wait: something has changed. */
    void (*call)(void *self);
    /* Waits for a call or wake (true), or until the time is over. */
    bool (*wait)(void *self, double wait_s);
    void (*wake)(void *self);
    /* Bytes that a value may have; 0: not known (yet). NULL: no limit. */
    size_t (*most)(void *self);
};

#endif
