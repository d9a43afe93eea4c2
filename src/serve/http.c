#include "serve/http.h"

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
    double swept_s;     /* clock_mono of the last sweep */
    bool progress;      /* this step did something: look again before sleeping */
    struct http_stats stats;
};

/* One connection, kept from its first request to its last. */
struct conn {
    struct http *http;
    struct MHD_Connection *mhd;
    bool busy;      /* within a request */
    bool answering; /* whose reply is under way */
    struct conn *prev, *next;
    char *body;
    size_t n_body, cap_body;
    bool too_large;
};

struct http_cfg http_cfg_default(void)
{
    return (struct http_cfg){.max_connections = 1000,
                             .timeout_s = 60,
                             .body_max = (size_t)16 << 10,
                             .header_max = (size_t)16 << 10};
}

/* ---- requests ---- */

const char *http_method_name(enum http_method m)
{
    static const char *const names[] = {"GET",    "HEAD",    "POST", "PUT",
                                        "DELETE", "OPTIONS", "OTHER"};
    return names[m];
}

static enum http_method method_of(const char *name)
{
    for (int m = HTTP_GET; m < HTTP_OTHER; m++)
        if (strcmp(name, http_method_name(m)) == 0) return m;
    return HTTP_OTHER;
}

const char *http_header(const struct http_request *q, const char *name)
{
    if (!q->impl) return NULL;
    return MHD_lookup_connection_value(q->impl, MHD_HEADER_KIND, name);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

int http_decode(char *out, size_t size, const char *s, size_t n, struct err *e)
{
    size_t w = 0;
    for (size_t i = 0; i < n; i++) {
        char c = s[i];
        if (c == '%') {
            int hi = i + 2 < n ? hex(s[i + 1]) : -1;
            int lo = hi >= 0 ? hex(s[i + 2]) : -1;
            if (lo < 0 || (hi == 0 && lo == 0))
                return err_set(e, ERR_INVALID,
                               "a percent escape in the address is wrong");
            c = (char)(hi << 4 | lo);
            i += 2;
        }
        if (w + 1 >= size)
            return err_set(e, ERR_RANGE, "a part of the address is too long");
        out[w++] = c;
    }
    out[w] = '\0';
    return 0;
}

bool http_query(char *out, size_t n, const struct http_request *q, const char *name)
{
    const char *raw =
        q->impl ? MHD_lookup_connection_value(q->impl, MHD_GET_ARGUMENT_KIND, name)
                : NULL;
    return raw && http_decode(out, n, raw, strlen(raw), NULL) == 0;
}

/* The library would decode path and query itself and cut both at an encoded NUL. */
static size_t keep_escapes(void *cls, struct MHD_Connection *c, char *s)
{
    (void)cls;
    (void)c;
    return strlen(s);
}

/* ---- what is refused before the handler ---- */

struct framing {
    int lengths, hosts, codings;
    bool chunked, bad_name;
    const char *length;
};

static bool is_token(const char *s)
{
    if (!*s) return false;
    for (; *s; s++)
        if ((unsigned char)*s <= ' ' || (unsigned char)*s >= 0x7f ||
            strchr("()<>@,;:\\\"/[]?={}", *s))
            return false;
    return true;
}

static enum MHD_Result note_header(void *cls, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    struct framing *f = cls;
    (void)kind;
    if (!is_token(name)) f->bad_name = true;
    if (strcasecmp(name, "Content-Length") == 0) {
        f->lengths++;
        f->length = value;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        f->codings++;
        f->chunked = value && strcasecmp(value, "chunked") == 0;
    } else if (strcasecmp(name, "Host") == 0) {
        f->hosts++;
    }
    return MHD_YES;
}

/* True when the request is refused; the reply is filled then. */
static bool refuse(struct reply *r, const struct http *h, struct MHD_Connection *mhd,
                   const char *version)
{
    struct framing f = {0};
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, note_header, &f);

    const char *why = NULL, *field = "";
    if (f.bad_name) {
        why = "a header name is not a token";
    } else if (f.lengths > 1) {
        field = "Content-Length";
        why = "is given more than once";
    } else if (f.codings && f.lengths) {
        field = "Transfer-Encoding";
        why = "stands beside Content-Length";
    } else if (f.codings > 1 || (f.codings && !f.chunked)) {
        field = "Transfer-Encoding";
        why = "is not 'chunked'";
    } else if (f.hosts > 1) {
        field = "Host";
        why = "is given more than once";
    } else if (!f.hosts && strcmp(version, MHD_HTTP_VERSION_1_0) != 0) {
        field = "Host";
        why = "is missing";
    }
    if (why) {
        reply_fail(r, 400, field, "%s", why);
        return true;
    }

    /* the library has checked that the length is a number */
    if (f.length && strtoull(f.length, NULL, 10) > h->cfg.body_max) {
        reply_fail(r, 413, "", "the body is %.20s bytes, the limit is %zu", f.length,
                   h->cfg.body_max);
        return true;
    }
    return false;
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

static enum MHD_Result begin(struct conn *c, const char *version)
{
    c->busy = true;
    c->answering = false;
    c->n_body = 0;
    c->too_large = false;
    c->http->stats.requests++;

    struct reply r;
    reply_init(&r);
    if (!refuse(&r, c->http, c->mhd, version)) return MHD_YES;
    c->http->stats.refused++;
    c->answering = true;
    r.close = true;
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
        h->stats.refused++;
        reply_fail(&r, 413, "", "the body is over the limit of %zu bytes",
                   h->cfg.body_max);
        r.close = true;
    } else {
        struct http_request q = {.method = method_of(method),
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
        *c = (struct conn){.http = h, .mhd = mhd, .next = h->conns};
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

/* Once a second: ends connections whose client left in mid-request or between two (see
 * half_closed for why that may have gone unseen). */
static void sweep(struct http *h)
{
    double now_s = clock_mono();
    if (now_s - h->swept_s < 1.0) return;
    h->swept_s = now_s;
    for (const struct conn *c = h->conns; c; c = c->next)
        if (!c->answering && half_closed(c->mhd)) shutdown(socket_of(c->mhd), SHUT_RDWR);
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
        keep_escapes, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
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
