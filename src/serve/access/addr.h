/* addr.h - addresses of clients, and networks of them.
 *
 * Every address is 16 bytes: IPv6, or IPv4 mapped into it (::ffff:a.b.c.d, RFC 4291,
 * Sec. 2.5.5.2), so that a peer is the same one whichever family the socket has.
 *
 * Threads: pure functions. */
#ifndef SERVE_ADDR_H
#define SERVE_ADDR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define ADDR_NETS 32
#define ADDR_TEXT 46 /* the longest, with its NUL */

struct addr {
    unsigned char byte[16];
};

/* The n bytes of text are one address in numbers, without port, brackets or zone. */
bool addr_parse(struct addr *out, const char *text, size_t n);
/* False when it is neither IPv4 nor IPv6. */
bool addr_from_socket(struct addr *out, const struct sockaddr *a);
/* The port beside it; 0 when there is none. */
int addr_port(const struct sockaddr *a);
/* IPv4 in its own form; out holds ADDR_TEXT bytes. */
void addr_text(char *out, const struct addr *a);

bool addr_equal(const struct addr *a, const struct addr *b);
/* 127.0.0.0/8 and ::1. */
bool addr_is_loopback(const struct addr *a);
/* Not an address of the internet at large: loopback, private, shared, link-local, multicast,
 * unspecified, reserved and for documentation (IANA's special-purpose registries, RFC 6890); also
 * as IPv4 within IPv6 (mapped, NAT64, 6to4). Of IPv6 only 2000::/3 is at large. */
bool addr_is_private(const struct addr *a);
/* Whom it was given to: IPv4 as it is; of IPv6 the first 64 bits, since a subscriber has at
 * least that many addresses to himself (RFC 6177). */
struct addr addr_subscriber(const struct addr *a);

struct addr_nets {
    int n;
    struct {
        struct addr base;
        int bits; /* of 128 */
    } at[ADDR_NETS];
};

/* "10.0.0.0/8, ::1, 192.0.2.7" between commas or spaces; NULL and "" are none.
 * Errors: ERR_INVALID (no address, or bits set beyond the prefix), ERR_RANGE (too many); `what` is
 * named. */
int addr_nets_parse(struct addr_nets *out, const char *text, const char *what,
                    struct err *e) __attribute__((warn_unused_result));
bool addr_in(const struct addr_nets *nets, const struct addr *a);

#endif
