/* events.h - events of the daemon as a stream for dashboards (server-sent events).
 *
 * A ring holds the last EVENTS_RING events, numbered from 1. A publisher never waits: it writes into
 * the ring. Each watcher has its own position. A watcher that falls behind by more than the ring gets
 * the event "lost" with the number of events lost. events_watched is false if there is no watcher:
 * then a publisher formats nothing.
 *
 * A stream has the format text/event-stream:
 *   id: 17
 *   event: decision
 *   data: {...}
 * It begins after the request's Last-Event-ID if the ring still holds that event. Once a second it
 * carries "stats", which `stats` writes.
 *
 * Threads: locked inside (one leaf mutex); a stream belongs to its worker. */
#ifndef SERVE_EVENTS_H
#define SERVE_EVENTS_H

#include "base/err.h"
#include "serve/wire/emit.h"
#include "serve/http/reply.h"
#include "serve/access/occupancy.h"

#include <stdbool.h>
#include <stdint.h>

#define EVENTS_RING 512
#define EVENTS_DATA 1024 /* bytes of JSON; longer data is dropped */

struct events;

/* At most max_watchers streams at a time. */
struct events *events_new(int max_watchers, struct err *e);
/* Every stream must have ended. */
void events_free(struct events *ev);

bool events_watched(struct events *ev);
/* type is a string constant such as "decision". data is one line of JSON. */
void events_publish(struct events *ev, const char *type, const char *data, size_t n);

struct events_cfg {
    void (*stats)(void *ctx, struct emit *o); /* writes one JSON object */
    void *ctx;
    bool only_stats; /* send no events but stats */
    bool withheld;   /* begin with the event "withheld": the client may only see stats */
    struct occupancy
        *held;       /* streams per address, borrowed; NULL: this stream is not counted */
    struct addr who; /* address of the client */
    int most;        /* most streams of one address */
    uint64_t after;  /* Last-Event-ID; UINT64_MAX: only new events */
    double (*clock)(void *ctx); /* NULL = clock_mono */
    void *clock_ctx;
};

/* Turns the reply into the stream; 429 if max_watchers streams are open, or `most` of this address. */
void events_reply(struct reply *r, struct events *ev, const struct events_cfg *cfg);

#endif
