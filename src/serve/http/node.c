#include "serve/http/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/pool.h"
#include "serve/http/listen.h"
#include "serve/parts.h"
#include "serve/http/worker.h"

struct node {
    int port, listen_fd;
    struct auth *auth;
    struct { /* replaced by the last reload: in use until every worker made a turn */
        struct auth *auth;
        struct admit *admit;
        uint64_t turns[NODE_WORKERS_MAX];
    } old;
    struct files *files;
    struct route *routes;
    struct api_shared shared;
    int places; /* connections of all workers together */
    int n_workers;
    struct worker *worker[NODE_WORKERS_MAX];
    uint64_t turned[NODE_WORKERS_MAX]; /* worker_turns when node_turned was last true */
};

struct node_cfg node_cfg_default(void)
{
    return (struct node_cfg){.bind = "127.0.0.1",
                             .port = 8080,
                             .listen_fd = -1,
                             .default_profile = "standard",
                             .max_watchers = 64,
                             .grace_s = 2.0,
                             .admit = admit_cfg_default(),
                             .http = http_cfg_default()};
}

static int node_check(const struct node_cfg *cfg, struct err *e)
{
    bool token = cfg->token && cfg->token[0];
    if (!token && !listen_is_loopback(cfg->bind))
        return err_field(e, ERR_INVALID, "admin-token-file",
                         "listening at %.60s, beyond this machine, needs a token for the "
                         "writing routes: give --admin-token-file FILE",
                         cfg->bind);
    if (cfg->workers < 0 || cfg->workers > NODE_WORKERS_MAX)
        return err_field(e, ERR_RANGE, "workers", "%d is not within 0 .. %d",
                         cfg->workers, NODE_WORKERS_MAX);
    return 0;
}

static struct admit_cfg limits_of(const struct node_cfg *cfg, int places)
{
    struct admit_cfg limits = cfg->admit;
    if (limits.address_connections < 0) limits.address_connections = api_share_of(places);
    return limits;
}

static int listen_parts(struct node *n, const struct parts_cfg *optional, struct err *e)
{
    struct parts_cfg defaults = parts_cfg_default();
    int rc = 0;
    for (int i = 0; i < parts_n() && !rc; i++)
        if (parts_at(i)->listen)
            rc = parts_at(i)->listen(&n->shared.part[i], &n->shared,
                                     parts_settings(i, optional ? optional : &defaults),
                                     e);
    return rc;
}

static int make_shared(struct node *n, const struct node_cfg *cfg, struct service *s,
                       int workers, struct err *e)
{
    struct api_shared *sh = &n->shared;
    sh->service = s;
    sh->workers = workers;
    sh->default_profile = cfg->default_profile;
    sh->started_at = clock_now();
    sh->auth = n->auth = auth_new(cfg->bind, cfg->host, cfg->allow_origin, cfg->token, e);
    if (!n->auth) return e->code;
    n->places = workers * cfg->http.max_connections;
    struct admit_cfg limits = limits_of(cfg, n->places);
    sh->admit = admit_new(&limits, e);
    if (!sh->admit) return e->code;
    sh->log = cfg->log;
    /* a secret of their own: request ids reveal theirs */
    uint64_t seed[5];
    if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
        return err_set(e, ERR_IO, "getrandom: %s", strerror(errno));
    sh->secret = seed[0];
    sh->connections = occupancy_new(n->places, seed[1], e);
    if (!sh->connections) return e->code;
    sh->files = n->files = files_new(cfg->web_dir, e);
    if (!n->files) return e->code;
    sh->watchers_each = api_share_of(cfg->max_watchers);
    sh->watching = occupancy_new(cfg->max_watchers, seed[2], e);
    if (!sh->watching) return e->code;
    sh->events = events_new(cfg->max_watchers, e);
    if (!sh->events) return e->code;
    sh->jobs = jobs_new(API_JOBS, e);
    if (!sh->jobs) return e->code;
    sh->histories = histories_new(s, e);
    if (!sh->histories) return e->code;
    sh->histories_each = api_share_of(HISTORIES_OPEN);
    sh->reading = occupancy_new(HISTORIES_OPEN + workers, seed[3], e);
    if (!sh->reading) return e->code;
    /* each stream needs a connection */
    sh->answers_each_kb = api_share_of(API_LONG_BYTES / 1024);
    sh->answering = occupancy_new(n->places + workers, seed[4], e);
    if (!sh->answering) return e->code;
    sh->routes = n->routes = api_all_routes(&sh->n_routes, e);
    if (!n->routes) return e->code;
    sh->metrics = metrics_new(workers, sh->routes, sh->started_at, API_VERSION, e);
    if (!sh->metrics) return e->code;
    return listen_parts(n, cfg->optional, e);
}

struct node *node_start(const struct node_cfg *cfg, struct service *s, struct err *e)
{
    struct node *n = node_check(cfg, e) ? NULL : calloc(1, sizeof *n);
    if (!n) {
        err_set(e, ERR_MEMORY, "no memory for the daemon");
        if (cfg->listen_fd >= 0) close(cfg->listen_fd);
        return NULL;
    }
    n->port = cfg->port;
    n->listen_fd = cfg->listen_fd;
    if (n->listen_fd < 0) n->listen_fd = listen_open(cfg->bind, &n->port, e);
    if (n->listen_fd < 0) goto fail;

    int workers = cfg->workers ? cfg->workers : pool_cpus();
    if (workers > NODE_WORKERS_MAX) workers = NODE_WORKERS_MAX;
    if (make_shared(n, cfg, s, workers, e)) goto fail;

    struct http_cfg http = cfg->http;
    http.refused = api_refused;
    http.held = n->shared.connections;
    http.places = api_places;
    http.turned_away = api_turned_away;
    for (int i = 0; i < workers; i++) {
        struct worker *w =
            worker_start(&http, n->listen_fd, &n->shared, i, cfg->grace_s, e);
        if (!w) goto fail;
        n->worker[n->n_workers++] = w;
    }
    return n;
fail:
    node_stop(n);
    return NULL;
}

int node_port(const struct node *n)
{
    return n->port;
}

bool node_reloadable(const struct node *n)
{
    for (int i = 0; i < n->n_workers; i++)
        if (n->old.auth && worker_turns(n->worker[i]) == n->old.turns[i]) return false;
    return true;
}

static void free_old(struct node *n)
{
    auth_free(n->old.auth);
    admit_free(n->old.admit);
    n->old.auth = NULL;
    n->old.admit = NULL;
}

int node_reload(struct node *n, const struct node_cfg *cfg, struct err *e)
{
    int rc = node_check(cfg, e);
    if (rc) return rc;
    if (!node_reloadable(n))
        return err_set(e, ERR_FULL, "the last reload is not complete: try again");
    struct auth *auth = auth_new(cfg->bind, cfg->host, cfg->allow_origin, cfg->token, e);
    struct admit_cfg limits = limits_of(cfg, n->places);
    struct admit *admit = auth ? admit_new(&limits, e) : NULL;
    if (!admit) {
        auth_free(auth);
        return e ? e->code : ERR_INVALID;
    }
    free_old(n);
    admit_carry(admit, n->shared.admit);
    n->old.auth = n->auth;
    n->old.admit = n->shared.admit;
    n->shared.auth = n->auth = auth;
    n->shared.admit = admit;
    for (int i = 0; i < n->n_workers; i++)
        n->old.turns[i] = worker_turns(n->worker[i]);
    for (int i = 0; i < n->n_workers; i++)
        worker_wake(n->worker[i]); /* so that the next reload need not wait */
    return 0;
}

bool node_turned(struct node *n)
{
    for (int i = 0; i < n->n_workers; i++)
        if (worker_turns(n->worker[i]) == n->turned[i]) return false;
    for (int i = 0; i < n->n_workers; i++)
        n->turned[i] = worker_turns(n->worker[i]);
    return true;
}

void node_drain(struct node *n)
{
    n->shared.draining = true;
}

void node_stop(struct node *n)
{
    if (!n) return;
    n->shared.draining = true;
    if (n->shared.jobs) jobs_stop(n->shared.jobs); /* waiting changes get 503 */
    for (int i = 0; i < n->n_workers; i++)
        worker_quit(n->worker[i]);
    for (int i = 0; i < n->n_workers; i++)
        worker_join(n->worker[i]);

    /* the workers' streams have ended: free their sources */
    jobs_free(n->shared.jobs);
    histories_free(n->shared.histories);
    for (int i = 0; i < parts_n(); i++)
        if (n->shared.part[i]) parts_at(i)->unlisten(n->shared.part[i]);
    metrics_free(n->shared.metrics);
    events_free(n->shared.events);
    occupancy_free(n->shared.connections);
    occupancy_free(n->shared.watching);
    occupancy_free(n->shared.answering);
    occupancy_free(n->shared.reading);
    files_free(n->files);
    free(n->routes);
    free_old(n);
    admit_free(n->shared.admit);
    auth_free(n->auth);
    if (n->listen_fd >= 0) close(n->listen_fd);
    free(n);
}
