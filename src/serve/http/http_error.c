/* Errors that the library would answer by itself.
 *
 * Its answers are HTML pages. A malformed Content-Length and too many cookies get two heads, too many
 * parameters get none. The library does not name the connection: it writes a line to its log, in the
 * middle of the request, and then sends. So these errors are answered from within that log call: our
 * answer goes to the socket first, then the end of the connection, so that the library cannot send.
 *
 * The connection has to be found. A connection whose request is certainly at fault is answered; so is
 * the only one within a request. Otherwise the library's own answer stands. It is counted and logged
 * all the same. */
#include "http_priv.h"

#include <limits.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Connections checked for one error, the latest first: each costs two system calls. */
enum { SUSPECTS = 64 };
/* Unread bytes are read before the close, or the client's system may drop the answer. */
enum { DROP_BLOCK = 4096, DROP_BLOCKS = 16 };

void http_error_send(struct conn *c, struct reply *r)
{
    int fd = http_socket(c), at = 0;
    char head[1024];
    c->rejected = true;
    r->close = true;
    http_refused(c->http, c->mhd, r);
    at = snprintf(head, sizeof head,
                  "HTTP/1.1 %d %s\r\nConnection: close\r\nDate: %s\r\n", r->status,
                  MHD_get_reason_phrase_for((unsigned)r->status), c->http->date);
    for (int i = 0; i < r->n_headers && at < (int)sizeof head; i++)
        at += snprintf(head + at, sizeof head - (size_t)at, "%s: %s\r\n",
                       r->header[i].name, r->header[i].value);
    size_t n = r->kind == REPLY_EMPTY ? 0 : r->n;
    if (at < (int)sizeof head)
        at += snprintf(head + at, sizeof head - (size_t)at, "Content-Length: %zu\r\n\r\n",
                       n);
    if (at < (int)sizeof head) {
        struct iovec part[] = {{head, (size_t)at}, {(void *)(uintptr_t)r->data, n}};
        struct msghdr m = {.msg_iov = part, .msg_iovlen = n ? 2 : 1};
        /* the socket's buffer is empty, so it takes these few bytes at once */
        (void)!sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    char block[DROP_BLOCK];
    for (int i = 0; i < DROP_BLOCKS && recv(fd, block, sizeof block, MSG_DONTWAIT) > 0;)
        i++;
    shutdown(fd, SHUT_RDWR);
    reply_drop(r);
}

/* ---- before the library: the request line ---- */

void *http_error_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    struct http *h = cls;
    struct conn *c = http_conn(mhd);
    if (!c) return NULL;
    c->heading = true;
    c->bad_target = false;
    http_recent(c);

    size_t n = 0, parameters = 0;
    for (; uri[n]; n++) {
        unsigned char b = (unsigned char)uri[n];
        if (b <= ' ' || b == 0x7f) c->bad_target = true;
        parameters += b == '?' || b == '&';
    }
    if (n + parameters * HTTP_FIELD_BYTES > h->cfg.header_max) {
        struct reply r;
        reply_init(&r);
        reply_fail(
            &r, 414, "",
            "the address has %zu bytes and %zu parameters, each counted as %d more "
            "bytes: the limit is %zu",
            n, parameters, HTTP_FIELD_BYTES, h->cfg.header_max);
        http_error_send(c, &r);
    }
    return NULL;
}

/* ---- within the library ---- */

static size_t values(const struct conn *c, enum MHD_ValueKind kind)
{
    int n = MHD_get_connection_values(c->mhd, kind, NULL, NULL);
    return n > 0 ? (size_t)n : 0;
}

size_t http_error_memory(const struct conn *c, size_t head)
{
    const char *cookie = MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, "Cookie");
    size_t n = values(c, MHD_HEADER_KIND) + values(c, MHD_COOKIE_KIND) +
               values(c, MHD_GET_ARGUMENT_KIND);
    return head + n * HTTP_FIELD_BYTES + (cookie ? strlen(cookie) + 1 : 0);
}

/* Bytes of the current request that the library has read. */
static size_t read_of_request(const struct conn *c)
{
    struct tcp_info info;
    socklen_t n = sizeof info;
    int unread = 0, fd = http_socket(c);
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) || ioctl(fd, FIONREAD, &unread))
        return 0;
    uint64_t done = c->consumed + (uint64_t)unread;
    return info.tcpi_bytes_received > done ? (size_t)(info.tcpi_bytes_received - done)
                                           : 0;
}

static bool bad_length(const struct conn *c)
{
    const char *n =
        MHD_lookup_connection_value(c->mhd, MHD_HEADER_KIND, "Content-Length");
    size_t digits = n ? strspn(n, "0123456789") : 0;
    return n && (digits == 0 || n[digits] || digits > 18);
}

enum suspicion { NO, MAYBE, YES };

/* True if this connection may have caused the error. */
static enum suspicion suspect(const struct conn *c, unsigned status)
{
    if (c->rejected || c->answering) return NO;
    if (c->busy) return c->chunked ? MAYBE : NO;
    size_t read = read_of_request(c);
    if (!read) return NO;
    if (status == 414 || status == 431) {
        size_t used = c->heading ? http_error_memory(c, read) : read;
        return used > c->http->memory / 2 ? YES : MAYBE;
    }
    return c->heading && bad_length(c) ? YES : MAYBE;
}

static void error_reply(struct reply *r, const struct conn *c, unsigned status)
{
    const struct http_cfg *cfg = &c->http->cfg;
    if (status == 414)
        reply_fail(r, 414, "", "the first line is over the limit of %zu bytes",
                   cfg->header_max);
    else if (status == 431)
        http_head_too_large(r, cfg);
    else if (status == 413)
        reply_fail(r, 413, "", "the body is over the limit of %zu bytes", cfg->body_max);
    else if (!c->busy && c->heading && bad_length(c))
        reply_fail(r, 400, "Content-Length", "is not a number");
    else if (c->busy)
        reply_fail(r, 400, "", "the chunks of the body are malformed");
    else
        reply_fail(r, 400, "", "the head of the request is malformed");
}

/* The connection that caused the error; NULL if unknown. *again: the error may belong to one that was
 * answered and is not closed yet. */
static struct conn *find_guilty(struct http *h, unsigned status, bool *again)
{
    struct conn *lists[] = {h->staying, h->leaving}, *only = NULL;
    int left = SUSPECTS;
    bool alone = true;
    for (int i = 0; i < 2; i++)
        for (struct conn *c = lists[i]; c; c = c->next) {
            if (left-- == 0) return NULL;
            enum suspicion s = suspect(c, status);
            if (c->rejected) *again = true;
            if (s == YES) return c;
            if (s == NO) continue;
            if (only) alone = false;
            only = c;
        }
    return alone ? only : NULL;
}

void http_error_log(void *cls, const char *format, va_list args)
{
    struct http *h = cls;
    if (!strstr(format, "(HTTP response code is %u")) return;
    unsigned status = va_arg(args, unsigned);
    if (!h->daemon) return;
    bool again = false;
    struct conn *c = find_guilty(h, status, &again);
    struct reply r;
    reply_init(&r);
    if (c) {
        error_reply(&r, c, status);
        http_error_send(c, &r);
        return;
    }
    if (again) return;
    reply_fail(&r, (int)status, "", "the request is malformed or too large");
    http_refused(h, NULL, &r);
    reply_drop(&r);
}
