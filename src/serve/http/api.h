/* api.h - the HTTP API: from a request to a reply, with the rules that hold for every route.
 *
 * Order of the rules: Host (403), request limit of the address (429), Origin (a foreign origin may
 * not write: 403), preflight (204), route (404, 405 with Allow), limits of opening and of a session
 * (429), bearer token (401), handler, CORS headers. web/openapi.json describes every row of the
 * routes, and a test compares the two.
 *
 * An error answer has an id, in X-Request-Id and as "request" in its body. The id of the request is
 * kept if it is 1 to 64 letters, digits, ".", "_" or "-"; otherwise the daemon makes one. The log
 * line of the error has the same id. Each worker writes at most ten such lines a second.
 *
 * The handlers are in api_sessions.c, api_decide.c, api_profiles.c, api_policy.c and api_admin.c, by
 * the resource that they serve, and in the rooms of the parts.
 *
 * Threads: struct api_shared is locked inside or never changes; a struct api belongs to one
 * worker. */
#ifndef SERVE_API_H
#define SERVE_API_H

#include "base/log.h"
#include "serve/access/admit.h"
#include "serve/access/auth.h"
#include "serve/wire/emit.h"
#include "serve/http/events.h"
#include "serve/http/files.h"
#include "serve/http/histories.h"
#include "serve/metrics/metrics.h"
#include "serve/http/jobs.h"
#include "serve/http/route.h"
#include "serve/part.h"
#include "serve/session/service.h"

#include <stdatomic.h>
#include <stdbool.h>

#define API_VERSION "0.1.0"
#define API_LONG_BYTES (64u << 20)
#define API_JOBS 32 /* most changes of profiles that wait for the disk or the bus */

/* One per daemon. All pointers are borrowed. */
struct api_shared {
    struct service *service;
    const struct auth *_Atomic auth; /* node_reload replaces it while workers run */
    struct admit *_Atomic admit;     /* likewise */
    const struct log *log;           /* NULL: silent */
    uint64_t secret;                 /* random key of request ids */
    const struct files *files;
    struct events *events;
    struct jobs *jobs; /* work that would block a worker */
    struct histories *histories;
    struct occupancy *connections; /* per address (http.h); NULL: not counted */
    struct occupancy *watching;    /* event streams per address; NULL: not counted */
    int watchers_each;             /* most event streams per address */
    struct occupancy *answering;   /* kB of long answers per address */
    int answers_each_kb;
    struct occupancy *reading; /* histories per address */
    int histories_each;
    struct metrics *metrics;
    const struct route
        *routes;  /* of the core and of the parts; ends with a row without a path */
    int n_routes; /* without that last row */
    void *part[PARTS_MAX]; /* state that the handlers of each part share */
    int workers;
    const char *default_profile;
    double started_at; /* s since the epoch */
    _Atomic bool draining;
    atomic_size_t long_bytes; /* bytes of api_long that are being sent */
};

/* Error answers of one worker. */
struct api_errors {
    uint64_t count;
    double since_s; /* start of the second whose lines are counted */
    int logged, unlogged;
};

/* Of one worker thread. */
struct api {
    struct api_shared *shared;
    struct service_worker *scratch;
    int worker;        /* 0 .. workers-1 */
    int bell;          /* eventfd that makes the worker check waiting requests */
    struct emit out;   /* the answer's body */
    struct emit event; /* data of an event for event streams */
    struct api_errors errors;
};

int api_init(struct api *a, struct api_shared *shared, int worker, int bell,
             struct err *e) __attribute__((warn_unused_result));
void api_clear(struct api *a);

/* The handler for http_new; ctx is the worker's struct api. */
void api_handle(void *ctx, const struct http_request *q, struct reply *r);
/* http_cfg.places and http_cfg.turned_away. */
int api_places(void *ctx, const struct addr *peer);
void api_turned_away(void *ctx, const struct addr *peer);
/* http_cfg.refused: adds the id, the log line and the headers of every error. */
void api_refused(void *ctx, const struct http_request *q, struct reply *r);

/* The core's routes; ends with a row without a path. */
extern const struct route api_routes[];
/* The routes of the core and of the parts in one table, owned by the caller. */
struct route *api_all_routes(int *n, struct err *e);

/* ---- for the handlers ---- */

/* Makes the JSON in a->out the body. */
void api_json(struct api *a, struct reply *r, int status);
/* Answers 200 with data, which is taken. 503 if long answers of API_LONG_BYTES are being sent
 * already, 429 if the client's address has its share of them. */
void api_long(struct api *a, const struct admit_client *client, struct reply *r,
              const char *type, void *data, size_t n);
/* Fills a 429 that names `what` if wait_s (admit.h) says that the client must wait. True: it did. */
bool api_too_often(struct reply *r, double wait_s, const char *what);
/* Gives an error answer its id and its line in the log. path: the route's pattern, because ids of
 * sessions stay out of the log; without a route, the path of the request. */
void api_error(struct api *a, const struct http_request *q, const char *path,
               struct reply *r, double now_s);
/* The thread of the jobs calls run(self). Then the handler is called again and answers (q->waited). self is
 * taken and freed by free(). */
void api_job(struct api *a, struct reply *r, void (*run)(void *self), void *self);
/* The profile named `name`; without a name, the default profile. */
int api_profile(struct profile *out, struct api *a, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* The state that the handlers of a part share; NULL: this build is without the part. */
void *api_part(const struct api_shared *shared, const char *name);
/* One address's share of a table that all addresses use: a quarter. Two or three addresses cannot
 * fill the table, and the hundred viewers behind a carrier's NAT or in a school still find places. */
int api_share_of(int places);

#define API_HANDLER(name)                                                                \
    void name(struct api *a, const struct http_request *q, const struct route_params *p, \
              struct reply *r)
API_HANDLER(api_session_open);
API_HANDLER(api_session_ask);
API_HANDLER(api_session_abandon);
API_HANDLER(api_session_reward);
API_HANDLER(api_session_get);
API_HANDLER(api_session_close);
API_HANDLER(api_sessions_forget);
API_HANDLER(api_decide);
API_HANDLER(api_profile_list);
API_HANDLER(api_profile_get);
API_HANDLER(api_profile_put);
API_HANDLER(api_profile_delete);
API_HANDLER(api_policy_get);
API_HANDLER(api_policy_weights);
API_HANDLER(api_policy_gate);
API_HANDLER(api_policy_expert);
API_HANDLER(api_policy_updates);
API_HANDLER(api_policy_plasticity);
API_HANDLER(api_healthz);
API_HANDLER(api_readyz);
API_HANDLER(api_metrics);
API_HANDLER(api_events);
API_HANDLER(api_page);

#endif
