/* api.h - the HTTP API: from a request to a reply, with the rules that hold for every route.
 *
 * In this order: Host (403), limit of the address (429), Origin (a foreign one may not
 * write: 403), preflight (204), route (404, 405 with Allow), limits of opening and of a
 * session (429), bearer token (401), handler, CORS headers. web/openapi.json describes every
 * row of the routes, and a test compares the two.
 *
 * An error answer has an id, in X-Request-Id and as "request" in its body: the one that came
 * in X-Request-Id when that is 1 to 64 letters, digits, ".", "_" or "-", else one of ours.
 * The log line of the error has it too; of one worker at most ten lines a second are
 * written.
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
#define API_JOBS 32 /* changes of profiles that wait for disk and bus at most */

/* Of the daemon; all borrowed. */
struct api_shared {
    struct service *service;
    const struct auth *_Atomic auth; /* may be exchanged while workers run */
    struct admit *_Atomic admit;     /* likewise */
    const struct log *log;           /* NULL: silent */
    uint64_t secret;                 /* random: of the ids of requests */
    const struct files *files;
    struct events *events;
    struct jobs *jobs; /* what would hold up a worker */
    struct histories *histories;
    struct occupancy *connections; /* of each address (http.h); NULL: not counted */
    struct occupancy *watching;    /* event streams of each address; NULL: not counted */
    int watchers_each;             /* of them at most */
    struct occupancy *answering;   /* likewise kB of long answers */
    int answers_each_kb;
    struct occupancy *reading; /* likewise histories */
    int histories_each;
    struct metrics *metrics;
    const struct route
        *routes;           /* of the core and of the parts; the last one has no path */
    int n_routes;          /* before that one */
    void *part[PARTS_MAX]; /* what the handlers of each part share */
    int workers;
    const char *default_profile;
    double started_at; /* s since the epoch */
    _Atomic bool draining;
    atomic_size_t long_bytes; /* of api_long, on their way */
};

/* Error answers of one worker. */
struct api_errors {
    uint64_t count;
    double since_s; /* of the second whose lines are counted */
    int logged, unlogged;
};

/* Of one worker thread. */
struct api {
    struct api_shared *shared;
    struct service_worker *scratch;
    int worker;        /* 0 .. workers-1 */
    int bell;          /* eventfd that makes it look at what waits */
    struct emit out;   /* the answer's body */
    struct emit event; /* and what is told to those who watch */
    struct api_errors errors;
};

int api_init(struct api *a, struct api_shared *shared, int worker, int bell,
             struct err *e) __attribute__((warn_unused_result));
void api_clear(struct api *a);

/* What http_new is given: ctx is the worker's struct api. */
void api_handle(void *ctx, const struct http_request *q, struct reply *r);
/* What http_cfg.places and http_cfg.turned_away are. */
int api_places(void *ctx, const struct addr *peer);
void api_turned_away(void *ctx, const struct addr *peer);
/* What http_cfg.refused is: the id, the log line and the headers of any other error. */
void api_refused(void *ctx, const struct http_request *q, struct reply *r);

/* The core's rows; ends with a row without a path. */
extern const struct route api_routes[];
/* These and those of the parts, in one table that the caller frees. */
struct route *api_all_routes(int *n, struct err *e);

/* ---- for the handlers ---- */

/* The JSON in a->out as the body. */
void api_json(struct api *a, struct reply *r, int status);
/* data, taken, as an answer with 200. When API_LONG_BYTES of such are on their way it is 503, when
 * the client's address has its share of them 429. */
void api_long(struct api *a, const struct admit_client *client, struct reply *r,
              const char *type, void *data, size_t n);
/* What somebody asked too often, by how long he is to wait (admit.h), and the reply that says so. */
bool api_too_often(struct reply *r, double wait_s, const char *what);
/* Gives an error answer its id and its line in the log. path: the route's pattern, since ids of
 * sessions are nobody else's business, or what was asked for when there is none. */
void api_error(struct api *a, const struct http_request *q, const char *path,
               struct reply *r, double now_s);
/* Fails with the profile's weights of a request that names one, mu, or nothing. */
int api_profile(struct profile *out, struct api *a, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* What the handlers of a part share; NULL: it is not there. */
void *api_part(const struct api_shared *shared, const char *name);
/* Of a table that all addresses share, for one of them. A quarter: two or three addresses together do
 * not fill the table, and a carrier's NAT or a school brings some hundred viewers, who each need one
 * place. */
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
