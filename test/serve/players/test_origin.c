/* Transfers against an origin of a few lines: one thread that answers every connection with what
 * the test says, byte for byte. What only a whole daemon has is in test/http/origin.mjs. */
#include "serve/players/origin.h"
#include "serve/players/players.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/http/listen.h"
#include "serve/http/reply.h"
#include "support/suites.h"

static struct {
    int listen_fd, port;
    pthread_t thread;
    const char *_Atomic answer;
    size_t more;         /* bytes 'z' behind it */
    _Atomic size_t sent; /* of those */
    char heard[4096];    /* the last request */
} far;

static struct origin *o;
static int bell;

static void send_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t k = send(fd, text, n, MSG_NOSIGNAL);
        if (k <= 0) return;
        text += k;
        n -= (size_t)k;
    }
}

static void *answer_all(void *ctx)
{
    static char block[16384];
    (void)ctx;
    memset(block, 'z', sizeof block);
    for (int fd; (fd = accept(far.listen_fd, NULL, NULL)) >= 0; close(fd)) {
        ssize_t n = recv(fd, far.heard, sizeof far.heard - 1, 0);
        if (n <= 0) continue;
        far.heard[n] = '\0';
        send_all(fd, far.answer, strlen(far.answer));
        bool head = strncmp(far.heard, "HEAD", 4) == 0;
        for (far.sent = 0; !head && far.sent < far.more;) {
            ssize_t k = send(fd, block, sizeof block, MSG_NOSIGNAL);
            if (k <= 0) break;
            far.sent += (size_t)k;
        }
    }
    return NULL;
}

static void begin(void)
{
    struct err e = {0};
    char text[100];
    memset(&far, 0, sizeof far);
    far.listen_fd = listen_open("127.0.0.1", &far.port, &e);
    ck_assert_msg(far.listen_fd >= 0, "%s", e.detail);
    ck_assert_int_eq(fcntl(far.listen_fd, F_SETFL, 0), 0); /* its thread may wait */
    ck_assert_int_eq(pthread_create(&far.thread, NULL, answer_all, NULL), 0);
    struct origin_cfg cfg = players_cfg_default().origin;
    cfg.transfers = 2;
    snprintf(text, sizeof text, "far=http://127.0.0.1:%d/base", far.port);
    ck_assert_int_eq(origins_add(&cfg.names, text, &e), 0);
    o = origin_new(&cfg, &e);
    ck_assert_msg(o != NULL, "%s", e.detail);
    bell = eventfd(0, EFD_CLOEXEC);
}

static void end(void)
{
    origin_free(o);
    shutdown(far.listen_fd, SHUT_RDWR);
    pthread_join(far.thread, NULL);
    close(far.listen_fd);
    close(bell);
}

static struct origin_transfer *ask(const char *path, bool head, struct err *e)
{
    struct origin_question q = {.head = head, .bell = bell};
    const char *url = origin_names(o)->at[0].url;
    ck_assert_int_eq(origins_target(q.target, sizeof q.target, url, path, "x=1", e), 0);
    strcpy(q.asked[ORIGIN_RANGE], "bytes=0-9");
    return origin_begin(o, &q, e);
}

/* Until the bell rings. */
static void hear(void)
{
    struct pollfd p = {.fd = bell, .events = POLLIN};
    eventfd_t n;
    ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
    ck_assert_int_eq(eventfd_read(bell, &n), 0);
}

static const struct origin_head *head_of(struct origin_transfer *t)
{
    while (!origin_ready(t))
        hear();
    return origin_head(t);
}

/* The body's length, or REPLY_BROKEN; it is copied to out, as far as there is room. */
static ssize_t body_of(char *out, size_t size, struct origin_transfer *t)
{
    static char buf[40000];
    size_t all = 0;
    for (;;) {
        ssize_t n = origin_pull(t, buf, sizeof buf);
        if (n == REPLY_LATER) {
            hear();
            continue;
        }
        if (n == REPLY_END) return (ssize_t)all;
        if (n < 0) return n;
        for (ssize_t i = 0; i < n && all + (size_t)i < size; i++)
            out[all + (size_t)i] = buf[i];
        all += (size_t)n;
    }
}

TEST(an_answer_comes_whole)
{
    struct err e = {0};
    char body[64] = "";
    far.answer =
        "HTTP/1.1 206 Part\r\nContent-Type: video/mp4\r\nETag:  \"a b\" \r\n"
        "content-range: bytes 0-4/9\r\nX-Other: 1\r\nContent-Length: 5\r\n\r\nhello";
    struct origin_transfer *t = ask("a/1", false, &e);
    const struct origin_head *h = head_of(t);
    ck_assert_int_eq(h->fault, ORIGIN_SOUND);
    ck_assert_int_eq(h->status, 206);
    ck_assert_int_eq(h->length, 5);
    ck_assert_str_eq(h->told[ORIGIN_TYPE], "video/mp4");
    ck_assert_str_eq(h->told[ORIGIN_ETAG], "\"a b\"");
    ck_assert_str_eq(h->told[ORIGIN_CONTENT_RANGE], "bytes 0-4/9");
    ck_assert_str_eq(h->told[ORIGIN_EXPIRES], "");
    ck_assert_int_eq(body_of(body, sizeof body, t), 5);
    ck_assert_str_eq(body, "hello");
    origin_drop(t);
    ck_assert_ptr_eq(strstr(far.heard, "GET /base/a/1?x=1 HTTP/1.1\r\n"), far.heard);
    ck_assert_ptr_nonnull(strstr(far.heard, "\r\nRange: bytes=0-9\r\n"));
    ck_assert_uint_eq(origin_stats(o).bytes, 5);
}

TEST(heads_that_are_odd)
{
    static const struct {
        const char *answer;
        enum origin_fault fault;
        int status;
        int64_t length;
        ssize_t body;
    } odd[] = {
        {"HTTP/1.1 200 OK\r\n\r\nto the end", ORIGIN_SOUND, 200, -1, 10},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nETag: "
         "x\r\n\r\n",
         ORIGIN_SOUND, 200, -1, 3},
        {"HTTP/1.1 103 Early\r\nETag: \"no\"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: "
         "0\r\n\r\n",
         ORIGIN_SOUND, 200, 0, 0},
        {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", ORIGIN_SOUND, 200, 9,
         REPLY_BROKEN},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf", ORIGIN_SOUND,
         200, -1, REPLY_BROKEN},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
         ORIGIN_SOUND, 200, -1, REPLY_BROKEN},
        {"", ORIGIN_BROKEN, 0, 0, REPLY_BROKEN},
        {"HTTP/1.1 200 OK\r\nContent-Le", ORIGIN_BROKEN, 0, 0, REPLY_BROKEN},
        {"SSH-2.0-x\r\n", ORIGIN_BROKEN, 0, 0, REPLY_BROKEN},
        {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n", ORIGIN_REDIRECT,
         0, 0, REPLY_BROKEN},
        {"HTTP/1.1 302 Found\r\nLocation: ftp://192.0.2.1/\r\n\r\n", ORIGIN_REDIRECT, 0,
         0, REPLY_BROKEN},
        {"HTTP/1.1 302 Found\r\nLocation: /base/again\r\n\r\n", ORIGIN_REDIRECT, 0, 0,
         REPLY_BROKEN},
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct err e = {0};
        far.answer = odd[i].answer;
        struct origin_transfer *t = ask("x", false, &e);
        const struct origin_head *h = head_of(t);
        ck_assert_msg(h->fault == odd[i].fault, "%s: %s", odd[i].answer,
                      players_fault_name(h->fault));
        if (!h->fault) ck_assert_int_eq(h->status, odd[i].status);
        if (!h->fault) ck_assert_int_eq(h->length, odd[i].length);
        if (!h->fault) ck_assert_str_eq(h->told[ORIGIN_ETAG], "");
        ck_assert_msg(body_of(NULL, 0, t) == odd[i].body, "%s", odd[i].answer);
        origin_drop(t);
    }
    struct origin_stats s = origin_stats(o);
    ck_assert_uint_eq(s.failed[ORIGIN_BROKEN], 6);
    ck_assert_uint_eq(s.failed[ORIGIN_REDIRECT], 3);
}

/* What the worker does not take the origin keeps, but for what sockets hold. */
TEST(who_is_slow_is_waited_for)
{
    struct err e = {0};
    far.more = (size_t)64 << 20;
    far.answer = "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n";
    struct origin_transfer *t = ask("big", false, &e);
    ck_assert_int_eq(head_of(t)->length, 64 << 20);
    size_t last;
    do { /* until the far end stands still */
        last = far.sent;
        usleep(100000);
    } while (far.sent != last || !far.sent);
    ck_assert_uint_lt(far.sent, far.more / 2);
    ck_assert_int_eq(body_of(NULL, 0, t), 64 << 20);
    origin_drop(t);
}

TEST(so_many_and_no_more)
{
    struct err e = {0};
    far.more = (size_t)64 << 20;
    far.answer = "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n";
    struct origin_transfer *t = ask("1", false, &e), *u = ask("2", true, &e);
    ck_assert_ptr_nonnull(t);
    ck_assert_ptr_nonnull(u);
    ck_assert_ptr_null(ask("3", false, &e));
    ck_assert_int_eq(e.code, ERR_FULL);
    head_of(t);
    ck_assert_int_gt(origin_pull(t, (char[10]){0}, 10), -1);
    origin_drop(t); /* in mid-body */
    origin_drop(u); /* before any answer, perhaps */
    while (origin_stats(o).transfers)
        usleep(1000);
    ck_assert_uint_eq(origin_stats(o).refused, 1);
    ck_assert_uint_eq(origin_stats(o).begun, 2);
    e = (struct err){0};
    t = ask("4", true, &e);
    ck_assert_ptr_nonnull(t);
    ck_assert_int_eq(head_of(t)->status, 200);
    ck_assert_int_eq(body_of(NULL, 0, t), 0);
    origin_drop(t);
}

TEST(nobody_there)
{
    struct err e = {0};
    struct origin_question q = {.bell = bell};
    strcpy(q.target, "http://127.0.0.1:1/x");
    struct origin_transfer *t = origin_begin(o, &q, &e);
    ck_assert_int_eq(head_of(t)->fault, ORIGIN_UNREACHABLE);
    ck_assert_int_eq(body_of(NULL, 0, t), REPLY_BROKEN);
    origin_drop(t);
}

TEST(begins_and_ends)
{
    struct origin_cfg cfg = players_cfg_default().origin;
    struct err e = {0};
    struct origin *one = origin_new(&cfg, &e);
    ck_assert_ptr_nonnull(one);
    ck_assert_int_eq(origin_stats(one).transfers_max, 256);
    origin_free(one);
    origin_free(NULL);
}

SUITE_SET_UP(serve_players_origin, 60, begin, end, an_answer_comes_whole,
             heads_that_are_odd, who_is_slow_is_waited_for, so_many_and_no_more,
             nobody_there, begins_and_ends);
