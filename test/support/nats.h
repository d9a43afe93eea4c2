/* nats.h - a nats-server with JetStream on a free port of this machine, in a folder of its own. */
#ifndef TEST_NATS_H
#define TEST_NATS_H

#include "support/server.h"

struct nats {
    char dir[256], url[64];
    struct server server;
};

/* Names the package when there is no nats-server. */
void nats_begin(struct nats *n);
/* As a crash would; what was acknowledged is on its disk. */
void nats_kill(struct nats *n);
void nats_again(struct nats *n);
void nats_end(struct nats *n);

#endif
