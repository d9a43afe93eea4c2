/* addr.h - addresses of clients, and networks of addresses.
 *
 * Every address is 16 bytes: IPv6, or IPv4 mapped into it (::ffff:a.b.c.d, RFC 4291, Sec. 2.5.5.2).
 * So a peer is the same one on IPv4 and IPv6 sockets.
 *
 * Threads: pure functions. */
#ifndef SERVE_ADDR_H
#define SERVE_ADDR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define ADDR_NETS 32
#define ADDR_TEXT 46 /* the longest text, with its NUL */

struct addr {
    unsigned char byte[16];
};

/* True if the n bytes of text are one numeric address, without port, brackets or zone. */
bool addr_parse(struct addr *out, const char *text, size_t n);
/* False if it is neither IPv4 nor IPv6. */
bool addr_from_socket(struct addr *out, const struct sockaddr *a);
/* The port; 0 if there is none. */
int addr_port(const struct sockaddr *a);
/* Writes IPv4 as a.b.c.d; out holds ADDR_TEXT bytes. */
void addr_text(char *out, const struct addr *a);

bool addr_equal(const struct addr *a, const struct addr *b);
/* 127.0.0.0/8 and ::1. */
bool addr_is_loopback(const struct addr *a);
/* True unless the address is global: loopback, private, shared, link-local, multicast, unspecified,
 * reserved, for documentation (IANA's special-purpose registries, RFC 6890). The same holds for IPv4
 * within IPv6 (mapped, NAT64, 6to4). Of IPv6 only 2000::/3 is global. */
bool addr_is_private(const struct addr *a);
/* The subscriber that has the address: IPv4 unchanged; of IPv6 the first 64 bits, because a subscriber
 * gets at least a /64 (RFC 6177). */
struct addr addr_subscriber(const struct addr *a);

/* The network of the address: IPv4 its /24, IPv6 its /48, the usual size of a site (RFC 6177). */
struct addr addr_network(const struct addr *a);

struct addr_nets {
    int n;
    struct {
        struct addr base;
        int bits; /* of 128 */
    } at[ADDR_NETS];
};

/* "10.0.0.0/8, ::1, 192.0.2.7", separated by commas or spaces; NULL and "": none. Errors name the
 * field `what`: ERR_INVALID (not an address, or bits set beyond the prefix), ERR_RANGE (too many). */
int addr_nets_parse(struct addr_nets *out, const char *text, const char *what,
                    struct err *e) __attribute__((warn_unused_result));
bool addr_in(const struct addr_nets *nets, const struct addr *a);

#endif
