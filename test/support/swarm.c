#include "support/swarm.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "support/bench.h"
#include "support/server.h"

enum { EVENTS = 256 };
static const double LONGEST_S = 30; /* an answer that takes longer never comes */

struct line {
    int fd; /* -1: it ended */
    double sent_s;
    size_t got;
    bool answered; /* answer holds the last one, for the next request */
    char answer[HAMMER_BYTES + 1];
};

struct swarm {
    int epoll_fd, n, waiting;
    struct line *line;
    int *idle; /* ring (n) of connections without a request, longest silent first */
    int first, n_idle;
    float *latency; /* [s] */
    size_t n_latency, room;
};

/* Sockets for both ends; the daemon inherits the limit. */
static void allow_descriptors(int n)
{
    struct rlimit r;
    getrlimit(RLIMIT_NOFILE, &r);
    if (r.rlim_cur < (rlim_t)n + 100) {
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_NOFILE, &r);
    }
    if (r.rlim_cur < (rlim_t)n + 100)
        bench_fail("%d descriptors are allowed, %d connections are asked for",
                   (int)r.rlim_cur, n);
}

static void rest(struct swarm *s, int i)
{
    s->idle[(s->first + s->n_idle++) % s->n] = i;
}

struct swarm *swarm_open(int port, int connections)
{
    allow_descriptors(connections);
    struct swarm *s = calloc(1, sizeof *s);
    if (!s) bench_fail("no memory");
    s->n = connections;
    s->line = calloc((size_t)connections, sizeof *s->line);
    s->idle = calloc((size_t)connections, sizeof *s->idle);
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!s->line || !s->idle || s->epoll_fd < 0) bench_fail("no memory");
    int yes = 1;
    for (int i = 0; i < connections; i++) {
        struct epoll_event e = {.events = EPOLLIN, .data.u32 = (unsigned)i};
        int fd = s->line[i].fd = server_dial(port);
        if (fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e))
            bench_fail("connection %d is not taken: %s", i, strerror(errno));
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        rest(s, i);
    }
    return s;
}

void swarm_close(struct swarm *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->line[i].fd >= 0) close(s->line[i].fd);
    close(s->epoll_fd);
    free(s->line);
    free(s->idle);
    free(s->latency);
    free(s);
}

static void hang_up(struct swarm *s, int i, struct swarm_result *out)
{
    close(s->line[i].fd);
    s->line[i].fd = -1;
    s->waiting--;
    out->broken++;
}

static void ask(struct swarm *s, int i, hammer_next *next, void *ctx,
                struct swarm_result *out)
{
    char request[HAMMER_BYTES];
    struct line *l = &s->line[i];
    size_t n = next(request, i, l->answered ? l->answer : NULL, ctx);
    l->answered = false;
    l->got = 0;
    l->sent_s = clock_mono();
    s->waiting++;
    if (send(l->fd, request, n, MSG_NOSIGNAL) != (ssize_t)n) hang_up(s, i, out);
}

/* Is the answer whole? One to DELETE (204) has no body. */
static bool whole(const struct line *l)
{
    const char *end = strstr(l->answer, "\r\n\r\n");
    if (!end) return false;
    const char *length = strcasestr(l->answer, "\r\ncontent-length:");
    size_t body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return l->got >= (size_t)(end + 4 - l->answer) + body;
}

static void note_latency(struct swarm *s, double seconds)
{
    if (s->n_latency == s->room) {
        s->room = s->room ? 2 * s->room : 1 << 16;
        s->latency = realloc(s->latency, s->room * sizeof *s->latency);
        if (!s->latency) bench_fail("no memory");
    }
    s->latency[s->n_latency++] = (float)seconds;
}

/* True when a whole answer has come. */
static bool take(struct swarm *s, int i, double now_s, struct swarm_result *out)
{
    struct line *l = &s->line[i];
    ssize_t n = recv(l->fd, l->answer + l->got, HAMMER_BYTES - l->got, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN) return false;
    if (n <= 0) {
        hang_up(s, i, out);
        return false;
    }
    l->got += (size_t)n;
    l->answer[l->got] = '\0';
    if (!whole(l)) return false;

    note_latency(s, now_s - l->sent_s);
    s->waiting--;
    out->answers++;
    l->answered = strncmp(l->answer, "HTTP/1.1 2", 10) == 0;
    if (!l->answered && strstr(l->answer, "the disk has not answered")) out->stalled++;
    if (!l->answered && out->refused++ == 0)
        snprintf(out->refusal, sizeof out->refusal, "%.*s", (int)sizeof out->refusal - 1,
                 l->answer);
    return true;
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static double share_ms(const struct swarm *s, double share)
{
    if (!s->n_latency) return (double)NAN;
    return 1e3 * (double)s->latency[(size_t)(share * (double)(s->n_latency - 1))];
}

static void summarise(struct swarm_result *out, struct swarm *s)
{
    qsort(s->latency, s->n_latency, sizeof *s->latency, by_size);
    out->p50_ms = share_ms(s, .5);
    out->p99_ms = share_ms(s, .99);
    out->p999_ms = share_ms(s, .999);
    out->max_ms = share_ms(s, 1);
    s->n_latency = 0;
}

void swarm_run(struct swarm_result *out, struct swarm *s, hammer_next *next, void *ctx,
               double seconds, long most, double rate)
{
    struct epoll_event event[EVENTS];
    double begun_s = clock_mono(), now_s = begun_s, last_s = begun_s;
    long asked = 0;
    *out = (struct swarm_result){0};
    for (;;) {
        bool more = now_s - begun_s < seconds && (!most || asked < most);
        long due = rate > 0 ? (long)((now_s - begun_s) * rate) + 1 : asked + s->n_idle;
        if (most && due > most) due = most;
        for (; more && asked < due && s->n_idle; asked++) {
            int i = s->idle[s->first];
            s->first = (s->first + 1) % s->n;
            s->n_idle--;
            if (!s->waiting) last_s = clock_mono();
            ask(s, i, next, ctx, out);
        }
        if (!more && !s->waiting) break;
        if (s->waiting && now_s - last_s > LONGEST_S)
            bench_fail("no answer within %g seconds", LONGEST_S);

        int wait_ms = more && rate > 0 && s->n_idle ? 1 : 100;
        int n = epoll_wait(s->epoll_fd, event, EVENTS, wait_ms);
        now_s = clock_mono();
        for (int k = 0; k < n; k++)
            if (take(s, (int)event[k].data.u32, now_s, out)) {
                if (now_s - last_s > out->gap_s) out->gap_s = now_s - last_s;
                last_s = now_s;
                rest(s, (int)event[k].data.u32);
            }
    }
    out->seconds = now_s - begun_s;
    summarise(out, s);
}
