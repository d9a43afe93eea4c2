#include "serve/http/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static int port_of(int fd)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a;
    if (getsockname(fd, (struct sockaddr *)&a, &n)) return -1;
    if (a.ss_family == AF_INET6) return ntohs(((struct sockaddr_in6 *)&a)->sin6_port);
    return ntohs(((struct sockaddr_in *)&a)->sin_port);
}

static int open_one(const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;

    int yes = 1;
    /* a restart must not wait until old connections leave TIME_WAIT */
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    /* connections inherit it: small answers must not wait for an ACK */
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0) return fd;

    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

int listen_open(const char *host, int *port, struct err *e)
{
    if (*port < 0 || *port > 65535)
        return err_field(e, ERR_RANGE, "port", "%d is not within 0 .. 65535", *port);

    char service[8];
    snprintf(service, sizeof service, "%d", *port);
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc)
        return err_field(e, ERR_INVALID, "bind",
                         "'%.60s' is not an address of this machine: %s", host,
                         gai_strerror(rc));

    int fd = -1, why = 0;
    for (const struct addrinfo *a = list; a && fd < 0; a = a->ai_next) {
        fd = open_one(a);
        if (fd < 0) why = errno;
    }
    freeaddrinfo(list);

    if (fd < 0 && why == EADDRINUSE)
        return err_field(
            e, ERR_CONFLICT, "port",
            "%d is in use at %.60s: stop the other program or choose another "
            "with --port (0 takes a free one)",
            *port, host);
    if (fd < 0)
        return err_field(e, ERR_IO, "bind", "cannot listen at %.60s port %d: %s", host,
                         *port, strerror(why));
    *port = port_of(fd);
    return fd;
}

int listen_adopt(char address[LISTEN_ADDRESS], int *port, int fd, struct err *e)
{
    struct sockaddr_storage a;
    socklen_t n = sizeof a, size = sizeof(int);
    int listens = 0, type = 0, yes = 1;
    if (getsockname(fd, (struct sockaddr *)&a, &n) ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) || !listens ||
        type != SOCK_STREAM || (a.ss_family != AF_INET && a.ss_family != AF_INET6))
        return err_field(e, ERR_INVALID, "socket",
                         "the inherited socket is not a listening TCP socket: use "
                         "ListenStream=ADDRESS:PORT");
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes))
        return err_field(e, ERR_IO, "socket", "cannot be set up: %s", strerror(errno));

    const void *at = a.ss_family == AF_INET6
                         ? (const void *)&((struct sockaddr_in6 *)&a)->sin6_addr
                         : (const void *)&((struct sockaddr_in *)&a)->sin_addr;
    inet_ntop(a.ss_family, at, address, LISTEN_ADDRESS);
    *port = port_of(fd);
    return 0;
}

/* Copies an address without its brackets. */
static bool bare(char *out, size_t size, const char *host)
{
    size_t n = strlen(host);
    if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
        host++;
        n -= 2;
    }
    if (n >= size) return false;
    memcpy(out, host, n);
    out[n] = '\0';
    return true;
}

bool listen_is_loopback(const char *host)
{
    char name[64];
    struct in_addr v4;
    struct in6_addr v6;
    if (!bare(name, sizeof name, host)) return false;
    if (inet_pton(AF_INET, name, &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
    if (inet_pton(AF_INET6, name, &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
    return strcasecmp(name, "localhost") == 0;
}

bool listen_is_numeric(const char *host)
{
    char name[64];
    unsigned char a[sizeof(struct in6_addr)];
    if (!bare(name, sizeof name, host)) return false;
    return inet_pton(AF_INET, name, a) == 1 || inet_pton(AF_INET6, name, a) == 1;
}
