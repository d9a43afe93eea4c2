/* bus_nats.h - the bus between processes: NATS JetStream, and the one home of libnats.
 *
 *   stream  <name>_traj   subjects <name>.traj.>   bounded; when it is full new messages are refused
 *   bucket  <name>        the board (board.h)
 *   subject <name>.call   "something on the board has changed"
 *
 * Both are made when they are not there. A node's end (bus_nats_sender) takes trajectories from
 * its outbox and publishes them with message ids, a window of them under way at a time; the
 * learner's end (bus_nats_receiver) reads from its dedup's position on and gives out each
 * trajectory once. There is no consumer to keep: the position is part of the learner's state, and what
 * lies before it is purged (bus_nats_trim).
 *
 * Nothing here waits for a server at the start: the connection is made, and made again, by the
 * library's own thread. Until then the outbox fills, and the board says ERR_IO.
 *
 * Errors: ERR_INVALID a URL that is none, ERR_MEMORY, ERR_IO.
 * Threads: locked inside. Sender and receiver are freed before what they stand on. */
#ifndef SERVE_BUS_NATS_H
#define SERVE_BUS_NATS_H

#include "base/log.h"
#include "serve/cluster/bucket.h"
#include "serve/learner/bus.h"
#include "serve/cluster/dedup.h"
#include "serve/cluster/outbox.h"

struct bus_nats;

struct bus_nats_cfg {
    const char *url;   /* nats://host:port, several between commas */
    const char *creds; /* credentials file, NULL: none */
    const char *name;  /* "abrd": of what belongs together */
    const char *who;   /* this node, as the server lists it */
    int replicas;      /* of stream and bucket, 1, 3 or 5 */
    int64_t stream_bytes;
    const struct log *log;
};

struct bus_nats_stats {
    bool connected; /* to a server, and stream and bucket are there */
    uint64_t reconnects;
    uint64_t published,
        repeated;           /* acknowledged; of those, known to the server already */
    uint64_t refused, full; /* not taken; of those, as the stream was full */
    uint64_t received, damaged,
        skipped;       /* skipped: gone from the stream before they were read */
    char trouble[128]; /* the last failure, "" when all is well */
};

struct bus_nats *bus_nats_new(const struct bus_nats_cfg *cfg, struct err *e);
void bus_nats_free(struct bus_nats *n);
void bus_nats_stats(struct bus_nats_stats *out, struct bus_nats *n);

struct bucket bus_nats_bucket(struct bus_nats *n);

/* The outbox is borrowed; the sender has a thread of its own. */
int bus_nats_sender(struct bus *out, struct bus_nats *n, struct outbox *o, struct err *e)
    __attribute__((warn_unused_result));
/* The dedup is borrowed and belongs to who receives. levels_max: longer ladders are refused. */
int bus_nats_receiver(struct bus *out, struct bus_nats *n, struct dedup *l,
                      int levels_max, struct err *e) __attribute__((warn_unused_result));
/* Reading begins again behind the dedup's position. For who receives. */
void bus_nats_rewind(struct bus *receiver);
/* What was learned need not be kept. */
void bus_nats_trim(struct bus_nats *n, uint64_t position);

#endif
