#include "support/client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "support/bench.h"
#include "support/server.h"

enum { ROOM = 1 << 16, ROOM_MAX = 1 << 26 };

struct client client_open(int port)
{
    struct client c = {.port = port, .fd = -1, .answer = calloc(1, ROOM), .room = ROOM};
    if (!c.answer) bench_fail("no memory");
    return c;
}

static void hang_up(struct client *c)
{
    if (c->fd >= 0) close(c->fd);
    c->fd = -1;
}

void client_close(struct client *c)
{
    hang_up(c);
    free(c->answer);
    c->answer = NULL;
}

static void dial(struct client *c)
{
    c->fd = server_dial_from(c->from, c->port);
    if (c->fd < 0) return;
    struct timeval limit = {.tv_sec = 30};
    int yes = 1;
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int sent(struct client *c, const char *method, const char *path, const char *body)
{
    char head[512];
    int n = snprintf(head, sizeof head,
                     "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
                     "application/json\r\nContent-Length: %zu\r\n\r\n",
                     method, path, strlen(body));
    struct iovec part[2] = {{head, (size_t)n}, {(char *)(size_t)body, strlen(body)}};
    struct msghdr m = {.msg_iov = part, .msg_iovlen = 2};
    return sendmsg(c->fd, &m, MSG_NOSIGNAL) ==
           (ssize_t)(part[0].iov_len + part[1].iov_len);
}

/* Bytes of the whole answer, 0 while that is not known. */
static size_t length_of(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    if (!end) return 0;
    const char *length = strcasestr(answer, "\r\ncontent-length:");
    size_t body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return (size_t)(end + 4 - answer) + body;
}

static int whole(struct client *c)
{
    size_t got = 0, want = 0;
    c->answer[0] = '\0';
    while (!want || got < want) {
        if (want >= ROOM_MAX) return 0;
        if (want >= c->room || got + 1 >= c->room) {
            c->room = (want > c->room ? want : c->room) * 2;
            c->answer = realloc(c->answer, c->room);
            if (!c->answer) bench_fail("no memory");
        }
        ssize_t n = recv(c->fd, c->answer + got, c->room - 1 - got, 0);
        if (n <= 0) return 0;
        got += (size_t)n;
        c->answer[got] = '\0';
        if (!want) want = length_of(c->answer);
    }
    return 1;
}

int client_ask(struct client *c, const char *method, const char *path, const char *body)
{
    int status = 0;
    if (c->fd < 0) dial(c);
    if (c->fd < 0) return 0;
    if (sent(c, method, path, body ? body : "") && whole(c))
        sscanf(c->answer, "HTTP/1.1 %d", &status);
    if (!status || strcasestr(c->answer, "\r\nconnection: close")) hang_up(c);
    return status;
}

const char *client_body(const struct client *c)
{
    const char *end = strstr(c->answer, "\r\n\r\n");
    return end ? end + 4 : "";
}
