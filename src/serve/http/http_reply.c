/* Answers: from a struct reply to a response of the library. */
#include "http_priv.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STREAM_BLOCK ((size_t)32 << 10)

/* ---- streams ---- */

struct stream {
    struct http *http;
    struct conn *conn;
    struct reply_stream source;
    bool idle; /* the last pull returned REPLY_LATER */
    struct stream *prev, *next;
};

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
    /* the library does not read from a client that waits for data, so look for its FIN */
    if (n == REPLY_LATER && http_half_closed(s->conn)) n = REPLY_BROKEN;
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
    s->http->stats.endless -= s->source.endless;
    if (s->source.done) s->source.done(s->source.self);
    free(s);
}

static struct MHD_Response *stream_response(struct conn *c, struct reply *r)
{
    struct http *h = c->http;
    struct stream *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    *s = (struct stream){.http = h, .conn = c, .source = r->stream, .next = h->streams};
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
    h->stats.endless += s->source.endless;
    return m;
}

/* ---- files ----
 *
 * The library's own response from a descriptor uses sendfile. That may send less than the socket takes,
 * and the library then waits for an edge of epoll that never comes, until another event wakes it: a page
 * got the first 200 KB of a script, and the rest a quarter of a minute later. */

struct file {
    int fd;
};

static ssize_t file_pull(void *cls, uint64_t pos, char *buf, size_t max)
{
    const struct file *f = cls;
    ssize_t n = pread(f->fd, buf, max, (off_t)pos);
    return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR; /* the file shrank */
}

static void file_done(void *cls)
{
    struct file *f = cls;
    close(f->fd);
    free(f);
}

static struct MHD_Response *file_response(const struct reply *r)
{
    struct file *f = malloc(sizeof *f);
    if (!f) return NULL;
    f->fd = r->fd;
    struct MHD_Response *m =
        MHD_create_response_from_callback(r->n, STREAM_BLOCK, file_pull, f, file_done);
    if (!m) free(f);
    return m;
}

int http_reply_poll_ms(const struct http *h)
{
    int soonest = INT_MAX;
    for (const struct stream *s = h->streams; s; s = s->next)
        if (s->idle && s->source.poll_ms < soonest) soonest = s->source.poll_ms;
    return soonest;
}

/* ---- reused responses ----
 *
 * A response of the library costs about twenty allocations, mostly copies of headers that never
 * change. So the responses of short answers with constant headers are kept, one per length (modulo
 * HTTP_SHELF). Each has its own body, which is overwritten. A response that is being sent belongs to
 * its connection. */

enum { KEPT_HEADERS = 6, KEPT_BYTES = 2048 };

struct kept {
    struct MHD_Response *mhd;
    int64_t second; /* of its Date header */
    int n_headers;
    const char *name[KEPT_HEADERS], *value[KEPT_HEADERS];
    size_t n;
    char body[];
};

static void kept_free(struct kept *k)
{
    if (!k) return;
    MHD_destroy_response(k->mhd);
    free(k);
}

static bool may_be_kept(const struct reply *r)
{
    if ((r->kind != REPLY_COPY && r->kind != REPLY_EMPTY) || r->n > KEPT_BYTES ||
        r->close || r->n_headers > KEPT_HEADERS)
        return false;
    for (int i = 0; i < r->n_headers; i++)
        if (r->header[i].value == r->header[i].text) return false;
    return true;
}

static bool fits(const struct kept *k, const struct reply *r)
{
    if (k->n != r->n || k->n_headers != r->n_headers) return false;
    for (int i = 0; i < r->n_headers; i++)
        if (k->name[i] != r->header[i].name || k->value[i] != r->header[i].value)
            return false;
    return true;
}

static void put_headers(struct MHD_Response *m, const struct reply *r)
{
    for (int i = 0; i < r->n_headers; i++)
        if (r->header[i].value[0])
            MHD_add_response_header(m, r->header[i].name, r->header[i].value);
}

static struct kept *kept_new(const struct reply *r)
{
    struct kept *k = calloc(1, sizeof *k + r->n);
    if (!k) return NULL;
    k->mhd = MHD_create_response_from_buffer(r->n, k->body, MHD_RESPMEM_PERSISTENT);
    if (!k->mhd) {
        free(k);
        return NULL;
    }
    put_headers(k->mhd, r);
    k->second = -1;
    k->n = r->n;
    k->n_headers = r->n_headers;
    for (int i = 0; i < r->n_headers; i++) {
        k->name[i] = r->header[i].name;
        k->value[i] = r->header[i].value;
    }
    return k;
}

static struct kept *kept_take(struct http *h, const struct reply *r)
{
    struct kept **place = &h->shelf[r->n % HTTP_SHELF], *k = *place;
    if (k && fits(k, r))
        *place = NULL;
    else
        k = kept_new(r);
    if (!k) return NULL;
    if (k->second != h->second) MHD_add_response_header(k->mhd, "Date", h->date);
    k->second = h->second;
    memcpy(k->body, r->n ? r->data : "", r->n);
    return k;
}

void http_reply_done(struct conn *c)
{
    struct kept *k = c->kept;
    if (!k) return;
    struct kept **place = &c->http->shelf[k->n % HTTP_SHELF];
    kept_free(*place);
    *place = k;
    c->kept = NULL;
}

void http_reply_clear(struct http *h)
{
    for (int i = 0; i < HTTP_SHELF; i++)
        kept_free(h->shelf[i]);
}

/* ---- all answers ---- */

/* RFC 9110, 5.6.7. The library would format it for each answer. */
void http_reply_date(struct http *h, double now_s)
{
    static const char days[] = "SunMonTueWedThuFriSat",
                      months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    if (h->second == (int64_t)now_s) return;
    time_t t = (time_t)now_s;
    struct tm d;
    h->second = t;
    gmtime_r(&t, &d);
    snprintf(h->date, sizeof h->date, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT",
             days + 3 * d.tm_wday, d.tm_mday, months + 3 * d.tm_mon,
             (d.tm_year + 1900) % 10000, d.tm_hour, d.tm_min, d.tm_sec);
}

/* NULL: no memory; the reply still holds its body then. */
static struct MHD_Response *make_response(struct conn *c, struct reply *r)
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
        m = file_response(r);
        break;
    case REPLY_STREAM:
        m = stream_response(c, r);
        break;
    case REPLY_WAIT: /* not an answer: http.c handles it */
        break;
    }
    if (!m) return NULL;
    r->kind = REPLY_EMPTY; /* the body now belongs to the library */
    put_headers(m, r);
    /* Date last: a Connection header makes the library forget that it has one */
    if (r->close) MHD_add_response_header(m, "Connection", "close");
    MHD_add_response_header(m, "Date", c->http->date);
    return m;
}

enum MHD_Result http_reply_send(struct conn *c, struct reply *r, bool head)
{
    assert(!c->kept);
    if (may_be_kept(r)) {
        c->kept = kept_take(c->http, r);
        reply_drop(r);
        return c->kept ? MHD_queue_response(c->mhd, (unsigned)r->status, c->kept->mhd)
                       : MHD_NO;
    }

    bool endless = r->kind == REPLY_STREAM && r->stream.length < 0;
    struct MHD_Response *m = make_response(c, r);
    reply_drop(r);
    if (!m) return MHD_NO;
    /* the library would send the end of a chunked body for HEAD */
    if (head && endless)
        MHD_set_response_options(m, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    enum MHD_Result ok = MHD_queue_response(c->mhd, (unsigned)r->status, m);
    MHD_destroy_response(m);
    return ok;
}
