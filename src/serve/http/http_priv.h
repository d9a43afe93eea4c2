/* http_priv.h - shared by the sources of http.h: http.c has the connections, http_request.c
 * reads the head of a request, http_reply.c sends the answer, http_error.c answers where the
 * library itself refuses a request. */
#ifndef SERVE_HTTP_PRIV_H
#define SERVE_HTTP_PRIV_H

#include "serve/http/http.h"

#include <microhttpd.h>
#include <stdarg.h>

enum { HTTP_SHELF = 256 };
/* The library keeps a record of each header line, cookie and parameter: room for this many. */
enum { HTTP_FIELDS = 100, HTTP_FIELD_BYTES = 64 };
/* Most bytes of an answer's header. */
enum { HTTP_ANSWER_HEAD = 2048 };

struct http {
    struct MHD_Daemon *daemon;
    int epoll_fd, listen_fd;
    int leave_fd; /* our epoll: clients that have closed their sending side */
    struct http_cfg cfg;
    size_t memory; /* of the library per connection: head, fields, answer's header */
    void (*handle)(void *ctx, const struct http_request *q, struct reply *r);
    void *ctx;
    struct stream *streams; /* all open ones */
    int n_idle;
    struct conn *staying,
        *leaving;         /* all open ones; leaving: the client closed its sending side */
    struct conn *waiting; /* those within a reply_wait */
    double now_s;         /* clock_mono of this step */
    double swept_s;       /* clock_mono of the last sweep */
    bool progress;        /* this step did work: look again before sleeping */
    bool crowded;         /* three of four connections are taken, */
    struct addr heaviest; /* and this address holds most of them */
    double relieved_s;    /* clock_mono when that was found */
    struct http_stats stats;
    int64_t second;                 /* of this step, since the epoch */
    char date[32];                  /* that second as the Date header */
    struct kept *shelf[HTTP_SHELF]; /* responses for reuse, by length */
};

/* One connection, kept from its first request to its last. */
struct conn {
    struct http *http;
    struct MHD_Connection *mhd;
    bool busy;      /* within a request */
    bool answering; /* its reply is being sent */
    bool ended;     /* the client sends no more */
    bool too_large;
    bool chunked;      /* the request's body came in chunks */
    bool heading;      /* the first line has been read, the head has not */
    bool bad_target;   /* the first line's address has a space or a control character */
    bool rejected;     /* answered by http_error.c: no other answer follows */
    bool counted;      /* in the occupancy of `who` */
    struct addr who;   /* the subscriber's address (addr_subscriber) */
    uint64_t consumed; /* bytes of the requests so far */
    double since_s;    /* clock_mono of its start, or of its last answer's end */
    struct conn *prev, *next;
    struct reply_wait wait; /* self NULL: not waiting */
    double asked_s;         /* clock_mono when the wait began */
    bool gone;              /* the client left during the wait */
    struct conn *next_waiting;
    struct kept *kept; /* response in use by the current answer */
    char *body;
    size_t n_body, cap_body;
};

/* ---- http.c ---- */

/* The client has closed its sending side, and all it sent was read. */
bool http_half_closed(const struct conn *c);

/* NULL: the library's connection has no struct conn. */
struct conn *http_conn(struct MHD_Connection *mhd);
int http_socket(const struct conn *c);
/* Moves c to the recent end of `staying`. */
void http_recent(struct conn *c);
/* Counts a request that is refused without a handler, and adds what every error has. mhd NULL: the
 * connection is unknown. */
void http_refused(struct http *h, struct MHD_Connection *mhd, struct reply *r);

/* ---- http_error.c ---- */

/* The library's hooks for the first line and for its log. */
void *http_error_line(void *cls, const char *uri, struct MHD_Connection *mhd);
void http_error_log(void *cls, const char *format, va_list args);
/* Sends the answer without the library and ends the connection. */
void http_error_send(struct conn *c, struct reply *r);
/* Bytes of the connection's memory that a head of so many bytes takes. */
size_t http_error_memory(const struct conn *c, size_t head);

/* ---- http_request.c ---- */

enum http_method http_method_of(const char *name);

/* The library's hook for percent-decoding. It decodes nothing, because the library would cut path and
 * query at an encoded NUL. */
size_t http_keep_escapes(void *cls, struct MHD_Connection *c, char *s);

/* True if the head of the request is refused; the reply is filled then. method and version must be the
 * library's own pointers, not copies. Sets c->chunked. */
bool http_refuse(struct reply *r, struct conn *c, const char *method,
                 const char *version);

/* Fills a 431. */
void http_head_too_large(struct reply *r, const struct http_cfg *cfg);

/* ---- http_reply.c ---- */

/* Sends the reply to the current request, and frees what the reply holds. */
enum MHD_Result http_reply_send(struct conn *c, struct reply *r, bool head);
/* The least poll_ms of the streams that wait for data; INT_MAX: none does. */
int http_reply_poll_ms(const struct http *h);
/* The current answer was sent, or never will be. */
void http_reply_done(struct conn *c);
/* Sets the time that the Date header shows. */
void http_reply_date(struct http *h, double now_s);
void http_reply_clear(struct http *h);

#endif
