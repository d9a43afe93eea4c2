/* bus_nats.h - the bus between processes: NATS JetStream, and the only module that uses libnats.
 *
 *   stream  <name>_traj   subjects <name>.traj.>   limited; a full stream refuses new messages
 *   bucket  <name>        the shared values (bucket.h, shared_value.h)
 *   subject <name>.call   "a shared value has changed"
 *
 * Stream and bucket are made when they do not exist. A node's sender takes trajectories from its
 * outbox and publishes them with message ids, a limited number at a time. The learner's receiver reads
 * from the position of its dedup on, and gives each trajectory once. No consumer is kept on the
 * server: the position is part of the learner's state, and bus_nats_trim removes what is before it.
 *
 * Nothing waits for a server at the start: a thread of the library connects, and connects again.
 * Until then the outbox fills, and the bucket returns ERR_IO.
 *
 * Errors: ERR_INVALID an invalid URL, ERR_MEMORY, ERR_IO.
 * Threads: locked inside. Sender and receiver are freed before what they borrow. */
#ifndef SERVE_BUS_NATS_H
#define SERVE_BUS_NATS_H

#include "base/log.h"
#include "serve/cluster/bucket.h"
#include "serve/cluster/cluster_cfg.h"
#include "serve/learner/bus.h"
#include "serve/cluster/dedup.h"
#include "serve/cluster/outbox.h"

struct bus_nats;

struct bus_nats_cfg {
    const char *url;   /* nats://host:port, several between commas */
    const char *creds; /* credentials file, NULL: none */
    const char *name;  /* "abrd": of this cluster */
    const char *who;   /* this process, as the server lists it */
    int replicas;      /* of stream and bucket, 1, 3 or 5 */
    int64_t stream_bytes;
    const struct log *log;
};

struct bus_nats *bus_nats_new(const struct bus_nats_cfg *cfg, struct err *e);
void bus_nats_free(struct bus_nats *n);
/* Sets what the bus knows; the rest stays. */
void bus_nats_stats(struct cluster_stats *out, struct bus_nats *n);

struct bucket bus_nats_bucket(struct bus_nats *n);

/* The outbox is borrowed. The sender has a thread of its own. */
int bus_nats_sender(struct bus *out, struct bus_nats *n, struct outbox *o, struct err *e)
    __attribute__((warn_unused_result));
/* The dedup is borrowed and belongs to the thread that receives. Longer ladders than levels_max are
 * refused. */
int bus_nats_receiver(struct bus *out, struct bus_nats *n, struct dedup *l,
                      int levels_max, struct err *e) __attribute__((warn_unused_result));
/* Reads again from the dedup's position. For the thread that receives. */
void bus_nats_rewind(struct bus *receiver);
/* Removes from the stream what is learned. */
void bus_nats_trim(struct bus_nats *n, uint64_t position);

/* ---- for doctor: what a daemon of this configuration would find; changes nothing ---- */

struct bus_nats_kept { /* a stream */
    bool there;
    int replicas;
    uint64_t messages, bytes;
    int64_t bytes_max; /* -1: as the disk allows */
    bool refuses;      /* new messages when it is full, instead of dropping old ones */
};

struct bus_nats_value { /* of the bucket */
    const char *key;    /* borrowed */
    void *bytes;        /* NULL: there is none; freed by bus_nats_look_free */
    size_t n;
    double age_s; /* from the server's clock when it was put to ours now */
};

struct bus_nats_look {
    char server[128]; /* that answered; without passwords */
    int servers;      /* known to the configuration or to that server */
    bool jetstream;
    char trouble[160]; /* why there is no JetStream, or something could not be read */
    int64_t streams_max, store_max, streams; /* of the account; max -1: no limit */
    uint64_t store;
    int64_t value_max; /* bytes of one value, by the server's max_payload */
    struct bus_nats_kept stream, bucket;
};

/* One connection, closed again. wanted: n values of the bucket. ERR_IO: no server answers, or it
 * refuses the connection. */
int bus_nats_look(struct bus_nats_look *out, struct bus_nats_value *wanted, int n,
                  const struct bus_nats_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void bus_nats_look_free(struct bus_nats_value *wanted, int n);

#endif
