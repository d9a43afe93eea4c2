#include "serve/http/http.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/wire/emit.h"
#include "serve/http/listen.h"
#include "support/raw.h"
#include "support/suites.h"

/* A server in a thread of its own, whose handler echoes the request. */
struct server {
    struct http *http;
    int port, wake;
    pthread_t thread;
    double cpu_s; /* of the thread, when it ended */
    struct http_stats stats;
    _Atomic bool quit;
    _Atomic int pulls, done, release;
};

static struct server srv;

static ssize_t tick(void *self, char *buf, size_t max)
{
    int *left = self;
    srv.pulls++;
    if (!srv.release) return REPLY_LATER;
    if (*left == 0) return REPLY_END;
    ck_assert_uint_ge(max, 2);
    memcpy(buf, "ab", 2);
    --*left;
    return 2;
}

static ssize_t broken(void *self, char *buf, size_t max)
{
    int *left = self;
    if (--*left < 0) return REPLY_BROKEN;
    memset(buf, 'x', max < 10 ? max : 10);
    return max < 10 ? (ssize_t)max : 10;
}

static void tick_done(void *self)
{
    srv.done++;
    free(self);
}

static void stream(struct reply *r, ssize_t (*pull)(void *, char *, size_t), int n,
                   int64_t length)
{
    int *left = malloc(sizeof *left);
    *left = n;
    reply_stream(r, 200, "text/plain",
                 &(struct reply_stream){.pull = pull,
                                        .done = tick_done,
                                        .self = left,
                                        .poll_ms = 5,
                                        .length = length});
}

static void handle(void *ctx, const struct http_request *q, struct reply *r)
{
    (void)ctx;
    if (strcmp(q->path, "/later") == 0) {
        stream(r, tick, 3, -1);
    } else if (strcmp(q->path, "/sized") == 0) {
        stream(r, tick, 3, 6);
    } else if (strcmp(q->path, "/broken") == 0) {
        stream(r, broken, 2, 100);
    } else if (strcmp(q->path, "/err") == 0) {
        struct err e = {0};
        err_field(&e, ERR_RANGE, "<b>\n", "a \"quoted\" thing \xff");
        reply_err(r, &e);
    } else if (strcmp(q->path, "/forgotten") == 0) {
        return;
    } else if (strncmp(q->path, "/short", 6) == 0) {
        /* headers that never change, and as many bytes as the path: a response used again */
        reply_constant(r, "X-Kind", q->path[6] == 'b' ? "other" : "short");
        reply_copy(r, q->path[6] == 'c' ? 404 : 200, "text/plain", q->path,
                   strlen(q->path));
    } else {
        char a[64];
        if (http_query(a, sizeof a, q, "a", NULL) <= 0) strcpy(a, "-");
        const char *type = http_header(q, "content-type");
        struct emit o = {0};
        emit_text(&o, "%s %s a=%s type=%s body=%zu:", http_method_name(q->method),
                  q->path, a, type ? type : "-", q->n_body);
        emit_raw(&o, q->body, q->n_body);
        reply_owned(r, 200, "text/plain", o.at, o.n);
    }
}

static void *serve(void *ctx)
{
    struct server *s = ctx;
    while (!s->quit)
        http_step(s->http, s->wake, 1000);
    s->stats = http_stats(s->http);
    http_free(s->http);
    s->cpu_s = clock_thread_cpu();
    return NULL;
}

static void start_with(const struct http_cfg *cfg)
{
    struct err e = {0};
    memset(&srv, 0, sizeof srv);
    int fd = listen_open("127.0.0.1", &srv.port, &e);
    ck_assert_msg(fd >= 0, "%s", e.detail);
    srv.http = http_new(cfg, fd, handle, NULL, &e);
    ck_assert_msg(srv.http != NULL, "%s", e.detail);
    close(fd);
    srv.wake = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(pthread_create(&srv.thread, NULL, serve, &srv), 0);
}

static void start(void)
{
    struct http_cfg cfg = http_cfg_default();
    start_with(&cfg);
}

static void stop(void)
{
    if (!srv.http) return;
    srv.quit = true;
    ck_assert_int_eq(eventfd_write(srv.wake, 1), 0);
    pthread_join(srv.thread, NULL);
    close(srv.wake);
    srv.http = NULL;
}

static struct raw_answer a;

TEST(a_request_arrives_whole)
{
    raw_ask(&a, srv.port,
            "POST /x%2fy?a=1%202&b=3 HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
            "Content-Length: 5\r\n\r\nhello");
    ck_assert_int_eq(a.status, 200);
    ck_assert_str_eq(a.body, "POST /x%2fy a=1 2 type=text/plain body=5:hello");
}

TEST(bytes_may_come_one_by_one)
{
    const char *text =
        "POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n{\"chunk\": 1}";
    int fd = raw_connect(srv.port);
    for (const char *p = text; *p; p++)
        raw_send(fd, p, 1);
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "POST /s a=- type=- body=12:{\"chunk\": 1}");
    close(fd);
}

TEST(chunked_bodies_are_read)
{
    raw_ask(&a, srv.port,
            "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    ck_assert_str_eq(a.body, "POST /c a=- type=- body=5:abcde");
}

TEST(pipelined_requests_are_answered_in_order)
{
    int fd = raw_connect(srv.port);
    raw_text(fd, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"
                 "POST /2 HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nok"
                 "HEAD /3 HTTP/1.1\r\nHost: h\r\n\r\n"
                 "GET /4 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "GET /1 a=- type=- body=0:");
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "POST /2 a=- type=- body=2:ok");
    raw_head(&a, fd);
    ck_assert_int_eq(a.status, 200);
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "GET /4 a=- type=- body=0:");
    close(fd);
}

/* The status, the kind, the length and the body are each request's own, and the Date is
 * there once. */
TEST(reused_responses_have_new_contents)
{
    static const struct {
        const char *path, *kind;
        int status;
    } ask[] = {{"/short1", "short", 200},  {"/short2", "short", 200},
               {"/shortb", "other", 200},  {"/shortc", "short", 404},
               {"/short34", "short", 200}, {"/short5", "short", 200},
               {"/shortb", "other", 200}};
    char text[256];
    int fd = raw_connect(srv.port), other = raw_connect(srv.port);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
            snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: h\r\n\r\n",
                     ask[i].path);
            raw_text(i % 2 ? other : fd, text);
            raw_answer(&a, i % 2 ? other : fd);
            ck_assert_int_eq(a.status, ask[i].status);
            ck_assert_str_eq(a.body, ask[i].path);
            ck_assert_str_eq(raw_header(&a, "X-Kind"), ask[i].kind);
            int day, year, h, m, s;
            char week[4], month[4];
            ck_assert_int_eq(sscanf(raw_header(&a, "Date"),
                                    "%3s, %2d %3s %4d %2d:%2d:%2d GMT", week, &day, month,
                                    &year, &h, &m, &s),
                             7);
            const char *once = strstr(a.head, "Date:");
            ck_assert_ptr_null(strstr(once + 1, "Date:"));
        }

    /* several on their way at the same time */
    raw_text(fd, "GET /short7 HTTP/1.1\r\nHost: h\r\n\r\n"
                 "HEAD /short8 HTTP/1.1\r\nHost: h\r\n\r\n"
                 "GET /short9 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "/short7");
    raw_head(&a, fd);
    ck_assert_str_eq(raw_header(&a, "Content-Length"), "7");
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "/short9");
    close(fd);
    close(other);
}

TEST(headers_may_be_as_long_as_documented)
{
    char text[16384];
    size_t n =
        (size_t)snprintf(text, sizeof text, "GET /x HTTP/1.1\r\nHost: h\r\nX-Long: ");
    memset(text + n, 'x', 8100 - n);
    snprintf(text + 8100, sizeof text - 8100, "\r\n\r\n");
    raw_ask(&a, srv.port, text);
    ck_assert_int_eq(a.status, 200);
    memset(text + 8100, 'x', 4000);
    snprintf(text + 12100, sizeof text - 12100, "\r\n\r\n");
    raw_ask(&a, srv.port, text);
    ck_assert_int_ge(a.status, 400);
}

TEST(a_half_closed_client_gets_its_answer)
{
    int fd = raw_connect(srv.port);
    raw_text(fd, "POST /h HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi");
    shutdown(fd, SHUT_WR);
    raw_answer(&a, fd);
    ck_assert_int_eq(a.status, 200);
    ck_assert_int_eq(raw_closed(fd), 1);
    close(fd);
}

/* every one is refused and the connection closed: the bytes behind it are never a request
 */
static const struct {
    const char *text;
    int status;
} smuggled[] = {
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello",
     400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
     400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\nTransfer-Encoding: "
     "chunked\r\n\r\n"
     "0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length : 5\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
     "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5x\r\n\r\nhello", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5, 5\r\n\r\nhello", 400},
    {"GET / HTTP/1.1\r\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: h\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: h\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: h\r\n\n", 400},
    {"GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nX: y\nHost: h\r\n\r\n", 400},
    {"GET / HTTP/1.1\nHost: h\n\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nX: y\nContent-Length: 5\r\n\r\nhello", 400},
    {"GET / HTTP/1.1\r\nHost: h\r\nX: y\r\n folded\r\n\r\n", 400},
    {"GET / HTTP/1.1\r\nHost: h\r\n\tfolded\r\nX: y\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
     400},
    {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 16385\r\n\r\n", 413},
    {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
};

TEST(smuggling_is_refused)
{
    raw_ask(&a, srv.port, smuggled[_i].text); /* nothing need follow */
    ck_assert_int_eq(a.status, smuggled[_i].status);
    int fd = raw_connect(srv.port);
    raw_text(fd, smuggled[_i].text);
    raw_text(fd, "GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_answer(&a, fd);
    ck_assert_msg(a.status == smuggled[_i].status, "%d to %s", a.status,
                  smuggled[_i].text);
    ck_assert_str_eq(raw_header(&a, "Connection"), "close");
    const char *date = strstr(a.head, "Date:");
    ck_assert_ptr_nonnull(date);
    ck_assert_ptr_null(strstr(date + 1, "Date:"));
    ck_assert_ptr_null(strstr(a.body, "hidden"));

    /* nothing answers the second request; a Content-Length that is no number is refused
     * by the library itself, which sends its header twice */
    char rest[1024] = "";
    size_t n = 0;
    while (n + 1 < sizeof rest && recv(fd, rest + n, 1, 0) == 1)
        n++;
    ck_assert_uint_lt(n + 1, sizeof rest);
    ck_assert_ptr_null(strstr(rest, "hidden"));
    close(fd);
}

/* which says more than a string can */
static const struct {
    const char *text;
    size_t n;
    int status;
} lines[] = {
#define LINES(text, status)           \
    {                                 \
        text, sizeof text - 1, status \
    }
    LINES("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 400),
    LINES("GET / HTTP/1.1\r\nHost: h\0\r\nX: y\r\n\r\n", 400),
    /* what is not refused: blanks around values, empty ones, names once more */
    LINES("GET / HTTP/1.1\r\nHost: h\r\nX: a  \r\nX:\r\nX:b\r\nY: \t c\r\n\r\n", 200),
    LINES("GET /a?b=c&d HTTP/1.1\r\nHost: h\r\nCookie: a=b; c=d\r\nX: y\r\n\r\n", 200),
    LINES("\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 200),
    LINES("GET / HTTP/1.0\r\n\r\n", 200),
#undef LINES
};

TEST(every_line_ends_in_cr_lf)
{
    int fd = raw_connect(srv.port);
    raw_send(fd, lines[_i].text, lines[_i].n);
    raw_answer(&a, fd);
    ck_assert_int_eq(a.status, lines[_i].status);
    close(fd);
}

TEST(a_large_body_is_413_and_the_limit_itself_is_not)
{
    char *body = calloc(1, 16385);
    memset(body, 'x', 16384);
    char head[128];
    snprintf(head, sizeof head,
             "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n", 16384);
    int fd = raw_connect(srv.port);
    raw_text(fd, head);
    raw_text(fd, body);
    raw_answer(&a, fd);
    ck_assert_int_eq(a.status, 200);
    ck_assert_uint_gt(a.n_body, 16384);

    /* the same connection, chunked, one byte more */
    raw_text(fd,
             "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4000\r\n");
    raw_text(fd, body);
    raw_text(fd, "\r\n1\r\ny\r\n0\r\n\r\n");
    raw_answer(&a, fd);
    ck_assert_int_eq(a.status, 413);
    ck_assert_ptr_nonnull(strstr(a.body, "\"error\":\"too_large\""));
    ck_assert_int_eq(raw_closed(fd), 1);
    close(fd);
    free(body);
}

TEST(an_error_is_json_and_escaped)
{
    raw_ask(&a, srv.port, "GET /err HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_int_eq(a.status, 400);
    ck_assert_str_eq(a.body, "{\"error\":\"range\",\"field\":\"\\u003cb\\u003e\\u000a\","
                             "\"detail\":\"a \\u0022quoted\\u0022 thing \\ufffd\"}\n");
    raw_ask(&a, srv.port, "GET /forgotten HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_int_eq(a.status, 500);
}

static void wait_for(_Atomic int *what, int n)
{
    double until = clock_mono() + PATIENCE_S;
    while (*what < n) {
        ck_assert_msg(clock_mono() < until, "waited in vain");
        sched_yield();
    }
}

TEST(a_waiting_stream_blocks_no_client_and_takes_no_cpu)
{
    int fd = raw_connect(srv.port);
    raw_text(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&srv.pulls, 40); /* at 5 ms each: 200 ms of waiting */
    for (int i = 0; i < 20; i++) {
        raw_ask(&a, srv.port, "GET /quick HTTP/1.1\r\nHost: h\r\n\r\n");
        ck_assert_int_eq(a.status, 200);
    }

    /* asked a few times per request, not thousands of times */
    ck_assert_int_lt(srv.pulls, 2000);
    srv.release = 1;
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "ababab");

    /* and the connection goes on */
    raw_text(fd, "GET /next HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_answer(&a, fd);
    ck_assert_int_eq(a.status, 200);
    ck_assert_int_eq(srv.done, 1);
    close(fd);
}

TEST(streams_with_a_length_and_broken_ones)
{
    srv.release = 1;
    raw_ask(&a, srv.port, "GET /sized HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_str_eq(raw_header(&a, "Content-Length"), "6");
    ck_assert_str_eq(a.body, "ababab");
    raw_ask(&a, srv.port, "GET /broken HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_uint_eq(a.n_body, 20); /* and then the end, 80 bytes early */

    int fd = raw_connect(srv.port);
    raw_text(fd, "HEAD /sized HTTP/1.1\r\nHost: h\r\n\r\n"
                 "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
                 "HEAD /later HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_head(&a, fd);
    ck_assert_int_eq(a.status, 200);
    raw_answer(&a, fd);
    ck_assert_str_eq(a.body, "GET /x a=- type=- body=0:");
    raw_head(&a, fd);
    ck_assert_int_eq(a.status, 200);
    ck_assert_int_eq(raw_closed(fd), 1);
    close(fd);
    wait_for(&srv.done, 4);
}

/* neither waits for the timeout of a minute */
TEST(clients_that_leave_within_a_request_are_closed)
{
    int half = raw_connect(srv.port), idle = raw_connect(srv.port);
    raw_text(half, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhal");
    shutdown(half, SHUT_WR);
    shutdown(idle, SHUT_WR);
    ck_assert_int_eq(raw_closed(half), 1);
    ck_assert_int_eq(raw_closed(idle), 1);
    close(half);
    close(idle);
}

TEST(a_request_that_never_ends_is_cut)
{
    stop();
    struct http_cfg cfg = http_cfg_default();
    cfg.request_s = .05;
    start_with(&cfg);
    /* bytes trickle, in the head and in the body */
    static const char *const begun[] = {
        "GET / HTTP/1.1\r\nHost: h\r\nX: ",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9000\r\n\r\n"};
    for (int i = 0; i < 2; i++) {
        int fd = raw_connect(srv.port);
        raw_text(fd, begun[i]);
        char c;
        while (recv(fd, &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
            raw_text(fd, "x");
            poll(NULL, 0, 5);
        }
        ck_assert_int_eq(raw_closed(fd), 1);
        close(fd);
    }
}

TEST(when_all_places_are_taken_the_slowest_are_closed)
{
    stop();
    struct http_cfg cfg = http_cfg_default();
    cfg.max_connections = 10;
    cfg.crowded_s = .05;
    start_with(&cfg);
    int slow[10];
    for (int i = 0; i < 10; i++) {
        slow[i] = raw_connect(srv.port);
        raw_text(slow[i], "GET / HTTP/1.1\r\nHo");
    }
    raw_ask(&a, srv.port, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    ck_assert_int_eq(a.status, 200);
    for (int i = 0; i < 10; i++)
        close(slow[i]);
}

TEST(a_watcher_that_leaves_is_noticed)
{
    int fd = raw_connect(srv.port);
    raw_text(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_head(&a, fd);
    close(fd);
    wait_for(&srv.done, 1);
}

TEST(stopping_ends_open_streams)
{
    int fd = raw_connect(srv.port);
    raw_text(fd, "GET /later HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&srv.pulls, 1);
    stop();
    ck_assert_int_eq(srv.done, 1);
    ck_assert_int_eq(srv.stats.streams, 1);
    close(fd);
}

/* all ask, then all read, in rounds: with a library that waits after each full batch of
 * 128 events, 128 and 256 take a second per round */
static const int crowd[] = {127, 128, 129, 256};

TEST(a_closed_loop_of_connections_does_not_stall)
{
    int n = crowd[_i], fd[256];
    for (int i = 0; i < n; i++)
        fd[i] = raw_connect(srv.port);
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < n; i++)
            raw_text(fd[i], "GET /r HTTP/1.1\r\nHost: h\r\n\r\n");
        for (int i = 0; i < n; i++) {
            raw_answer(&a, fd[i]);
            ck_assert_int_eq(a.status, 200);
        }
    }
    for (int i = 0; i < n; i++)
        close(fd[i]);
}

SUITE_SET_UP(
    serve_http_http, 30, start, stop, a_request_arrives_whole, bytes_may_come_one_by_one,
    chunked_bodies_are_read, pipelined_requests_are_answered_in_order,
    reused_responses_have_new_contents, headers_may_be_as_long_as_documented,
    a_half_closed_client_gets_its_answer, ROWS(every_line_ends_in_cr_lf, lines),
    ROWS(smuggling_is_refused, smuggled), a_large_body_is_413_and_the_limit_itself_is_not,
    an_error_is_json_and_escaped, a_waiting_stream_blocks_no_client_and_takes_no_cpu,
    streams_with_a_length_and_broken_ones, clients_that_leave_within_a_request_are_closed,
    a_request_that_never_ends_is_cut, when_all_places_are_taken_the_slowest_are_closed,
    a_watcher_that_leaves_is_noticed, stopping_ends_open_streams,
    ROWS(a_closed_loop_of_connections_does_not_stall, crowd));
