#include "support/nats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/bench.h"
#include "support/tmpdir.h"

void nats_again(struct nats *n)
{
    char port[16], store[300], log[300];
    snprintf(port, sizeof port, "%d", n->server.port);
    snprintf(store, sizeof store, "%s/js", n->dir);
    snprintf(log, sizeof log, "%s/log", n->dir);
    const char *argv[] = {"nats-server", "-a",  "127.0.0.1", "-p", port,
                          "-js",         "-sd", store,       NULL};
    n->server = server_launch(argv, n->server.port, log);
    if (!server_wait(&n->server, SERVER_START_S))
        bench_fail("nats-server does not start (package nats-server: make deps-test)");
}

void nats_begin(struct nats *n)
{
    *n = (struct nats){.server.port = server_port()};
    snprintf(n->dir, sizeof n->dir, "%s", tmpdir_new());
    snprintf(n->url, sizeof n->url, "nats://127.0.0.1:%d", n->server.port);
    nats_again(n);
}

void nats_kill(struct nats *n)
{
    server_kill(&n->server);
}

void nats_end(struct nats *n)
{
    server_kill(&n->server);
    tmpdir_remove(n->dir);
}
