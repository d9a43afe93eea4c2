/* node.h - the daemon as one value: listening socket, workers, and their end.
 *
 * node_start listens and serves. node_drain begins the end: new sessions get 503, /readyz reports it,
 * running sessions are still answered. node_stop ends the workers. Requests in progress are answered
 * first; changes of profiles that were not begun get 503. The service belongs to the caller. After
 * node_stop the caller calls service_drain, which flushes the store and writes the checkpoint.
 *
 * If a bearer token is set, writing profiles needs it. Listening beyond loopback without a token is
 * ERR_INVALID, because any client could then write.
 *
 * Threads: the functions from one thread; the threads they start are locked inside. */
#ifndef SERVE_NODE_H
#define SERVE_NODE_H

#include "base/field.h"
#include "base/log.h"
#include "serve/access/admit.h"
#include "serve/http/http.h"
#include "serve/session/service.h"

#define NODE_WORKERS_MAX 64

struct node_cfg {
    const char *bind; /* "127.0.0.1" */
    int port;         /* 8080; 0: a free one, see node_port */
    int listen_fd; /* -1; else a socket of listen_adopt, which sets bind and port; taken */
    int workers;   /* 0 = one per processor */
    const char *host;         /* further names accepted in Host, comma-separated */
    const char *allow_origin; /* origins of pages that may use the API, or "*" */
    const char *token;        /* bearer token for writing profiles; NULL: none */
    const char *web_dir;      /* folder of the web pages; NULL: none */
    /* Of the parts (serve/parts.h); borrowed for node_start. NULL: their defaults. */
    const struct parts_cfg *optional;
    const char *default_profile;
    const struct log *log;  /* for error answers; NULL: silent */
    struct admit_cfg admit; /* limits per client */
    int max_watchers;       /* most event streams at a time: 64 */
    double grace_s;         /* time for requests in progress at the stop: 2 */
    struct http_cfg http;
};

struct node_cfg node_cfg_default(void);
extern const struct field node_fields[];

struct node;

/* The strings and the service must outlive the node. */
struct node *node_start(const struct node_cfg *cfg, struct service *s, struct err *e);
int node_port(const struct node *n);
/* Replaces host, allow_origin, token and admit; the counts of admit start at 0. Workers continue. All
 * or nothing: ERR_INVALID, ERR_RANGE, ERR_MEMORY as node_start; ERR_FULL: not node_reloadable. */
int node_reload(struct node *n, const struct node_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* True if no worker uses the rules before the last reload. It takes as long as the requests in
 * progress. */
bool node_reloadable(const struct node *n);
/* True if every worker made a turn since the last call. A worker makes one at least once a second. */
bool node_turned(struct node *n);
void node_drain(struct node *n);
/* Ends the workers and frees the node. */
void node_stop(struct node *n);

#endif
