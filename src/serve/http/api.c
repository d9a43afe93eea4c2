#include "serve/http/api.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/parts.h"

const struct route api_routes[] = {
    {HTTP_POST, "/v1/sessions", ROUTE_OPENS, api_session_open},
    {HTTP_DELETE, "/v1/sessions", ROUTE_AUTH, api_sessions_forget},
    {HTTP_POST, "/v1/sessions/{id}/decisions", ROUTE_SESSION, api_session_ask},
    {HTTP_POST, "/v1/sessions/{id}/abandon", ROUTE_SESSION, api_session_abandon},
    {HTTP_POST, "/v1/sessions/{id}/rewards", ROUTE_SESSION, api_session_reward},
    {HTTP_GET, "/v1/sessions/{id}", ROUTE_SESSION, api_session_get},
    {HTTP_DELETE, "/v1/sessions/{id}", ROUTE_SESSION, api_session_close},
    {HTTP_POST, "/v1/decide", ROUTE_OPEN, api_decide},
    {HTTP_GET, "/v1/profiles", ROUTE_OPEN, api_profile_list},
    {HTTP_GET, "/v1/profiles/{name}", ROUTE_OPEN, api_profile_get},
    {HTTP_PUT, "/v1/profiles/{name}", ROUTE_AUTH, api_profile_put},
    {HTTP_DELETE, "/v1/profiles/{name}", ROUTE_AUTH, api_profile_delete},
    {HTTP_GET, "/v1/policy", ROUTE_OPEN, api_policy_get},
    {HTTP_GET, "/v1/policy/weights", ROUTE_OPEN, api_policy_weights},
    {HTTP_GET, "/v1/policy/updates", ROUTE_OPEN, api_policy_updates},
    {HTTP_GET, "/v1/policy/plasticity", ROUTE_OPEN, api_policy_plasticity},
    {HTTP_POST, "/v1/policy/gate", ROUTE_AUTH, api_policy_gate},
    {HTTP_PUT, "/v1/policy/experts/{network}/{expert}", ROUTE_AUTH, api_policy_expert},
    {HTTP_GET, "/v1/events", ROUTE_OPEN, api_events},
    {HTTP_GET, "/healthz", ROUTE_OPEN, api_healthz},
    {HTTP_GET, "/readyz", ROUTE_OPEN, api_readyz},
    {HTTP_GET, "/metrics", ROUTE_OPEN, api_metrics},
    {HTTP_GET, "/{page...}", ROUTE_FALLBACK, api_page},
    {HTTP_OTHER, NULL, ROUTE_OPEN, NULL},
};

static int count_routes(const struct route *table)
{
    int n = 0;
    while (table && table[n].path)
        n++;
    return n;
}

struct route *api_all_routes(int *n, struct err *e)
{
    int all = count_routes(api_routes);
    for (int i = 0; i < parts_n(); i++)
        all += count_routes(parts_at(i)->routes);
    struct route *out = calloc((size_t)all + 1, sizeof *out);
    if (!out) {
        err_set(e, ERR_MEMORY, "no memory for the routes");
        return NULL;
    }
    *n = count_routes(api_routes);
    memcpy(out, api_routes, (size_t)*n * sizeof *out);
    for (int i = 0; i < parts_n(); i++) {
        int rows = count_routes(parts_at(i)->routes);
        if (rows) memcpy(out + *n, parts_at(i)->routes, (size_t)rows * sizeof *out);
        *n += rows;
    }
    return out;
}

void *api_part(const struct api_shared *shared, const char *name)
{
    for (int i = 0; i < parts_n(); i++)
        if (!strcmp(parts_at(i)->name, name)) return shared->part[i];
    return NULL;
}

int api_share_of(int places)
{
    return places > 4 ? places / 4 : 1;
}

int api_init(struct api *a, struct api_shared *shared, int worker, int bell,
             struct err *e)
{
    *a = (struct api){.shared = shared, .worker = worker, .bell = bell};
    /* every decision's answer fits, so that none allocates */
    emit_reserve(&a->out, 16384);
    emit_reserve(&a->event, EVENTS_DATA);
    if (a->out.failed || a->event.failed)
        return err_set(e, ERR_MEMORY, "no memory for a worker's answers");
    a->scratch = service_worker_new(shared->service, e);
    if (!a->scratch) return e->code;
    service_worker_stages(a->scratch, metrics_stages(shared->metrics, worker));
    return 0;
}

void api_clear(struct api *a)
{
    service_worker_free(a->scratch);
    emit_free(&a->out);
    emit_free(&a->event);
}

void api_json(struct api *a, struct reply *r, int status)
{
    emit_raw(&a->out, "\n", 1);
    if (a->out.failed) {
        reply_fail(r, 503, "", "no memory for the answer");
    } else {
        reply_copy(r, status, "application/json", a->out.at, a->out.n);
    }
}

void api_job(struct api *a, struct reply *r, void (*run)(void *self), void *self)
{
    struct err e = {0};
    void *job = jobs_begin(
        a->shared->jobs,
        &(struct jobs_work){.run = run, .free = free, .self = self, .bell = a->bell}, &e);
    if (job)
        reply_wait(r, &(struct reply_wait){jobs_ready, jobs_drop, job});
    else
        reply_err(r, &e);
}

int api_profile(struct profile *out, struct api *a, const char *name, struct err *e)
{
    return service_profile_get(out, a->shared->service,
                               *name ? name : a->shared->default_profile, e);
}

static bool writes(enum http_method m)
{
    return m != HTTP_GET && m != HTTP_HEAD && m != HTTP_OPTIONS;
}

/* Lets a page of an allowed origin read the answer. */
static void allow_origin(struct reply *r, const char *origin)
{
    if (strlen(origin) >= REPLY_VALUE) return;
    reply_header(r, "Access-Control-Allow-Origin", "%s", origin);
    /* sendBeacon always sends credentials; the daemon uses no cookies */
    reply_header(r, "Access-Control-Allow-Credentials", "true");
    reply_constant(r, "Access-Control-Expose-Headers",
                   "Location, ETag, Retry-After, X-Request-Id, Accept-Ranges, "
                   "Content-Range, CMSD-Dynamic, Abrd-Session, Abrd-Estimated, "
                   "Abrd-Cmcd-Error");
    reply_header(r, "Timing-Allow-Origin", "%s", origin);
}

static void preflight(const struct api *a, const struct http_request *q, struct reply *r)
{
    struct route_params p;
    const struct route *row;
    unsigned allow;
    /* no row is for OPTIONS: allow has the methods of the path */
    if (route_find(&row, &p, &allow, a->shared->routes, HTTP_OPTIONS, q->path) == 404) {
        allow = 1u << HTTP_GET | 1u << HTTP_HEAD | 1u << HTTP_OPTIONS;
    }
    char methods[64];
    route_allow_text(methods, sizeof methods, allow);

    reply_empty(r, 204);
    reply_header(r, "Allow", "%s", methods);
    reply_header(r, "Access-Control-Allow-Methods", "%s", methods);
    reply_constant(r, "Access-Control-Allow-Headers",
                   "Authorization, Content-Type, Range, If-Range, If-None-Match, "
                   "If-Modified-Since, Last-Event-ID, X-Request-Id, CMCD-Object, "
                   "CMCD-Request, CMCD-Session, CMCD-Status");
    reply_header(r, "Access-Control-Max-Age", "600");
    if (http_header(q, "Access-Control-Request-Private-Network"))
        reply_header(r, "Access-Control-Allow-Private-Network", "true");
}

bool api_too_often(struct reply *r, double wait_s, const char *what)
{
    if (wait_s <= 0) return false;
    double whole = ceil(wait_s);
    reply_fail(r, 429, "", "too many %s: retry after %.0f s", what, whole);
    reply_header(r, "Retry-After", "%.0f", whole);
    return true;
}

/* The limits of single routes. */
static bool is_limited(struct api *a, const struct route *row,
                       const struct route_params *p, const struct admit_client *from,
                       double now_s, struct reply *r)
{
    struct admit *admit = a->shared->admit;
    if (row->flags & ROUTE_OPENS)
        return api_too_often(r, admit_open(admit, from, now_s),
                             "new sessions from this address");
    if (row->flags & ROUTE_SESSION)
        return api_too_often(r, admit_session(admit, from, route_param(p, "id"), now_s),
                             "requests for this session");
    return false;
}

/* Index of the route that answered; n_routes: none did. */
static int dispatch(struct api *a, const struct http_request *q,
                    const struct admit_client *from, double now_s, struct reply *r)
{
    struct route_params p;
    const struct route *row = NULL;
    unsigned allow;
    int none = a->shared->n_routes;

    int status = route_find(&row, &p, &allow, a->shared->routes, q->method, q->path);
    if (status == 404) {
        reply_fail(r, 404, "", "no such path; see /openapi.json");
        return none;
    }
    if (status == 405) {
        char methods[64];
        route_allow_text(methods, sizeof methods, allow);
        reply_fail(r, 405, "", "this path accepts %s", methods);
        reply_header(r, "Allow", "%s", methods);
        return none;
    }

    if (!q->waited && is_limited(a, row, &p, from, now_s, r)) {
        /* r is a 429 */
    } else if (!q->waited && row->flags & ROUTE_AUTH &&
               !auth_token_ok(a->shared->auth, http_header(q, "Authorization"))) {
        reply_fail(r, 401, "", "send the header Authorization: Bearer TOKEN");
        reply_header(r, "WWW-Authenticate", "Bearer realm=\"abrd\"");
    } else {
        emit_reset(&a->out);
        row->handle(a, q, &p, r);
    }
    return (int)(row - a->shared->routes);
}

static int api_answer(struct api *a, const struct http_request *q, double now_s,
                      struct reply *r)
{
    const struct auth *auth = a->shared->auth;
    const char *host = http_header(q, "Host"), *origin = http_header(q, "Origin");
    int route = a->shared->n_routes;

    /* a request that waited has passed; only its handler can free what it waited for */
    if (!q->waited && !auth_host_ok(auth, host)) {
        reply_fail(r, 403, "Host",
                   "is not a name of this daemon; to accept it use --host");
        return route;
    }
    struct admit_client client;
    admit_client(&client, a->shared->admit, q);
    service_worker_from(a->scratch, admit_number(&client, a->shared->secret),
                        admit_network(&client, a->shared->secret));
    enum auth_origin from = auth_origin(auth, origin, host);
    if (!q->waited && api_too_often(r, admit_address(a->shared->admit, &client, now_s),
                                    "requests from this address")) {
        /* r is a 429; allow_origin below makes it readable */
    } else if (!q->waited && from == AUTH_FOREIGN &&
               (writes(q->method) || q->method == HTTP_OPTIONS)) {
        reply_fail(r, 403, "Origin",
                   "pages of this origin may not use the daemon; to allow them use "
                   "--allow-origin");
    } else if (q->method == HTTP_OPTIONS) {
        preflight(a, q, r);
    } else {
        route = dispatch(a, q, &client, now_s, r);
    }

    /* free the connection of a client over its limit, but not that of a proxy */
    if (r->status == 429 && r->kind != REPLY_WAIT && !client.forwarded) r->close = true;
    if (from == AUTH_OUR_ORIGIN && r->kind != REPLY_WAIT) allow_origin(r, origin);
    return route;
}

static void add_common(struct reply *r)
{
    reply_constant(r, "Vary", "Origin");
    reply_constant(r, "X-Content-Type-Options", "nosniff");
    if (!reply_header_get(r, "Cache-Control"))
        reply_constant(r, "Cache-Control", "no-store");
}

void api_handle(void *ctx, const struct http_request *q, struct reply *r)
{
    struct api *a = ctx;
    double begun = clock_mono();
    int route = api_answer(a, q, begun, r);
    if (r->kind == REPLY_WAIT) return; /* there is no answer yet */

    if (r->status >= 400)
        api_error(a, q,
                  route < a->shared->n_routes ? a->shared->routes[route].path : q->path,
                  r, begun);
    add_common(r);
    if (a->shared->draining) r->close = true;
    metrics_request(a->shared->metrics, a->worker, route, r->status,
                    clock_mono() - begun + q->waited_s);
}

int api_places(void *ctx, const struct addr *peer)
{
    const struct api *a = ctx;
    return admit_connections(a->shared->admit, peer);
}

void api_refused(void *ctx, const struct http_request *q, struct reply *r)
{
    struct api *a = ctx;
    api_error(a, q, "(refused before any route)", r, clock_mono());
    add_common(r);
    metrics_request(a->shared->metrics, a->worker, a->shared->n_routes, r->status, 0);
}
