/* Answers that come later (reply.h): the connection sleeps until its bell rings. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/wire/emit.h"
#include "serve/http/http.h"
#include "serve/http/listen.h"
#include "support/raw.h"
#include "support/suites.h"

enum { LATERS = 4 };

/* What the handler waits for: one place for each path "/0" to "/3". */
struct later {
    _Atomic bool ready;
    _Atomic int asked, answered, done;
};

static struct {
    struct http *http;
    int port, bell;
    pthread_t thread;
    _Atomic bool quit;
    struct later later[LATERS];
    struct http_stats stats;
} srv;

static bool is_ready(void *self)
{
    struct later *l = self;
    return l->ready;
}

static void is_done(void *self)
{
    struct later *l = self;
    l->done++;
}

static void handle(void *ctx, const struct http_request *q, struct reply *r)
{
    (void)ctx;
    char a[16] = "-";
    if (q->path[1] < '0' || q->path[1] >= '0' + LATERS) {
        reply_static(r, 200, "text/plain", "now", 3);
        return;
    }
    struct later *l = &srv.later[q->path[1] - '0'];
    if (!q->waited) {
        l->asked++;
        reply_header(r, "X-Forgotten", "1");
        reply_wait(r, &(struct reply_wait){is_ready, is_done, l});
        return;
    }
    ck_assert_ptr_eq(q->waited, l);
    ck_assert(q->waited_s >= 0);
    l->answered++;
    if (http_query(a, sizeof a, q, "a", NULL) <= 0) strcpy(a, "-");
    struct emit o = {0};
    emit_text(&o, "%s a=%s body=%zu", q->path, a, q->n_body);
    reply_owned(r, 200, "text/plain", o.at, o.n);
}

static void *serve(void *ctx)
{
    (void)ctx;
    while (!srv.quit)
        http_step(srv.http, srv.bell, 1000);
    srv.stats = http_stats(srv.http);
    http_free(srv.http);
    return NULL;
}

static void start(void)
{
    struct err e = {0};
    struct http_cfg cfg = http_cfg_default();
    memset(&srv, 0, sizeof srv);
    int fd = listen_open("127.0.0.1", &srv.port, &e);
    ck_assert_msg(fd >= 0, "%s", e.detail);
    srv.http = http_new(&cfg, fd, handle, NULL, &e);
    ck_assert_msg(srv.http != NULL, "%s", e.detail);
    close(fd);
    srv.bell = eventfd(0, EFD_NONBLOCK);
    ck_assert_int_eq(pthread_create(&srv.thread, NULL, serve, NULL), 0);
}

static void ring(void)
{
    ck_assert_int_eq(eventfd_write(srv.bell, 1), 0);
}

static void stop(void)
{
    if (!srv.http) return;
    srv.quit = true;
    ring();
    pthread_join(srv.thread, NULL);
    close(srv.bell);
    srv.http = NULL;
}

static void wait_for(_Atomic int *what, int n)
{
    for (int i = 0; i < PATIENCE_S * 1000 && *what < n; i++)
        usleep(1000);
    ck_assert_int_eq(*what, n);
}

static struct raw_answer a;

/* A plain request is answered: a waiting request does not block it. */
static void somebody_else(void)
{
    raw_ask(&a, srv.port, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
    ck_assert_str_eq(a.body, "now");
}

TEST(comes_when_the_bell_rings)
{
    int one = raw_connect(srv.port), two = raw_connect(srv.port);
    raw_text(one, "GET /0?a=7 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_text(two, "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    wait_for(&srv.later[0].asked, 1);
    wait_for(&srv.later[1].asked, 1);
    somebody_else();
    ring(); /* for nothing */
    somebody_else();
    ck_assert_int_eq(srv.later[0].answered + srv.later[1].answered, 0);

    srv.later[1].ready = true;
    ring();
    raw_answer(&a, two);
    ck_assert_str_eq(a.body, "/1 a=- body=5");
    ck_assert_str_eq(raw_header(&a, "X-Forgotten"), "");
    srv.later[0].ready = true;
    ring();
    raw_answer(&a, one);
    ck_assert_str_eq(a.body, "/0 a=7 body=0");

    /* the connection goes on */
    raw_text(one,
             "HEAD /0 HTTP/1.1\r\nHost: h\r\n\r\nGET /y HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&srv.later[0].asked, 2);
    ring();
    raw_head(&a, one);
    ck_assert_int_eq(a.status, 200);
    raw_answer(&a, one);
    ck_assert_str_eq(a.body, "now");
    ck_assert_int_eq(srv.later[0].done + srv.later[1].done, 0);
    close(one);
    close(two);
    stop();
    ck_assert_int_eq(srv.stats.requests, 0);
}

static void reset(int fd)
{
    struct linger now = {.l_onoff = 1};
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
    close(fd);
}

TEST(a_client_that_leaves_ends_its_wait)
{
    int polite = raw_connect(srv.port), rude = raw_connect(srv.port);
    raw_text(polite, "GET /0 HTTP/1.1\r\nHost: h\r\n\r\n");
    raw_text(rude, "GET /1 HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&srv.later[0].asked, 1);
    wait_for(&srv.later[1].asked, 1);
    close(polite);
    wait_for(&srv.later[0].done, 1);
    reset(rude);
    wait_for(&srv.later[1].done, 1);
    somebody_else();
    ck_assert_int_eq(srv.later[0].answered + srv.later[1].answered, 0);
    stop();
    ck_assert_int_eq(srv.stats.requests, 0);
    ck_assert_int_eq(srv.later[0].done + srv.later[1].done, 2);
}

TEST(the_end_does_not_wait)
{
    int fd = raw_connect(srv.port);
    raw_text(fd, "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for(&srv.later[2].asked, 1);
    stop();
    ck_assert_int_eq(srv.later[2].done, 1);
    ck_assert_int_eq(srv.stats.requests, 1);
    ck_assert_int_eq(raw_closed(fd), 1);
    close(fd);
}

TEST(a_reply_that_is_not_sent_frees_its_wait)
{
    struct reply r;
    struct later l = {0};
    reply_init(&r);
    reply_wait(&r, &(struct reply_wait){is_ready, is_done, &l});
    reply_fail(&r, 503, "", "rather not");
    ck_assert_int_eq(l.done, 1);
    reply_wait(&r, &(struct reply_wait){is_ready, is_done, &l});
    reply_drop(&r);
    ck_assert_int_eq(l.done, 2);
}

SUITE_SET_UP(serve_http_http_wait, 60, start, stop, comes_when_the_bell_rings,
             a_client_that_leaves_ends_its_wait, the_end_does_not_wait,
             a_reply_that_is_not_sent_frees_its_wait);
