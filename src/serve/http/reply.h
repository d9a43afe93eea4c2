/* reply.h - one HTTP answer, filled by a handler and sent by http.c.
 *
 * A reply starts as 500: a handler that forgets to answer is a bug that must show. The body is one of:
 * bytes (copied), constant bytes, a heap block (taken), an open file (taken), or a stream. reply_wait
 * means that there is no answer yet.
 *
 * Errors of the API are JSON: {"error": word, "field": "", "detail": sentence}. reply_err makes one of
 * a struct err, with the status of its code:
 *   ERR_INVALID, ERR_RANGE 400; ERR_ABSENT 404; ERR_CONFLICT 409;
 *   ERR_FULL, ERR_IO 503 with Retry-After; all others 500.
 * A field with a "/" is the path of a file. The path and the sentence, which may quote the file, are
 * left out.
 *
 * Streams. pull runs on the worker's thread, never concurrently. It writes at most max bytes and
 * returns their number, or
 *   REPLY_LATER   nothing yet: pull is called again after poll_ms, or sooner if the worker has other
 *                 work, so it must be cheap;
 *   REPLY_END     the end;
 *   REPLY_BROKEN  the connection is cut, so that the peer sees that the body is short.
 * pull must not block, because all clients of the worker would wait. done is called exactly once, also
 * if the reply is never sent.
 *
 * Waiting. An answer that depends on another thread comes later. ready is called whenever the worker
 * is woken (http_step); it must not block. Once it returns true the handler is called again with the
 * same request. The request's `waited` is then self, which now belongs to the handler. If the client
 * leaves or the daemon stops before that, done is called instead.
 *
 * A reply contains pointers into itself: do not copy it. Threads: not shared. */
#ifndef SERVE_REPLY_H
#define SERVE_REPLY_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REPLY_HEADERS 24
#define REPLY_VALUE 256

enum { REPLY_LATER = 0, REPLY_END = -1, REPLY_BROKEN = -2 };

struct reply_stream {
    ssize_t (*pull)(void *self, char *buf, size_t max);
    void (*done)(void *self); /* may be NULL */
    void *self;
    int poll_ms;    /* 1 .. 1000; 5 suits paced media, 100 suits events */
    int64_t length; /* bytes in all, sent as Content-Length; -1: unknown, sent chunked */
    bool endless;   /* no end of its own: a stopping daemon does not wait for it */
};

struct reply_wait {
    bool (*ready)(void *self);
    void (*done)(void *self);
    void *self;
};

enum reply_body {
    REPLY_EMPTY,
    REPLY_COPY,
    REPLY_STATIC,
    REPLY_OWNED,
    REPLY_FILE,
    REPLY_STREAM,
    REPLY_WAIT
};

struct reply {
    int status;
    bool close; /* close the connection after this answer */
    int n_headers;
    struct {
        const char *name;  /* string constant */
        const char *value; /* string constant, or text */
        char text[REPLY_VALUE];
    } header[REPLY_HEADERS];
    enum reply_body kind;
    const void *data; /* COPY: borrowed until http.c has sent the reply */
    size_t n;         /* bytes of data or of the file */
    int fd;
    struct reply_stream stream;
    struct reply_wait wait;
};

void reply_init(struct reply *r);
/* Frees what the reply holds: file, heap block or stream. */
void reply_drop(struct reply *r);

/* The last call wins and frees the earlier body. type is a string constant. */
void reply_empty(struct reply *r, int status);
void reply_copy(struct reply *r, int status, const char *type, const void *data,
                size_t n);
void reply_static(struct reply *r, int status, const char *type, const void *data,
                  size_t n);
void reply_owned(struct reply *r, int status, const char *type, void *data, size_t n);
void reply_file(struct reply *r, int status, const char *type, int fd, size_t n);
void reply_stream(struct reply *r, int status, const char *type,
                  const struct reply_stream *stream);

/* The answer comes later; headers set so far are dropped. */
void reply_wait(struct reply *r, const struct reply_wait *wait);

/* Sets a header, or replaces its value. Control characters in the value become spaces. A value that is
 * too long is a bug. */
void reply_header(struct reply *r, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same without a copy: value is a string constant without control characters. */
void reply_constant(struct reply *r, const char *name, const char *value);
/* NULL if it was not set. */
const char *reply_header_get(const struct reply *r, const char *name);

/* field may be "". */
void reply_fail(struct reply *r, int status, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void reply_err(struct reply *r, const struct err *e);
/* Adds "request": id to an error of reply_fail or reply_err, and nothing to other bodies. id needs no
 * escaping. */
void reply_error_id(struct reply *r, const char *id);

#endif
