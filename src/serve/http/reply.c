#include "serve/http/reply.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "serve/wire/emit.h"

void reply_init(struct reply *r)
{
    /* not the headers: 4 KB that are never read */
    r->status = 500;
    r->close = false;
    r->n_headers = 0;
    r->kind = REPLY_EMPTY;
    r->data = NULL;
    r->n = 0;
    r->fd = -1;
    r->stream = (struct reply_stream){0};
}

void reply_drop(struct reply *r)
{
    if (r->kind == REPLY_OWNED) free((void *)(uintptr_t)r->data);
    if (r->kind == REPLY_FILE) close(r->fd);
    if (r->kind == REPLY_STREAM && r->stream.done) r->stream.done(r->stream.self);
    if (r->kind == REPLY_WAIT) r->wait.done(r->wait.self);
    r->kind = REPLY_EMPTY;
    r->data = NULL;
    r->n = 0;
    r->fd = -1;
}

static void body(struct reply *r, int status, const char *type, enum reply_body kind,
                 const void *data, size_t n)
{
    reply_drop(r);
    r->status = status;
    r->kind = kind;
    r->data = data;
    r->n = n;
    reply_constant(r, "Content-Type", type);
}

void reply_empty(struct reply *r, int status)
{
    reply_drop(r);
    r->status = status;
}

void reply_copy(struct reply *r, int status, const char *type, const void *data, size_t n)
{
    body(r, status, type, REPLY_COPY, data, n);
}

void reply_static(struct reply *r, int status, const char *type, const void *data,
                  size_t n)
{
    body(r, status, type, REPLY_STATIC, data, n);
}

void reply_owned(struct reply *r, int status, const char *type, void *data, size_t n)
{
    body(r, status, type, REPLY_OWNED, data, n);
}

void reply_file(struct reply *r, int status, const char *type, int fd, size_t n)
{
    body(r, status, type, REPLY_FILE, NULL, n);
    r->fd = fd;
}

void reply_stream(struct reply *r, int status, const char *type,
                  const struct reply_stream *stream)
{
    assert(stream->pull && stream->poll_ms >= 1 && stream->poll_ms <= 1000);
    body(r, status, type, REPLY_STREAM, NULL, 0);
    r->stream = *stream;
}

void reply_wait(struct reply *r, const struct reply_wait *wait)
{
    assert(wait->ready && wait->done && wait->self);
    reply_drop(r);
    r->kind = REPLY_WAIT;
    r->n_headers = 0;
    r->wait = *wait;
}

/* Index of the header of that name, or of a new one. */
static int place_of(struct reply *r, const char *name)
{
    int at = 0;
    while (at < r->n_headers && strcasecmp(r->header[at].name, name) != 0)
        at++;
    assert(at < REPLY_HEADERS);
    if (at == r->n_headers) r->n_headers++;
    r->header[at].name = name;
    return at;
}

void reply_header(struct reply *r, const char *name, const char *fmt, ...)
{
    int at = place_of(r, name);
    char *text = r->header[at].text;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, REPLY_VALUE, fmt, ap);
    va_end(ap);
    assert(n >= 0 && n < REPLY_VALUE);

    r->header[at].value = text;
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
}

void reply_constant(struct reply *r, const char *name, const char *value)
{
    int at = place_of(r, name);
    r->header[at].value = value;
}

const char *reply_header_get(const struct reply *r, const char *name)
{
    for (int i = 0; i < r->n_headers; i++)
        if (strcasecmp(r->header[i].name, name) == 0) return r->header[i].value;
    return NULL;
}

static void fail_word(struct reply *r, int status, const char *word, const char *field,
                      const char *detail)
{
    struct emit o = {0};
    emit_open(&o, '{');
    emit_key(&o, "error");
    emit_string(&o, word);
    emit_key(&o, "field");
    emit_string(&o, field);
    emit_key(&o, "detail");
    emit_string(&o, detail);
    emit_close(&o, '}');
    emit_raw(&o, "\n", 1);

    if (o.failed) {
        emit_free(&o);
        reply_empty(r, status);
    } else {
        reply_owned(r, status, "application/json", o.at, o.n);
    }
    if (status == 503 || status == 429) reply_header(r, "Retry-After", "5");
}

void reply_error_id(struct reply *r, const char *id)
{
    static const char end[] = "}\n";
    size_t n_end = sizeof end - 1;
    if (r->kind != REPLY_OWNED || r->status < 400 || r->n < n_end) return;
    size_t room = r->n + strlen(id) + sizeof ",\"request\":\"\"";
    char *more = realloc((void *)(uintptr_t)r->data, room);
    if (!more) return;
    r->data = more;
    size_t at = r->n - n_end;
    r->n = at + (size_t)snprintf(more + at, room - at, ",\"request\":\"%s\"%s", id, end);
}

/* The word of {"error": ...}, on which a program may switch. */
static const char *status_word(int status)
{
    switch (status) {
    case 400:
        return "invalid";
    case 401:
        return "unauthorized";
    case 403:
        return "forbidden";
    case 404:
        return "absent";
    case 405:
        return "method";
    case 409:
        return "conflict";
    case 413:
    case 414:
    case 431:
        return "too_large";
    case 505:
        return "invalid";
    case 416:
        return "range";
    case 429:
        return "too_many";
    case 502:
    case 504:
        return "origin";
    case 503:
        return "unavailable";
    default:
        return "internal";
    }
}

void reply_fail(struct reply *r, int status, const char *field, const char *fmt, ...)
{
    char detail[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(detail, sizeof detail, fmt, ap);
    va_end(ap);
    fail_word(r, status, status_word(status), field, detail);
}

void reply_err(struct reply *r, const struct err *e)
{
    int status = 500;
    switch (e->code) {
    case ERR_INVALID:
    case ERR_RANGE:
        status = 400;
        break;
    case ERR_ABSENT:
        status = 404;
        break;
    case ERR_CONFLICT:
        status = 409;
        break;
    case ERR_FULL:
    case ERR_IO:
        status = 503;
        break;
    default:
        break;
    }
    /* "range" is more specific than "invalid" */
    const char *word = e->code == ERR_RANGE ? err_word(e->code) : status_word(status);
    if (!strchr(e->field, '/')) {
        fail_word(r, status, word, e->field, e->detail);
        return;
    }
    /* an error of a file: the field is its path, and the sentence may quote its contents */
    bool plain = e->code == ERR_IO && !strchr(e->detail, '/');
    fail_word(r, status, word, "",
              plain ? e->detail : "a file of the daemon is faulty; see its log");
}
