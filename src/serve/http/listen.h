/* listen.h - the listening TCP socket that the workers share.
 *
 * One socket, not one per worker with SO_REUSEPORT: with SO_REUSEPORT a second daemon of the same
 * user would silently take half of the connections instead of failing.
 *
 * Errors: ERR_INVALID the address cannot be parsed, ERR_CONFLICT the port is in use, ERR_IO.
 * Threads: pure functions. */
#ifndef SERVE_LISTEN_H
#define SERVE_LISTEN_H

#include "base/err.h"

#include <stdbool.h>

/* A non-blocking socket, owned by the caller, or a negative ERR_*. bind is a numeric IPv4 or IPv6
 * address or a host name. *port 0 picks a free port and returns it. */
int listen_open(const char *bind, int *port, struct err *e)
    __attribute__((warn_unused_result));

/* Prepares a listening socket that another program opened, and returns its numeric address and port.
 * ERR_INVALID: it is not a TCP socket, or does not listen. */
#define LISTEN_ADDRESS 64
int listen_adopt(char address[LISTEN_ADDRESS], int *port, int fd, struct err *e)
    __attribute__((warn_unused_result));

/* 127.0.0.0/8, ::1 and "localhost". */
bool listen_is_loopback(const char *host);
/* A numeric IPv4 or IPv6 address; an IPv6 address may be in brackets. */
bool listen_is_numeric(const char *host);

#endif
