/* http.h - HTTP/1.1 for one worker thread; the one home of libmicrohttpd.
 *
 * Each worker has its own struct http and drives it: http_step waits for sockets and serves the ready
 * ones. Several may share one listening socket (listen.h). http_step itself polls the library's epoll
 * descriptor and always runs the library without a timeout. With a timeout, the library would sleep
 * whenever exactly k * 128 events are ready.
 *
 * A handler gets a complete request: headers, then a body of at most body_max bytes. Refused before
 * that, with a JSON error and a closed connection:
 *   413  a body over body_max, at once if Content-Length says so;
 *   400  two Content-Length or Host headers, both Content-Length and Transfer-Encoding, a transfer
 *        coding other than "chunked", a header name that is not a token, a line that does not end in
 *        CR LF, a folded line, a NUL, a bare CR, a space or control character in the address,
 *        HTTP/1.1 without Host. Some proxy reads each of these differently, so each could smuggle a
 *        request past a proxy in front of the daemon;
 *   414  an address over header_max, where each parameter counts 64 bytes more;
 *   431  a head over header_max, or with more header lines, cookies and parameters than fit into the
 *        memory of its connection. 100 always fit.
 * Refusals of the library itself get the same form of answer (http_error.c). The library's own page
 * is sent only if many connections are within a request at that moment.
 *
 * A slow client occupies only its own connection. A connection has request_s for a whole request,
 * counted from its start or from its last answer, however steadily bytes trickle in. If nine of ten
 * connections are taken it has crowded_s, so that a new client finds room within that time.
 *
 * Connections of each address. `places` says how many connections an address may hold over all
 * workers, and `held` counts them. One more is closed as soon as it is accepted, without an answer. If
 * three of four connections of this worker are taken, the address with most of them gives way, unless
 * it holds HTTP_FEW or fewer: its idle connections are closed, and its answers carry
 * Connection: close.
 *
 * Streams (reply.h) need no thread. If a stream has nothing to send, its worker looks again after the
 * stream's poll_ms. If the client closes its side of the connection, the stream ends.
 *
 * Answers that come later (reply_wait) need no thread either. The connection sleeps until the worker
 * is woken or the client leaves.
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
    const char *body; /* ends with NUL; "" without a body */
    size_t n_body;
    void *waited;    /* the self of the handler's reply_wait; NULL at first */
    double waited_s; /* time waited */
    void *impl;      /* private to http.c; NULL in tests: no headers, no query */
};

/* The first header of that name, any case; NULL if absent. Borrowed until the reply. */
const char *http_header(const struct http_request *q, const char *name);
/* The decoded value of ?name=value: 1; 0 and "" if absent. ERR_INVALID if malformed, ERR_RANGE if
 * longer than n - 1. */
int http_query(char *out, size_t n, const struct http_request *q, const char *name,
               struct err *e);
/* The same as a number within lo .. hi: 0 and *out, which is 0 if it is absent. */
int http_number(double *out, const struct http_request *q, const char *name, double lo,
                double hi, struct err *e) __attribute__((warn_unused_result));
/* The query as sent, less the parameters `without`, whose last name is NULL; false if longer than n - 1.
 * A space is "+". */
bool http_query_text(char *out, size_t n, const struct http_request *q,
                     const char *const *without);
/* All lines of that header in their order, joined by ", "; the last n - 1 bytes if there are more.
 * False if absent. */
bool http_header_list(char *out, size_t n, const struct http_request *q,
                      const char *name);
/* The peer of the connection; false if it is not an IP address. */
bool http_peer(struct addr *out, const struct http_request *q);
const char *http_method_name(enum http_method m);

/* Percent-decodes n bytes of s. ERR_INVALID: a bad escape or an encoded NUL; ERR_RANGE:
 * out is too small. "+" stays "+". */
int http_decode(char *out, size_t size, const char *s, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#define HTTP_FEW 8

struct http_cfg {
    int max_connections; /* 1000; more wait in the listen queue */
    int timeout_s; /* 60, without a byte; longer than a player's pause between chunks */
    double request_s;  /* 60; see above */
    double crowded_s;  /* 5 */
    size_t body_max;   /* 16 KiB */
    size_t header_max; /* 8 KiB for request line and headers together */
    /* May be NULL. Called with handle's ctx for a request refused before the handler, before the
     * reply is sent. Of the request only the headers are known. */
    void (*refused)(void *ctx, const struct http_request *q, struct reply *r);
    /* Borrowed, shared by all workers; NULL: no address is counted. */
    struct occupancy *held;
    /* Called with handle's ctx. Most connections of this address; 0: any number, but counted;
     * -1: not counted. */
    int (*places)(void *ctx, const struct addr *peer);
    /* May be NULL. A connection was closed because its address holds all that it may. */
    void (*turned_away)(void *ctx, const struct addr *peer);
};

struct http_cfg http_cfg_default(void);

struct http;

/* listen_fd is duplicated; the caller keeps its own. handle fills the reply of every request. */
struct http *http_new(const struct http_cfg *cfg, int listen_fd,
                      void (*handle)(void *ctx, const struct http_request *q,
                                     struct reply *r),
                      void *ctx, struct err *e);
/* Closes all connections; `done` of every stream is called. */
void http_free(struct http *h);

/* Waits up to max_ms and serves the ready sockets. A write to wake_fd, an eventfd >= 0, ends the wait:
 * it is read, and `ready` of every reply_wait is called. */
void http_step(struct http *h, int wake_fd, int max_ms);

/* Accepts no more connections; those in the listen queue are left to other workers. */
void http_quiesce(struct http *h);

struct http_stats {
    int connections; /* open now */
    int requests;    /* begun and not completely answered, streams included */
    int streams;
    int endless;          /* of the streams: without an end of their own */
    uint64_t refused;     /* requests, by the rules above */
    uint64_t turned_away; /* connections closed because their address held all it may */
    uint64_t gave_way;    /* idle connections closed to make room */
};
struct http_stats http_stats(const struct http *h);

#endif
