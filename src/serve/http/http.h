/* http.h - HTTP/1.1 for one worker thread; the one home of libmicrohttpd.
 *
 * Each worker has a struct http of its own and drives it: http_step waits for sockets and
 * serves what is ready. Several may share one listening socket (listen.h). The wait is
 * ours (poll on the library's epoll descriptor) and the library is only ever run without
 * a timeout: it would otherwise sleep whenever exactly k * 128 events are ready.
 *
 * A request reaches the handler complete: headers, then a body of at most body_max bytes.
 * What is refused before that, with a JSON error and the connection closed:
 *   413  a body over body_max, at once when Content-Length says so;
 *   400  two Content-Length or Host headers, Content-Length beside Transfer-Encoding, a
 *        transfer coding other than "chunked", a header name that is no token, a line that
 *        does not end in CR LF, a folded line, a NUL, a bare CR, a space or control character
 *        in the address, HTTP/1.1 without Host. Each of these is read differently by some
 *        proxy in front of us, and so is a way to smuggle a request past it;
 *   414  an address over header_max, where each parameter counts 64 bytes more;
 *   431  a head over header_max, or with more header lines, cookies and parameters than its
 *        connection has memory for. 100 always fit.
 * What the library refuses by itself gets the same form of answer (http_error.c). Only if many
 * connections are within a request at that moment the library's own page may stand.
 *
 * Slow clients keep only their own connection: from its begin, or from its last answer, a
 * connection has request_s to say a whole request, whether bytes trickle or not. When nine
 * of ten connections are taken it has crowded_s, so that who comes new finds room within
 * that time.
 *
 * Connections of each address. `places` says how many connections an address may hold over all
 * workers, and `held` counts them. One more is closed as soon as it is accepted, without an
 * answer. If three of four connections of this worker are taken, the address that holds most of
 * them gives way, unless it holds HTTP_FEW or fewer: its idle connections are closed, and its
 * answers carry Connection: close.
 *
 * Streams (reply.h) need no thread: while one has nothing to send its worker looks again
 * after the stream's poll_ms, and otherwise sleeps. A client that closes its side meanwhile
 * has left: the stream ends.
 *
 * Answers that come later (reply_wait) need none either: the connection sleeps, and is looked at
 * when the worker was woken or its client has left.
 *
 * Threads: not shared, one per thread. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "base/err.h"
#include "serve/access/addr.h"
#include "serve/http/reply.h"
#include "serve/access/occupancy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_OTHER
};

struct http_request {
    enum http_method method;
    const char *path; /* as sent: percent-encoded, query cut off */
    const char *body; /* NUL behind it; "" when there is none */
    size_t n_body;
    void *waited;    /* what the handler waits for with reply_wait; NULL at first */
    double waited_s; /* and for how long */
    void *impl;      /* http.c's; NULL in tests: no headers, no query */
};

/* First header of that name, any case; NULL when absent. Borrowed until the reply. */
const char *http_header(const struct http_request *q, const char *name);
/* The decoded value of ?name=value: 1; 0 and "" when there is none. ERR_INVALID when it is
 * malformed, ERR_RANGE when it is longer than n - 1. */
int http_query(char *out, size_t n, const struct http_request *q, const char *name,
               struct err *e);
/* The query as it was sent, without the parameter of that name; false when it is longer than
 * n - 1. A space in it is "+". */
bool http_query_text(char *out, size_t n, const struct http_request *q,
                     const char *without);
/* All lines of that header in their order, joined by ", "; of more than n - 1 bytes the last
 * ones. False when there is none. */
bool http_header_list(char *out, size_t n, const struct http_request *q,
                      const char *name);
/* Who is at the other end of the connection; false when it is no IP address. */
bool http_peer(struct addr *out, const struct http_request *q);
const char *http_method_name(enum http_method m);

/* Percent-decodes n bytes of s. ERR_INVALID: a bad escape or an encoded NUL; ERR_RANGE:
 * out is too small. "+" stays "+". */
int http_decode(char *out, size_t size, const char *s, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#define HTTP_FEW 8

struct http_cfg {
    int max_connections; /* 1000; further ones wait in the listen queue */
    int timeout_s;       /* 60 of silence; longer than a player's pause between chunks */
    double request_s;    /* 60; see above */
    double crowded_s;    /* 5 */
    size_t body_max;     /* 16 KiB */
    size_t header_max;   /* 8 KiB for request line and headers together */
    /* May be NULL: told of what is refused before the handler, with handle's ctx, before the
     * reply is sent; of the request only its headers are known. */
    void (*refused)(void *ctx, const struct http_request *q, struct reply *r);
    /* Borrowed, shared by all workers; NULL: no address is counted. */
    struct occupancy *held;
    /* With handle's ctx: connections that this address may hold; 0: any number, and its
     * connections are counted; -1: it is not counted. */
    int (*places)(void *ctx, const struct addr *peer);
    /* May be NULL: a connection of that address was closed, as it holds all that it may. */
    void (*turned_away)(void *ctx, const struct addr *peer);
};

struct http_cfg http_cfg_default(void);

struct http;

/* listen_fd is duplicated; the caller keeps his. handle fills the reply of every request.
 */
struct http *http_new(const struct http_cfg *cfg, int listen_fd,
                      void (*handle)(void *ctx, const struct http_request *q,
                                     struct reply *r),
                      void *ctx, struct err *e);
/* Cuts what is still open; streams get their done. */
void http_free(struct http *h);

/* Serves what is ready, after waiting up to max_ms for it. wake_fd >= 0 is an eventfd: when it is
 * rung that wakes, it is read, and what waits is asked whether it is ready. */
void http_step(struct http *h, int wake_fd, int max_ms);

/* No new connections from here on; those that wait in the queue are left to others. */
void http_quiesce(struct http *h);

struct http_stats {
    int connections; /* open now */
    int requests;    /* begun and not yet answered to the last byte, streams included */
    int streams;
    int endless;          /* of these */
    uint64_t refused;     /* by the rules above, since the start */
    uint64_t turned_away; /* connections that were one too many for their address */
    uint64_t gave_way;    /* idle connections closed to make room */
};
struct http_stats http_stats(const struct http *h);

#endif
