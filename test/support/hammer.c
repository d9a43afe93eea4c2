#include "support/hammer.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/bench.h"
#include "support/server.h"

struct line {
    int fd;
    size_t got;
    char answer[HAMMER_BYTES + 1];
};

struct hammer {
    int epoll_fd;
    hammer_next *next;
    void *ctx;
    struct line line[HAMMER_CONNECTIONS];
};

static int dial(int port)
{
    int fd = server_dial(port), yes = 1;
    if (fd < 0) bench_fail("no connection to port %d: %s", port, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

struct hammer *hammer_open(int port, hammer_next *next, void *ctx)
{
    struct hammer *h = calloc(1, sizeof *h);
    if (!h) bench_fail("no memory");
    h->next = next;
    h->ctx = ctx;
    h->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < HAMMER_CONNECTIONS; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = (unsigned)i};
        h->line[i].fd = dial(port);
        if (epoll_ctl(h->epoll_fd, EPOLL_CTL_ADD, h->line[i].fd, &e))
            bench_fail("epoll: %s", strerror(errno));
    }
    return h;
}

void hammer_become(struct hammer *h, hammer_next *next)
{
    h->next = next;
}

static void ask(struct hammer *h, int i)
{
    char request[HAMMER_BYTES];
    struct line *l = &h->line[i];
    size_t n = h->next(request, i, l->got ? l->answer : NULL, h->ctx);
    l->got = 0;
    if (send(l->fd, request, n, MSG_NOSIGNAL) != (ssize_t)n)
        bench_fail("a request was not taken: %s", strerror(errno));
}

/* Is the answer whole? */
static bool whole(const struct line *l)
{
    const char *end = strstr(l->answer, "\r\n\r\n");
    if (!end) return false;
    const char *length = strcasestr(l->answer, "\r\ncontent-length:");
    if (!length || length > end) bench_fail("an answer without a length: %s", l->answer);
    size_t body = strtoul(length + 17, NULL, 10);
    return l->got >= (size_t)(end + 4 - l->answer) + body;
}

static bool take(struct line *l)
{
    ssize_t n = recv(l->fd, l->answer + l->got, HAMMER_BYTES - l->got, 0);
    if (n <= 0) bench_fail("a connection ended: %s", n ? strerror(errno) : "closed");
    l->got += (size_t)n;
    l->answer[l->got] = '\0';
    if (!whole(l)) return false;
    if (strncmp(l->answer, "HTTP/1.1 2", 10) != 0)
        bench_fail("a request was refused: %s", l->answer);
    return true;
}

long hammer_run(struct hammer *h, long requests)
{
    struct epoll_event event[HAMMER_CONNECTIONS];
    long asked = HAMMER_CONNECTIONS, done = 0;
    for (int i = 0; i < HAMMER_CONNECTIONS; i++)
        ask(h, i);
    while (done < asked) {
        int n = epoll_wait(h->epoll_fd, event, HAMMER_CONNECTIONS, 10000);
        if (n == 0) bench_fail("no answer within ten seconds");
        for (int k = 0; k < n; k++) {
            int i = (int)event[k].data.u32;
            if (!take(&h->line[i])) continue;
            done++;
            if (asked >= requests) continue;
            ask(h, i);
            asked++;
        }
    }
    return done;
}
