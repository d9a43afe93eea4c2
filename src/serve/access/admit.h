/* admit.h - how often somebody may ask: the rate limits, and whose they are.
 *
 * Three limits, each a token bucket of ADMIT_BURST_S seconds (quota.h), 0 for none:
 *   address_rate  requests a second of one client address, whatever they ask;
 *   open_rate     sessions a second that one address may open, so that nobody fills the table
 *                 (session-ttl times this is what he can hold);
 *   session_rate  questions and reports a second about one session.
 * And a number, address_connections: how many connections one address may hold at a time. That
 * is about the peer of a connection, so a trusted proxy has no such limit, and its clients are
 * limited by the rates above and by their share of what lasts (occupancy.h). Nor
 * have 127.0.0.1 and ::1, where the programs and proxies of this machine come from.
 * IPv6 clients count by their /64 (addr_subscriber).
 *
 * Who is on this machine is not limited: he could stop the daemon as well. A proxy on this
 * machine has to be trusted by name, then its clients are told apart (forwarded.h); so has
 * every other, or all its clients are one address.
 *
 * The defaults leave room for the thousands of viewers that a carrier puts behind one IPv4
 * address, each with a question every few seconds: they stop floods, not households.
 *
 * Threads: locked inside. */
#ifndef SERVE_ADMIT_H
#define SERVE_ADMIT_H

#include "base/field.h"
#include "serve/http/http.h"
#include "serve/access/quota.h"
#include "serve/metrics/figure.h"

#include <stdbool.h>
#include <stdint.h>

#define ADMIT_BURST_S 10.0
#define ADMIT_KEYS 65536 /* addresses, and sessions, that are remembered */

struct admit_cfg {
    const char *trust_proxy;  /* addresses and networks between commas; NULL = none */
    const char *proxy_header; /* which header those write: "x-forwarded-for" */
    double address_rate;      /* 1000 */
    double open_rate;         /* 20 */
    double session_rate;      /* 20 */
    int address_connections;  /* -1: a quarter of all (node.c); 0: no limit */
};

struct admit_cfg admit_cfg_default(void);
extern const struct field admit_fields[];

struct admit;

/* Errors: ERR_INVALID and ERR_RANGE of trust_proxy and proxy_header, ERR_MEMORY, ERR_IO. */
struct admit *admit_new(const struct admit_cfg *cfg, struct err *e);
void admit_free(struct admit *a);

/* Who sends a request. */
struct admit_client {
    struct addr addr;
    bool known;     /* there is an address */
    bool limited;   /* he is not on this machine */
    bool forwarded; /* a trusted proxy asks for him: the connection is not his */
};
void admit_client(struct admit_client *out, const struct admit *a,
                  const struct http_request *q);

/* A number for whose address it is (addr_subscriber), which tells nothing of it without the secret;
 * never 0. All whose address is not known have the same. */
uint64_t admit_number(const struct admit_client *c, uint64_t secret);

/* Connections that a peer may hold (http.h): -1 when it is not counted. */
int admit_connections(const struct admit *a, const struct addr *peer);

/* Each takes one; 0, or the seconds until it is allowed. */
double admit_address(struct admit *a, const struct admit_client *c, double now_s);
double admit_open(struct admit *a, const struct admit_client *c, double now_s);
/* id: 32 hex digits; what is none is no session, and free. */
double admit_session(struct admit *a, const struct admit_client *c, const char *id,
                     double now_s);
/* The same for a player whose session has no id in the address: key is whose it is. */
double admit_key(struct admit *a, const struct admit_client *c,
                 const unsigned char key[QUOTA_KEY], double now_s);

/* Requests that each limit refused, since the start. */
struct admit_stats {
    uint64_t address, open, session;
    /* of the shares (occupancy.h); admit_stats leaves them 0 */
    uint64_t events, transfers, demo_viewers, long_answers, histories;
};
struct admit_stats admit_stats(const struct admit *a);
extern const struct figure admit_figures[];

#endif
