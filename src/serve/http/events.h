/* events.h - what happens in the daemon, sent to whoever watches (server-sent events).
 *
 * A ring of the last EVENTS_RING events, each with a number that counts up from 1. A
 * publisher never waits: it writes into the ring and goes on. A watcher reads from where it
 * is; one that fell behind by more than the ring is told how many it lost (event "lost").
 * Nothing is formatted while nobody watches: events_watched is the cheap question before.
 *
 * A stream is in the text/event-stream format:
 *   id: 17
 *   event: decision
 *   data: {...}
 * and begins where the request's Last-Event-ID says, if that is still in the ring. Once a
 * second it carries "stats", made by the stream itself through `stats`.
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
/* All streams must be done. */
void events_free(struct events *ev);

bool events_watched(struct events *ev);
/* type lives for ever: "decision". data is one line of JSON. */
void events_publish(struct events *ev, const char *type, const char *data, size_t n);

struct events_cfg {
    void (*stats)(void *ctx, struct emit *o); /* writes one JSON object */
    void *ctx;
    bool only_stats; /* no other events */
    bool withheld;   /* and he did not want it so: he is told */
    struct occupancy
        *held; /* streams of each address, borrowed; NULL: this one is not counted */
    struct addr who; /* whose it is */
    int most;        /* streams that one address may have */
    uint64_t after;  /* Last-Event-ID; UINT64_MAX = only what comes from now on */
    double (*clock)(void *ctx); /* NULL = clock_mono */
    void *clock_ctx;
};

/* Turns the reply into the stream; 429 if max_watchers are there, or `most` of this address. */
void events_reply(struct reply *r, struct events *ev, const struct events_cfg *cfg);

#endif
