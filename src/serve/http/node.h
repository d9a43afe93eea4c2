/* node.h - the daemon as one value: listening socket, workers, and how they end.
 *
 * node_start listens and serves. node_drain begins the end: new sessions get 503, /readyz
 * says so, running sessions are still answered. node_stop ends the workers; requests under
 * way are answered first; changes of profiles that were not begun get 503. The service is the caller's: after node_stop he calls
 * service_drain, which flushes the store and writes the checkpoint.
 *
 * Writing profiles needs the bearer token, once there is one; to listen beyond loopback
 * without one is refused (ERR_INVALID), because then anybody could.
 *
 * Threads: the functions from one thread; what they start is locked inside. */
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
    int port;         /* 8080; 0 = a free one, see node_port */
    int listen_fd; /* -1; else a socket of listen_adopt, which says bind and port; taken */
    int workers;   /* 0 = one per processor */
    const char *host;         /* further names in Host, between commas */
    const char *allow_origin; /* origins of pages that may use the API, or "*" */
    const char *token;        /* bearer token for writing profiles; NULL = none */
    const char *web_dir;      /* the pages; NULL = none */
    /* Of the parts (serve/parts.h); borrowed for node_start. NULL: their defaults. */
    const struct parts_cfg *optional;
    const char *default_profile;
    const struct log *log;  /* error answers; NULL = silent */
    struct admit_cfg admit; /* who may ask how often */
    int max_watchers;       /* event streams at a time: 64 */
    double grace_s;         /* for requests under way when stopping: 2 */
    struct http_cfg http;
};

struct node_cfg node_cfg_default(void);
extern const struct field node_fields[];

struct node;

/* The strings must outlive the node, and so must the service. */
struct node *node_start(const struct node_cfg *cfg, struct service *s, struct err *e);
int node_port(const struct node *n);
/* Takes over host, allow_origin, token and admit (whose counts begin anew); workers go on. All or
 * nothing: ERR_INVALID, ERR_RANGE, ERR_MEMORY as node_start; ERR_FULL: not
 * node_reloadable. */
int node_reload(struct node *n, const struct node_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
/* Has every worker left the rules of before the last reload? It takes as long as the requests that
 * they answer. */
bool node_reloadable(const struct node *n);
/* Has every worker gone round since the last call? They do at least once a second. */
bool node_turned(struct node *n);
void node_drain(struct node *n);
/* Ends and frees. */
void node_stop(struct node *n);

#endif
