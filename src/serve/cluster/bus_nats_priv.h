/* bus_nats_priv.h - what the sources that use libnats share. */
#ifndef SERVE_BUS_NATS_PRIV_H
#define SERVE_BUS_NATS_PRIV_H

#include "serve/cluster/bus_nats.h"

#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>

enum { BUS_NATS_NAME = 64, BUS_NATS_WAIT_MS = 2000, BUS_NATS_HEADERS = 1024 };

struct bus_nats {
    char name[BUS_NATS_NAME], stream[BUS_NATS_NAME + 8], subjects[BUS_NATS_NAME + 8],
        call[BUS_NATS_NAME + 8];
    int replicas;
    int64_t stream_bytes;
    const struct log *log;
    natsConnection *nc;
    jsCtx *js;
    natsSubscription *calls;
    struct outbox *_Atomic outbox; /* of the sender; NULL: there is none */
    atomic_int answering;          /* callbacks that may hold it */
    atomic_bool up, made;          /* connected; stream and bucket are there */
    atomic_uint_fast64_t reconnects, published, repeated, refused, full, received,
        damaged, skipped;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t called;
    bool calling;
    bool closed,
        silent; /* the connection, the subscription to calls: nothing comes any more */
    kvStore *kv;
    char trouble[128];
};

/* Which servers, who we are, how long an answer may take. */
natsStatus bus_nats_introduce(natsOptions *o, const struct bus_nats_cfg *cfg);
/* Connected, and stream and bucket are there: makes them when they are not. */
bool bus_nats_ready(struct bus_nats *n, struct err *e);
/* Notes why something failed, and passes ERR_IO on. */
int bus_nats_trouble(struct bus_nats *n, natsStatus s, const char *what, struct err *e);
/* An answer to what the sender has published (bus_nats_send.c). */
void bus_nats_on_ack(jsCtx *js, natsMsg *msg, jsPubAck *ack, jsPubAckErr *failed,
                     void *ctx);

#endif
