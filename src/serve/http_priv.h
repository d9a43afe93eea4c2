/* http_priv.h - what the sources of http.h share: http.c has the connections, http_request.c
 * reads the head of a request, http_reply.c sends the answer. */
#ifndef SERVE_HTTP_PRIV_H
#define SERVE_HTTP_PRIV_H

#include "serve/http.h"

#include <microhttpd.h>

enum { HTTP_SHELF = 256 };

struct http {
    struct MHD_Daemon *daemon;
    int epoll_fd, listen_fd;
    int leave_fd; /* epoll of ours: clients that have said all they will ever say */
    struct http_cfg cfg;
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
    bool chunked;   /* the request's body came in chunks */
    double since_s; /* clock_mono of its begin, or of its last answer's end */
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

/* ---- http_request.c ---- */

enum http_method http_method_of(const char *name);

/* The library's hook for percent-decoding: it would decode path and query itself and cut both
 * at an encoded NUL, so this changes nothing. */
size_t http_keep_escapes(void *cls, struct MHD_Connection *c, char *s);

/* True when the head of the request is refused; the reply is filled then. method and
 * version as the library gave them, not copies. *chunked: how the body will come. */
bool http_refuse(struct reply *r, bool *chunked, struct MHD_Connection *mhd,
                 const char *method, const char *version, size_t body_max);

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
