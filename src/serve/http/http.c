#include "serve/http/http.h"
#include "http_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* A chunked body that is too long is read up to here, so that its sender can read the 413; beyond
 * this the connection is cut. */
#define SWALLOW_MAX ((size_t)1 << 20)

struct http_cfg http_cfg_default(void)
{
    return (struct http_cfg){.max_connections = 1000,
                             .timeout_s = 60,
                             .request_s = 60,
                             .crowded_s = 5,
                             .body_max = (size_t)16 << 10,
                             .header_max = (size_t)8 << 10};
}

static bool append_body(struct conn *c, const char *data, size_t n)
{
    if (c->too_large || c->n_body + n > c->http->cfg.body_max) {
        c->too_large = true;
        c->n_body += n;
        return c->n_body <= SWALLOW_MAX;
    }
    if (c->n_body + n + 1 > c->cap_body) {
        size_t cap = c->n_body + n + 1 < 1024 ? 1024 : c->n_body + n + 1;
        char *more = realloc(c->body, cap);
        if (!more) return false;
        c->body = more;
        c->cap_body = cap;
    }
    memcpy(c->body + c->n_body, data, n);
    c->n_body += n;
    c->body[c->n_body] = '\0';
    return true;
}

/* ---- the library's callbacks ---- */

/* Refuses without a handler and closes: the meaning of the bytes that follow is unknown. */
void http_refused(struct http *h, struct MHD_Connection *mhd, struct reply *r)
{
    h->stats.refused++;
    r->close = true;
    if (!h->cfg.refused) return;
    struct http_request q = {.method = HTTP_OTHER, .path = "", .body = "", .impl = mhd};
    h->cfg.refused(h->ctx, &q, r);
}

static enum MHD_Result http_begin(struct conn *c, const char *method, const char *version)
{
    c->busy = true;
    c->answering = c->heading = false;
    c->n_body = 0;
    c->too_large = false;
    c->http->stats.requests++;

    struct reply r;
    reply_init(&r);
    if (c->rejected) return MHD_NO;
    if (!http_refuse(&r, c, method, version)) return MHD_YES;
    c->answering = true;
    if (r.status == 431) { /* the library may have no memory for an answer */
        http_error_send(c, &r);
        return MHD_NO;
    }
    http_refused(c->http, c->mhd, &r);
    return http_reply_send(c, &r, false);
}

/* ---- answers that come later: the library sleeps on their connections ---- */

static enum MHD_Result wait_for(struct conn *c, const struct reply_wait *w)
{
    struct http *h = c->http;
    c->wait = *w;
    c->next_waiting = h->waiting;
    h->waiting = c;
    MHD_suspend_connection(c->mhd);
    return MHD_YES;
}

/* Ends a wait whose client has left. */
static void wait_drop(struct conn *c)
{
    if (c->wait.self) c->wait.done(c->wait.self);
    c->wait = (struct reply_wait){0};
}

/* Resumes the connections that are ready, and those whose client has left. */
static void wake_waiting(struct http *h, bool all)
{
    for (struct conn **at = &h->waiting; *at;) {
        struct conn *c = *at;
        c->gone = all || http_half_closed(c);
        if (c->gone || c->wait.ready(c->wait.self)) {
            *at = c->next_waiting;
            h->progress = true;
            MHD_resume_connection(c->mhd);
        } else {
            at = &c->next_waiting;
        }
    }
}

/* True if its address holds most of the connections, and other addresses need room. */
static bool must_give_way(const struct conn *c)
{
    const struct http *h = c->http;
    return h->crowded && c->counted && addr_equal(&c->who, &h->heaviest);
}

static enum MHD_Result http_answer(struct conn *c, struct http_request *q)
{
    struct http *h = c->http;
    struct reply r;
    reply_init(&r);
    if (!c->wait.self) c->asked_s = h->now_s;
    q->waited = c->wait.self;
    q->waited_s = h->now_s - c->asked_s;
    c->wait = (struct reply_wait){0}; /* self now belongs to the handler */
    h->handle(h->ctx, q, &r);
    if (r.kind == REPLY_WAIT) return wait_for(c, &r.wait);
    /* the library also ends a chunk's lines at a bare LF, so a proxy may see another end of this
     * request: read nothing after it */
    if (http_half_closed(c) || c->chunked || must_give_way(c)) r.close = true;
    return http_reply_send(c, &r, q->method == HTTP_HEAD);
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version,
                                 const char *data, size_t *n, void **request)
{
    struct http *h = cls;
    struct conn *c = *request;
    h->progress = true;

    if (!c) {
        c = http_conn(mhd);
        if (!c) return MHD_NO;
        *request = c;
        return http_begin(c, method, version);
    }
    if (*n) {
        bool ok = append_body(c, data, *n);
        c->consumed += *n;
        *n = 0;
        return ok ? MHD_YES : MHD_NO;
    }

    c->answering = true;
    if (c->gone || c->rejected) return MHD_NO;
    if (!c->too_large) {
        struct http_request q = {.method = http_method_of(method),
                                 .path = url,
                                 .body = c->n_body ? c->body : "",
                                 .n_body = c->n_body,
                                 .impl = mhd};
        return http_answer(c, &q);
    }
    struct reply r;
    reply_init(&r);
    reply_fail(&r, 413, "", "the body is over the limit of %zu bytes", h->cfg.body_max);
    http_refused(h, mhd, &r);
    return http_reply_send(c, &r, strcmp(method, "HEAD") == 0);
}

static void on_completed(void *cls, struct MHD_Connection *mhd, void **request,
                         enum MHD_RequestTerminationCode why)
{
    struct http *h = cls;
    struct conn *c = *request;
    (void)mhd;
    (void)why;
    h->progress = true;
    if (!c || !c->busy) return;
    http_reply_done(c);
    wait_drop(c);
    c->busy = c->answering = false;
    c->since_s = h->now_s;
    h->stats.requests--;
    *request = NULL;
}

/* ---- connections ----
 *
 * A client's FIN may arrive together with other bytes. The library, edge-triggered, then does not see
 * it before the timeout. So an epoll of our own waits for FINs only, and such connections are checked
 * until they are closed. */

static int socket_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

int http_socket(const struct conn *c)
{
    return socket_of(c->mhd);
}

struct conn *http_conn(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
        ->socket_context;
}

bool http_half_closed(const struct conn *c)
{
    char byte;
    if (!c->ended) return false;
    ssize_t n = recv(socket_of(c->mhd), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void enter(struct conn **list, struct conn *c)
{
    c->prev = NULL;
    c->next = *list;
    if (c->next) c->next->prev = c;
    *list = c;
}

static void leave(struct conn **list, struct conn *c)
{
    *(c->prev ? &c->prev->next : list) = c->next;
    if (c->next) c->next->prev = c->prev;
}

void http_recent(struct conn *c)
{
    if (c->ended || c->http->staying == c) return;
    leave(&c->http->staying, c);
    enter(&c->http->staying, c);
}

/* ---- connections of each address ---- */

static int most_places(struct http *h, const struct sockaddr *a, struct addr *peer)
{
    if (!h->cfg.held || !h->cfg.places || !addr_from_socket(peer, a)) return -1;
    return h->cfg.places(h->ctx, peer);
}

static void turn_away(struct http *h, const struct addr *peer)
{
    h->stats.turned_away++;
    if (h->cfg.turned_away) h->cfg.turned_away(h->ctx, peer);
}

/* The library's hook for a new connection: MHD_NO closes it. */
static enum MHD_Result on_accept(void *cls, const struct sockaddr *a, socklen_t n)
{
    struct http *h = cls;
    struct addr peer;
    (void)n;
    int most = most_places(h, a, &peer);
    if (most <= 0 || occupancy_held(h->cfg.held, &peer) < most) return MHD_YES;
    turn_away(h, &peer);
    return MHD_NO;
}

/* False if its address took its last place at another worker meanwhile. */
static bool take_place(struct conn *c)
{
    struct http *h = c->http;
    struct addr peer;
    const struct sockaddr *a =
        MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    int most = most_places(h, a, &peer);
    if (most < 0) return true;
    c->counted = occupancy_take(h->cfg.held, &peer, most ? most : INT_MAX);
    c->who = addr_subscriber(&peer);
    if (!c->counted) turn_away(h, &peer);
    return c->counted;
}

static bool find_heaviest(struct http *h)
{
    int most = HTTP_FEW;
    for (const struct conn *c = h->staying; c; c = c->next) {
        if (!c->counted || (most > HTTP_FEW && addr_equal(&c->who, &h->heaviest)))
            continue;
        int n = occupancy_held(h->cfg.held, &c->who);
        if (n <= most) continue;
        most = n;
        h->heaviest = c->who;
    }
    return most > HTTP_FEW;
}

/* Runs at most ten times a second, because it visits all connections. */
static void relieve(struct http *h)
{
    int over = h->stats.connections - h->cfg.max_connections / 4 * 3;
    if (over <= 0 || !h->cfg.held) h->crowded = false;
    if (over <= 0 || !h->cfg.held || h->now_s - h->relieved_s < .1) return;
    h->relieved_s = h->now_s;
    h->crowded = find_heaviest(h);
    struct conn *c = h->crowded ? h->staying : NULL;
    while (c && c->next)
        c = c->next;
    for (; c && over > 0; c = c->prev) { /* longest idle first */
        if (c->busy || c->heading || !must_give_way(c)) continue;
        shutdown(http_socket(c), SHUT_RDWR);
        h->stats.gave_way++;
        over--;
    }
}

static struct conn *conn_new(struct http *h, struct MHD_Connection *mhd)
{
    struct conn *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (struct conn){.http = h, .mhd = mhd, .since_s = h->now_s};
    struct epoll_event end = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = c};
    if (!take_place(c) || epoll_ctl(h->leave_fd, EPOLL_CTL_ADD, socket_of(mhd), &end)) {
        if (c->counted) occupancy_give(h->cfg.held, &c->who);
        shutdown(socket_of(mhd), SHUT_RDWR);
        free(c);
        return NULL;
    }
    enter(&h->staying, c);
    return c;
}

static void conn_free(struct conn *c)
{
    leave(c->ended ? &c->http->leaving : &c->http->staying, c);
    http_reply_done(c);
    wait_drop(c);
    if (c->counted) occupancy_give(c->http->cfg.held, &c->who);
    free(c->body);
    free(c);
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *h = cls;
    h->progress = true;
    struct conn *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        h->stats.connections++;
        *context = conn_new(h, mhd); /* NULL: its first request ends it */
        relieve(h);
    } else {
        h->stats.connections--;
        if (c) conn_free(c);
        *context = NULL;
    }
}

static void note_ends(struct http *h)
{
    struct epoll_event event[64];
    int n = epoll_wait(h->leave_fd, event, 64, 0);
    for (int i = 0; i < n; i++) {
        struct conn *c = event[i].data.ptr;
        if (c->ended) continue;
        leave(&h->staying, c);
        c->ended = true;
        enter(&h->leaving, c);
    }
}

/* The library's timeout does not end a request that arrives byte by byte; request_s does. If nearly
 * all connections are taken, those without a complete request for the longest time are closed. */
static bool is_stale(const struct http *h, const struct conn *c)
{
    bool crowded = h->stats.connections * 10 >= h->cfg.max_connections * 9;
    double most_s = crowded ? h->cfg.crowded_s : h->cfg.request_s;
    return h->now_s - c->since_s > most_s;
}

/* Ends connections whose client left within a request or between two, and once a second the stale
 * ones. */
static void sweep(struct http *h)
{
    for (const struct conn *c = h->leaving; c; c = c->next)
        if (!c->answering && (is_stale(h, c) || http_half_closed(c)))
            shutdown(socket_of(c->mhd), SHUT_RDWR);
    if (h->now_s - h->swept_s < 1.0) return;
    h->swept_s = h->now_s;
    relieve(h);
    for (const struct conn *c = h->staying; c; c = c->next)
        if (!c->answering && is_stale(h, c)) shutdown(socket_of(c->mhd), SHUT_RDWR);
}

/* ---- life ---- */

static void release(struct http *h)
{
    if (h->listen_fd >= 0) close(h->listen_fd);
    if (h->leave_fd >= 0) close(h->leave_fd);
    http_reply_clear(h);
    free(h);
}

struct http *http_new(const struct http_cfg *cfg, int listen_fd,
                      void (*handle)(void *ctx, const struct http_request *q,
                                     struct reply *r),
                      void *ctx, struct err *e)
{
    struct http *h = calloc(1, sizeof *h);
    if (!h) {
        err_set(e, ERR_MEMORY, "no memory for an HTTP worker");
        return NULL;
    }
    h->cfg = *cfg;
    h->now_s = clock_mono();
    h->handle = handle;
    h->ctx = ctx;
    http_reply_date(h, clock_now());

    /* the library closes its listening socket, so each worker gets its own descriptor */
    h->listen_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
    h->leave_fd = epoll_create1(EPOLL_CLOEXEC);
    if (h->listen_fd < 0 || h->leave_fd < 0) {
        err_set(e, ERR_IO, "the listening socket cannot be shared: %s", strerror(errno));
        release(h);
        return NULL;
    }

    /* the library clears all of this memory for each request */
    h->memory =
        cfg->header_max + (size_t)(HTTP_FIELDS * HTTP_FIELD_BYTES + HTTP_ANSWER_HEAD);
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, on_accept, h,
        on_access, h, MHD_OPTION_EXTERNAL_LOGGER, http_error_log, h,
        MHD_OPTION_URI_LOG_CALLBACK, http_error_line, h, MHD_OPTION_LISTEN_SOCKET,
        h->listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)cfg->max_connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)cfg->timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->memory, MHD_OPTION_UNESCAPE_CALLBACK,
        http_keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (!h->daemon) {
        err_set(e, ERR_IO, "the HTTP library does not start: %s", strerror(errno));
        release(h);
        return NULL;
    }
    h->epoll_fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return h;
}

void http_free(struct http *h)
{
    if (!h) return;
    wake_waiting(h, true); /* the library does not stop while a connection sleeps */
    MHD_stop_daemon(h->daemon);
    h->listen_fd = -1; /* the library closes it */
    assert(!h->streams);
    release(h);
}

/* Time until work can be due. The library returns 0 while a stream waits for data, which would spin.
 * So the least poll_ms of the streams counts, unless the last step did work and there may be more. */
static int wait_ms(const struct http *h, int max_ms)
{
    unsigned long long due = 0;
    if (MHD_get_timeout(h->daemon, &due) != MHD_YES || due > (unsigned long long)max_ms)
        due = (unsigned long long)max_ms;
    if (due > 0 || h->n_idle == 0 || h->progress) return (int)due;

    int soonest = http_reply_poll_ms(h);
    return soonest < max_ms ? soonest : max_ms;
}

void http_step(struct http *h, int wake_fd, int max_ms)
{
    struct pollfd fds[3] = {{.fd = h->epoll_fd, .events = POLLIN},
                            {.fd = h->leave_fd, .events = POLLIN},
                            {.fd = wake_fd, .events = POLLIN}};
    int wait = wait_ms(h, max_ms);
    h->progress = false;
    if (poll(fds, wake_fd >= 0 ? 3 : 2, wait) < 0 && errno != EINTR) return;
    h->now_s = clock_mono();
    http_reply_date(h, clock_now());
    bool woken = wake_fd >= 0 && fds[2].revents;
    if (woken) (void)!read(wake_fd, &(uint64_t){0}, sizeof(uint64_t));
    if (fds[1].revents) note_ends(h);
    if (woken || fds[1].revents) wake_waiting(h, false);
    MHD_run(h->daemon);
    sweep(h);
}

void http_quiesce(struct http *h)
{
    if (h->listen_fd < 0) return;
    MHD_quiesce_daemon(h->daemon);
    close(h->listen_fd);
    h->listen_fd = -1;
}

struct http_stats http_stats(const struct http *h)
{
    return h->stats;
}
