#include "serve/http.h"
#include "http_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* A chunked body that turns out too long is read up to here, so that its sender gets to
 * see the 413; beyond, the connection is cut. */
#define SWALLOW_MAX ((size_t)1 << 20)
#define STREAM_BLOCK ((size_t)32 << 10)

struct stream {
    struct http *http;
    struct MHD_Connection *mhd;
    struct reply_stream source;
    bool idle; /* the last pull had nothing */
    struct stream *prev, *next;
};

struct http {
    struct MHD_Daemon *daemon;
    int epoll_fd, listen_fd;
    struct http_cfg cfg;
    void (*handle)(void *ctx, const struct http_request *q, struct reply *r);
    void *ctx;
    struct stream *streams; /* all open ones */
    int n_idle;
    struct conn *conns; /* all open ones */
    double now_s;       /* clock_mono of this step */
    double swept_s;     /* the same of the last sweep */
    bool progress;      /* this step did something: look again before sleeping */
    struct http_stats stats;
};

/* One connection, kept from its first request to its last. */
struct conn {
    struct http *http;
    struct MHD_Connection *mhd;
    bool busy;      /* within a request */
    bool answering; /* whose reply is under way */
    double since_s; /* clock_mono of its begin, or of its last answer's end */
    struct conn *prev, *next;
    char *body;
    size_t n_body, cap_body;
    bool too_large;
};

struct http_cfg http_cfg_default(void)
{
    return (struct http_cfg){.max_connections = 1000,
                             .timeout_s = 60,
                             .request_s = 60,
                             .crowded_s = 5,
                             .body_max = (size_t)16 << 10,
                             .header_max = (size_t)16 << 10};
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

/* ---- replies ---- */

static int socket_of(struct MHD_Connection *mhd)
{
    return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* The client has said all it will ever say. Its end of file may have arrived together with
 * other bytes; the library, driven by edges, then does not see it before the timeout. */
static bool half_closed(struct MHD_Connection *mhd)
{
    char c;
    return recv(socket_of(mhd), &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void set_idle(struct stream *s, bool idle)
{
    if (s->idle != idle) s->http->n_idle += idle ? 1 : -1;
    s->idle = idle;
}

static ssize_t stream_pull(void *cls, uint64_t at, char *buf, size_t max)
{
    struct stream *s = cls;
    (void)at;
    ssize_t n = s->source.pull(s->source.self, buf, max);
    assert(n <= (ssize_t)max);
    /* who waits for data is not read from, so that his leaving must be looked for */
    if (n == REPLY_LATER && half_closed(s->mhd)) n = REPLY_BROKEN;
    set_idle(s, n == REPLY_LATER);
    if (n != REPLY_LATER) s->http->progress = true;
    if (n == REPLY_BROKEN) return MHD_CONTENT_READER_END_WITH_ERROR;
    return n == REPLY_END ? MHD_CONTENT_READER_END_OF_STREAM : n;
}

static void stream_done(void *cls)
{
    struct stream *s = cls;
    set_idle(s, false);
    if (s->prev) s->prev->next = s->next;
    if (s->next) s->next->prev = s->prev;
    if (s->http->streams == s) s->http->streams = s->next;
    s->http->stats.streams--;
    if (s->source.done) s->source.done(s->source.self);
    free(s);
}

static struct MHD_Response *stream_response(struct http *h, struct MHD_Connection *mhd,
                                            struct reply *r)
{
    struct stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (struct stream){.http = h, .mhd = mhd, .source = r->stream, .next = h->streams};
    uint64_t length =
        s->source.length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)s->source.length;
    struct MHD_Response *m = MHD_create_response_from_callback(
        length, STREAM_BLOCK, stream_pull, s, stream_done);
    if (!m) {
        free(s);
        return NULL;
    }
    if (h->streams) h->streams->prev = s;
    h->streams = s;
    h->stats.streams++;
    return m;
}

/* NULL when memory ran out; the reply still holds its body then. */
static struct MHD_Response *make_response(struct http *h, struct MHD_Connection *mhd,
                                          struct reply *r)
{
    void *data = (void *)(uintptr_t)r->data;
    struct MHD_Response *m = NULL;
    switch (r->kind) {
    case REPLY_EMPTY:
        m = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "",
                                            MHD_RESPMEM_PERSISTENT);
        break;
    case REPLY_COPY:
        m = MHD_create_response_from_buffer(r->n, data, MHD_RESPMEM_MUST_COPY);
        break;
    case REPLY_STATIC:
        m = MHD_create_response_from_buffer(r->n, data, MHD_RESPMEM_PERSISTENT);
        break;
    case REPLY_OWNED:
        m = MHD_create_response_from_buffer(r->n, data, MHD_RESPMEM_MUST_FREE);
        break;
    case REPLY_FILE:
        m = MHD_create_response_from_fd64(r->n, r->fd);
        break;
    case REPLY_STREAM:
        m = stream_response(h, mhd, r);
        break;
    }
    if (m) r->kind = REPLY_EMPTY; /* the body is the library's now */
    return m;
}

static enum MHD_Result send_reply(struct http *h, struct MHD_Connection *mhd,
                                  struct reply *r, bool head)
{
    bool endless = r->kind == REPLY_STREAM && r->stream.length < 0;
    struct MHD_Response *m = make_response(h, mhd, r);
    reply_drop(r);
    if (!m) return MHD_NO;

    /* the library would answer HEAD with the end mark of a chunked body */
    if (head && endless)
        MHD_set_response_options(m, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);

    for (int i = 0; i < r->n_headers; i++)
        if (r->header[i].value[0])
            MHD_add_response_header(m, r->header[i].name, r->header[i].value);
    if (r->close) MHD_add_response_header(m, "Connection", "close");
    enum MHD_Result ok = MHD_queue_response(mhd, (unsigned)r->status, m);
    MHD_destroy_response(m);
    return ok;
}

/* ---- the library's callbacks ---- */

/* What is refused without a handler: the sender may have meant anything by what follows. */
static void refused(struct http *h, struct MHD_Connection *mhd, struct reply *r)
{
    h->stats.refused++;
    r->close = true;
    if (!h->cfg.refused) return;
    struct http_request q = {.method = HTTP_OTHER, .path = "", .body = "", .impl = mhd};
    h->cfg.refused(h->ctx, &q, r);
}

static enum MHD_Result begin(struct conn *c, const char *version)
{
    c->busy = true;
    c->answering = false;
    c->n_body = 0;
    c->too_large = false;
    c->http->stats.requests++;

    struct reply r;
    reply_init(&r);
    if (!http_refuse(&r, c->mhd, version, c->http->cfg.body_max)) return MHD_YES;
    c->answering = true;
    refused(c->http, c->mhd, &r);
    return send_reply(c->http, c->mhd, &r, false);
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version,
                                 const char *data, size_t *n, void **request)
{
    struct http *h = cls;
    struct conn *c = *request;
    h->progress = true;

    if (!c) {
        c = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
                ->socket_context;
        if (!c) return MHD_NO;
        *request = c;
        return begin(c, version);
    }
    if (*n) {
        bool ok = append_body(c, data, *n);
        *n = 0;
        return ok ? MHD_YES : MHD_NO;
    }

    struct reply r;
    reply_init(&r);
    c->answering = true;
    if (c->too_large) {
        reply_fail(&r, 413, "", "the body is over the limit of %zu bytes",
                   h->cfg.body_max);
        refused(h, mhd, &r);
    } else {
        struct http_request q = {.method = http_method_of(method),
                                 .path = url,
                                 .body = c->n_body ? c->body : "",
                                 .n_body = c->n_body,
                                 .impl = mhd};
        h->handle(h->ctx, &q, &r);
        if (half_closed(mhd)) r.close = true;
    }
    return send_reply(h, mhd, &r, strcmp(method, "HEAD") == 0);
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
    c->busy = c->answering = false;
    c->since_s = h->now_s;
    h->stats.requests--;
    *request = NULL;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct http *h = cls;
    h->progress = true;
    struct conn *c = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        *context = c = calloc(1, sizeof *c);
        h->stats.connections++;
        if (!c) return;
        *c = (struct conn){.http = h, .mhd = mhd, .since_s = h->now_s, .next = h->conns};
        if (c->next) c->next->prev = c;
        h->conns = c;
    } else {
        h->stats.connections--;
        if (!c) return;
        if (c->prev) c->prev->next = c->next;
        if (c->next) c->next->prev = c->prev;
        if (h->conns == c) h->conns = c->next;
        free(c->body);
        free(c);
        *context = NULL;
    }
}

/* Nobody waits for ever: a request that comes a byte at a time is never silent, so the
 * library's timeout does not end it. When nearly all connections are taken, those that have
 * said nothing whole for longest make room. */
static bool is_stale(const struct http *h, const struct conn *c)
{
    bool crowded = h->stats.connections * 10 >= h->cfg.max_connections * 9;
    double most_s = crowded ? h->cfg.crowded_s : h->cfg.request_s;
    return h->now_s - c->since_s > most_s || half_closed(c->mhd);
}

/* Once a second: ends connections that are stale, or whose client left in mid-request or
 * between two (see half_closed for why that may have gone unseen). */
static void sweep(struct http *h)
{
    if (h->now_s - h->swept_s < 1.0) return;
    h->swept_s = h->now_s;
    for (const struct conn *c = h->conns; c; c = c->next)
        if (!c->answering && is_stale(h, c)) shutdown(socket_of(c->mhd), SHUT_RDWR);
}

/* ---- life ---- */

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

    /* the library closes its listening socket, so each worker gets a descriptor of its
     * own */
    h->listen_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
    if (h->listen_fd < 0) {
        err_set(e, ERR_IO, "the listening socket cannot be shared: %s", strerror(errno));
        free(h);
        return NULL;
    }

    size_t memory = cfg->header_max + (size_t)4096; /* and the header of the answer */
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_access, h, MHD_OPTION_LISTEN_SOCKET,
        h->listen_fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)cfg->max_connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)cfg->timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_UNESCAPE_CALLBACK,
        http_keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (!h->daemon) {
        err_set(e, ERR_IO, "the HTTP library does not start: %s", strerror(errno));
        close(h->listen_fd);
        free(h);
        return NULL;
    }
    h->epoll_fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return h;
}

void http_free(struct http *h)
{
    if (!h) return;
    MHD_stop_daemon(h->daemon);
    if (h->listen_fd >= 0) close(h->listen_fd);
    assert(!h->streams);
    free(h);
}

/* How long nothing can be due. The library says 0 while any stream waits for data; that
 * is no reason to spin, so then the most impatient stream decides, unless the last step
 * moved something and there may be more of it. */
static int wait_ms(const struct http *h, int max_ms)
{
    unsigned long long due = 0;
    if (MHD_get_timeout(h->daemon, &due) != MHD_YES || due > (unsigned long long)max_ms)
        due = (unsigned long long)max_ms;
    if (due > 0 || h->n_idle == 0 || h->progress) return (int)due;

    int wait = max_ms;
    for (const struct stream *s = h->streams; s; s = s->next)
        if (s->idle && s->source.poll_ms < wait) wait = s->source.poll_ms;
    return wait;
}

void http_step(struct http *h, int wake_fd, int max_ms)
{
    struct pollfd fds[2] = {{.fd = h->epoll_fd, .events = POLLIN},
                            {.fd = wake_fd, .events = POLLIN}};
    int wait = wait_ms(h, max_ms);
    h->progress = false;
    if (wait > 0 && poll(fds, wake_fd >= 0 ? 2 : 1, wait) < 0 && errno != EINTR) return;
    h->now_s = clock_mono();
    sweep(h);
    MHD_run(h->daemon);
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
