/* board.h - a few values that all nodes see: who learns, the weights, what is common.
 *
 * A value has a revision, which grows with every change. put names the revision it was made from,
 * and is refused when somebody else was faster: that is how a learner that was taken for dead finds
 * out (lead.h).
 *
 * Implementations: bus_nats.h (a KV bucket); tests have one in memory.
 * Errors: ERR_IO the board does not answer; ERR_CONFLICT (put) another revision is there, ERR_MEMORY.
 * After ERR_IO a put may have happened or not. Threads: locked inside. */
#ifndef SERVE_BUCKET_H
#define SERVE_BUCKET_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bucket {
    void *self;
    /* *out is owned by the caller; *rev 0 and *out NULL: there is no such value. */
    int (*get)(void *self, const char *key, void **out, size_t *n, uint64_t *rev,
               struct err *e);
    /* last: the revision it replaces, 0: there is none yet. */
    int (*put)(void *self, const char *key, const void *data, size_t n, uint64_t last,
               uint64_t *rev, struct err *e);
    /* Whatever is there; n 0 removes it. */
    int (*set)(void *self, const char *key, const void *data, size_t n, struct err *e);
    /* Tells all who wait that something has changed. */
    void (*call)(void *self);
    /* Until somebody calls (true), `wake` is called here (true), or the time is over. */
    bool (*wait)(void *self, double wait_s);
    void (*wake)(void *self);
    /* Bytes that a value may have; 0: not known (yet). NULL: as many as there is memory for. */
    size_t (*most)(void *self);
};

#endif
