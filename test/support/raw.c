#include "support/raw.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "support/suites.h"

int raw_connect(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = PATIENCE_S};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ck_assert_msg(connect(fd, (struct sockaddr *)&a, sizeof a) == 0, "connect: %s",
                  strerror(errno));
    return fd;
}

void raw_send(int fd, const char *data, size_t n)
{
    while (n) {
        ssize_t w = send(fd, data, n, MSG_NOSIGNAL);
        /* a peer that has refused us already is no error here: its answer can be read */
        if (w <= 0) return;
        data += w;
        n -= (size_t)w;
    }
}

void raw_text(int fd, const char *text)
{
    raw_send(fd, text, strlen(text));
}

static int next_byte(int fd, char *c)
{
    ssize_t n = recv(fd, c, 1, 0);
    ck_assert_msg(n >= 0 || errno == ECONNRESET, "no answer: %s", strerror(errno));
    return n == 1;
}

/* a line without its CR LF; -1 at the end of the connection */
static int read_line(int fd, char *out, size_t size)
{
    size_t n = 0;
    char c;
    while (next_byte(fd, &c)) {
        if (c == '\n') {
            if (n && out[n - 1] == '\r') n--;
            out[n] = '\0';
            return (int)n;
        }
        ck_assert_uint_lt(n + 1, size);
        out[n++] = c;
    }
    return -1;
}

static void read_n(struct raw_answer *a, int fd, size_t n)
{
    while (n--) {
        ck_assert_uint_lt(a->n_body + 1, sizeof a->body);
        if (!next_byte(fd, &a->body[a->n_body])) break;
        a->n_body++;
    }
    a->body[a->n_body] = '\0';
}

static void read_head(struct raw_answer *a, int fd)
{
    a->status = 0;
    a->head[0] = a->body[0] = '\0';
    a->n_body = 0;
    char line[4096];
    size_t w = 0;
    for (int first = 1;; first = 0) {
        int n = read_line(fd, line, sizeof line);
        if (n <= 0) return;
        if (first) a->status = atoi(line + strcspn(line, " "));
        ck_assert_uint_lt(w + (size_t)n + 2, sizeof a->head);
        memcpy(a->head + w, line, (size_t)n);
        w += (size_t)n;
        a->head[w++] = '\n';
        a->head[w] = '\0';
    }
}

void raw_head(struct raw_answer *a, int fd)
{
    read_head(a, fd);
}

void raw_answer(struct raw_answer *a, int fd)
{
    read_head(a, fd);
    if (!a->status) return;
    const char *length = raw_header(a, "Content-Length");
    if (*length) {
        read_n(a, fd, (size_t)strtoul(length, NULL, 10));
    } else if (strcasecmp(raw_header(a, "Transfer-Encoding"), "chunked") == 0) {
        char line[64];
        while (read_line(fd, line, sizeof line) > 0) {
            size_t n = strtoul(line, NULL, 16);
            read_n(a, fd, n);
            ck_assert_int_eq(read_line(fd, line, sizeof line), 0);
            if (!n) break;
        }
    } else {
        read_n(a, fd, sizeof a->body);
    }
}

void raw_ask(struct raw_answer *a, int port, const char *text)
{
    int fd = raw_connect(port);
    raw_text(fd, text);
    raw_answer(a, fd);
    close(fd);
}

const char *raw_header(struct raw_answer *a, const char *name)
{
    static _Thread_local char value[512];
    size_t n = strlen(name);
    for (const char *p = a->head; *p; p += strcspn(p, "\n") + 1) {
        if (strncasecmp(p, name, n) != 0 || p[n] != ':') continue;
        p += n + 1;
        p += strspn(p, " ");
        size_t k = strcspn(p, "\n");
        ck_assert_uint_lt(k, sizeof value);
        memcpy(value, p, k);
        value[k] = '\0';
        return value;
    }
    return "";
}

int raw_closed(int fd)
{
    char c;
    ssize_t n = recv(fd, &c, 1, 0);
    ck_assert_msg(n >= 0 || errno == ECONNRESET, "the peer does not close: %s",
                  strerror(errno));
    return n <= 0;
}
