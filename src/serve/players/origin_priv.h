/* origin_priv.h - what the sources of origin.h share: origin.c has the transfers between workers and
 * thread, origin_curl.c what one of them says to its origin and hears. */
#ifndef SERVE_ORIGIN_PRIV_H
#define SERVE_ORIGIN_PRIV_H

#include "serve/players/origin.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "serve/http/addr.h"

#define ORIGIN_LOCATION 2048

struct origin {
    struct origin_cfg cfg;
    CURLM *multi;
    pthread_t thread;
    atomic_bool stop, poked; /* poked: workers want something */
    atomic_int running;
    atomic_uint_fast64_t begun, refused, bytes, failed[ORIGIN_FAULTS];
    pthread_mutex_t lock; /* fresh */
    struct origin_transfer *fresh;
    /* the thread's own */
    struct origin_transfer *all;
    int lines; /* of the log, in the second since */
    double since_s;
};

struct origin_transfer {
    struct origin *origin;
    struct origin_question q;
    struct origin_transfer *next;
    /* the thread's own */
    CURL *easy;
    struct curl_slist *headers;
    char error[CURL_ERROR_SIZE];
    int hop;
    bool redirecting, refused; /* refused: it would have gone to a private address */
    bool chunked, head_over;
    size_t head_bytes, redirect_bytes;
    char location[ORIGIN_LOCATION];
    struct addr reached;     /* where the origin itself was */
    long reached_port;       /* 0: nowhere yet */
    struct origin_head head; /* the worker's once it is ready */

    pthread_mutex_t lock; /* what follows */
    int bell;             /* -1: nobody listens */
    bool ready, ended, broken, dropped;
    bool paused; /* the ring was full */
    bool go_on;  /* and has room again */
    bool hungry; /* the worker found nothing */
    char *buf;   /* (ORIGIN_BUFFER), a ring */
    size_t at, n;
};

/* ---- origin.c ---- */

enum origin_room { ORIGIN_TAKEN, ORIGIN_WAIT, ORIGIN_GONE };

/* The head is whole. */
void origin_publish(struct origin_transfer *t);
enum origin_room origin_put(struct origin_transfer *t, const char *data, size_t n);

/* ---- origin_curl.c ---- */

/* Sends the request; false: it could not. */
bool origin_attach(struct origin_transfer *t);
void origin_detach(struct origin_transfer *t);
/* libcurl is through with it: true when it follows a redirect. */
bool origin_goes_on(struct origin_transfer *t, CURLcode rc, enum origin_fault *fault);

#endif
