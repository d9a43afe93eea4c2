/* http_priv.h - what the sources of http.h share: http.c has the connections, http_request.c
 * reads the head of a request, http_reply.c sends the answer, http_error.c answers for the
 * library where it refuses a request by itself. */
#ifndef SERVE_HTTP_PRIV_H
#define SERVE_HTTP_PRIV_H

#include "serve/http/http.h"

#include <microhttpd.h>
#include <stdarg.h>

enum { HTTP_SHELF = 256 };
/* The library keeps a record for each header line, cookie and parameter: room for so many. */
enum { HTTP_FIELDS = 100, HTTP_FIELD_BYTES = 64 };
/* The header of an answer, at most. */
enum { HTTP_ANSWER_HEAD = 2048 };

struct http {
    struct MHD_Daemon *daemon;
    int epoll_fd, listen_fd;
    int leave_fd; /* epoll of ours: clients that have said all they will ever say */
    struct http_cfg cfg;
    size_t memory; /* of the library for one connection: head, fields, answer's header */
    void (*handle)(void *ctx, const struct http_request *q, struct reply *r);
    void *ctx;
    struct stream *streams; /* all open ones */
    int n_idle;
    struct conn *staying,
        *leaving;         /* all open ones; leaving: the client ended his side */
    struct conn *waiting; /* for an answer that comes later */
    double now_s;         /* clock_mono of this step */
    double swept_s;       /* the same of the last sweep */
    bool progress;        /* this step did something: look again before sleeping */
    bool crowded;         /* three of four connections are taken ... */
    struct addr heaviest; /* ... and this address holds most of them */
    double relieved_s;    /* clock_mono when that was found */
    struct http_stats stats;
    int64_t second;                 /* of this step, since the epoch */
    char date[32];                  /* the same as the header says it */
    struct kept *shelf[HTTP_SHELF]; /* answers to be used again, by their length */
};

/* One connection, kept from its first request to its last. */
struct conn {
    struct http *http;
    struct MHD_Connection *mhd;
    bool busy;      /* within a request */
    bool answering; /* whose reply is under way */
    bool ended;     /* the client sends no more */
    bool too_large;
    bool chunked;      /* the request's body came in chunks */
    bool heading;      /* the first line is there, the head is not */
    bool bad_target;   /* the first line's address has a space or a control character */
    bool rejected;     /* answered by http_error.c: nothing more is said here */
    bool counted;      /* of `who`, in the occupancy */
    struct addr who;   /* the subscriber's address (addr_subscriber) */
    uint64_t consumed; /* bytes of the requests so far */
    double since_s;    /* clock_mono of its begin, or of its last answer's end */
    struct conn *prev, *next;
    struct reply_wait wait; /* self NULL: for nothing */
    double asked_s;         /* when that began */
    bool gone;              /* the client has left meanwhile */
    struct conn *next_waiting;
    struct kept *kept; /* lent for the answer under way */
    char *body;
    size_t n_body, cap_body;
};

/* ---- http.c ---- */

/* The client has said all it will ever say, and all of it was read. */
bool http_half_closed(const struct conn *c);

/* NULL: there is none. */
struct conn *http_conn(struct MHD_Connection *mhd);
int http_socket(const struct conn *c);
/* The latest of those that stay. */
void http_recent(struct conn *c);
/* A request is refused without a handler: counts it and adds what every error has. mhd may be
 * NULL: it is not known which. */
void http_refused(struct http *h, struct MHD_Connection *mhd, struct reply *r);

/* ---- http_error.c ---- */

/* The library's hooks for the first line and for its log. */
void *http_error_line(void *cls, const char *uri, struct MHD_Connection *mhd);
void http_error_log(void *cls, const char *format, va_list args);
/* Answers past the library and ends the connection. */
void http_error_send(struct conn *c, struct reply *r);
/* What a head of so many bytes takes of the connection's memory. */
size_t http_error_memory(const struct conn *c, size_t head);

/* ---- http_request.c ---- */

enum http_method http_method_of(const char *name);

/* The library's hook for percent-decoding: it would decode path and query itself and cut both
 * at an encoded NUL, so this changes nothing. */
size_t http_keep_escapes(void *cls, struct MHD_Connection *c, char *s);

/* True when the head of the request is refused; the reply is filled then. method and
 * version as the library gave them, not copies. Notes how the body will come. */
bool http_refuse(struct reply *r, struct conn *c, const char *method,
                 const char *version);

/* ---- http_reply.c ---- */

/* Sends the reply as the answer to the request under way, and gives back what it holds. */
enum MHD_Result http_reply_send(struct conn *c, struct reply *r, bool head);
/* The poll_ms of the most impatient stream that waits for data; INT_MAX: none does. */
int http_reply_poll_ms(const struct http *h);
/* The answer under way was sent, or never will be. */
void http_reply_done(struct conn *c);
/* What the Date header says from now on. */
void http_reply_date(struct http *h, double now_s);
void http_reply_clear(struct http *h);

#endif
