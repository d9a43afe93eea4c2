/* reply.h - one HTTP answer, filled by a handler and sent by http.c.
 *
 * A reply starts as 500 (a handler that forgets to answer is a bug that must show). The
 * body is one of: bytes (copied), bytes that live for ever, a heap block (taken), an open
 * file (taken), or a stream. Or there is no answer yet: see reply_wait.
 *
 * Errors of the API are JSON: {"error": word, "field": "", "detail": sentence}; reply_err
 * turns a struct err into one, with the status that belongs to its code:
 *   ERR_INVALID, ERR_RANGE 400; ERR_ABSENT 404; ERR_CONFLICT 409;
 *   ERR_FULL, ERR_IO 503 with Retry-After; everything else 500.
 * A field with a "/" is the path of a file. It is left out, and so is what the file holds.
 *
 * Streams. pull is called on the worker's thread, never concurrently; it fills at most
 * max bytes and returns how many, REPLY_LATER (nothing yet: asked again after poll_ms, or
 * sooner when the worker has other work, so it must be cheap), REPLY_END or REPLY_BROKEN
 * (the connection is cut, so that the peer sees that the body is short). It must not
 * block: all clients of the worker wait. done is called exactly once, whatever happens,
 * also when the reply was never sent.
 *
 * Waiting. An answer that hangs on somebody else comes later: once ready says so the handler is
 * called again with the same request, whose `waited` is self and from then on the handler's.
 * ready is asked when the worker is woken (http_step); it must not block. If the client leaves or
 * the daemon stops before that, done is called instead.
 *
 * A reply points into itself: it is not copied. Threads: not shared. */
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
    int64_t length; /* bytes in all, sent as Content-Length; -1 = unknown, sent chunked */
    bool
        endless; /* it ends when the client leaves or the daemon stops, which does not wait */
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
    bool close; /* the connection ends with this answer */
    int n_headers;
    struct {
        const char *name;  /* lives for ever */
        const char *value; /* likewise, or text */
        char text[REPLY_VALUE];
    } header[REPLY_HEADERS];
    enum reply_body kind;
    const void *data; /* COPY: borrowed until the handler has returned and http.c sent */
    size_t n;         /* bytes of data or of the file */
    int fd;
    struct reply_stream stream;
    struct reply_wait wait;
};

void reply_init(struct reply *r);
/* Gives back what the reply holds (file, heap block, stream). */
void reply_drop(struct reply *r);

/* The last call wins; what an earlier body held is given back. type lives for ever. */
void reply_empty(struct reply *r, int status);
void reply_copy(struct reply *r, int status, const char *type, const void *data,
                size_t n);
void reply_static(struct reply *r, int status, const char *type, const void *data,
                  size_t n);
void reply_owned(struct reply *r, int status, const char *type, void *data, size_t n);
void reply_file(struct reply *r, int status, const char *type, int fd, size_t n);
void reply_stream(struct reply *r, int status, const char *type,
                  const struct reply_stream *stream);

/* The answer comes later; headers set so far are forgotten. */
void reply_wait(struct reply *r, const struct reply_wait *wait);

/* Adds a header. Control characters in the value become spaces; a value that is too long
 * is a bug. Setting a name twice replaces the value. */
void reply_header(struct reply *r, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with a value that lives for ever and holds no control character: nothing is copied. */
void reply_constant(struct reply *r, const char *name, const char *value);
/* NULL when it was not set. */
const char *reply_header_get(const struct reply *r, const char *name);

/* field may be "". */
void reply_fail(struct reply *r, int status, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void reply_err(struct reply *r, const struct err *e);
/* Adds "request": id to an error made by the two above; nothing to other bodies. id needs no
 * escaping. */
void reply_error_id(struct reply *r, const char *id);

#endif
