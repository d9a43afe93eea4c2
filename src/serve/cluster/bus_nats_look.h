/* bus_nats_look.h - what a daemon with this configuration would find on the bus, without changing it.
 *
 * The connection is tried once and closed again; what is not there is not made.
 *
 * Errors: ERR_IO no server answers, or it does not let us in; ERR_INVALID a URL that is none;
 * ERR_MEMORY. Threads: a call of some seconds at most. */
#ifndef SERVE_BUS_NATS_LOOK_H
#define SERVE_BUS_NATS_LOOK_H

#include "serve/cluster/bus_nats.h"

struct bus_nats_kept { /* a stream */
    bool there;
    int replicas;
    uint64_t messages, bytes;
    int64_t bytes_max; /* -1: as the disk allows */
    bool refuses;      /* when it is full, instead of throwing away what is oldest */
};

struct bus_nats_value { /* of the board */
    const char *key;    /* which; the caller's */
    void *bytes;        /* NULL: there is none; freed by bus_nats_look_free */
    size_t n;
    double age_s; /* by the server's clock when it was put and ours now */
};

struct bus_nats_look {
    char server[128]; /* that answered; no passwords */
    int servers;      /* that are known, named by us or by it */
    bool jetstream;
    char trouble[160]; /* why there is no JetStream, or something could not be read */
    int64_t streams_max, store_max, streams; /* of the account; max -1: no limit */
    uint64_t store;
    int64_t value_max; /* bytes of one value on the board, by the server's max_payload */
    struct bus_nats_kept stream, bucket;
};

/* wanted: n values of the board. */
int bus_nats_look(struct bus_nats_look *out, struct bus_nats_value *wanted, int n,
                  const struct bus_nats_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void bus_nats_look_free(struct bus_nats_value *wanted, int n);

#endif
