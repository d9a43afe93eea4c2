/* admit.h - rate limits of clients.
 *
 * Three limits, each a token bucket (quota.h) of ADMIT_BURST_S seconds (open_rate: ADMIT_OPEN_BURST_S);
 * 0 is no limit:
 *   address_rate  requests per second of one client address;
 *   open_rate     sessions per second that one address may open. The address can hold at most
 *                 session-ttl times this in the session table;
 *   session_rate  questions and reports per second of one session.
 * address_connections limits the connections of one address. It counts the peer of a connection, so a
 * trusted proxy is exempt; its clients are limited by the rates above and by their shares of tables
 * (occupancy.h). 127.0.0.1 and ::1, the addresses of programs and proxies on this machine, are exempt,
 * too. IPv6 clients count by their /64 (addr_subscriber).
 *
 * Clients on this machine have no limit, because they could stop the daemon as well. A proxy must be
 * trusted by name, also one on this machine: then its clients are counted apart (forwarded.h).
 * Otherwise all its clients count as one address.
 *
 * The defaults leave room for a carrier's NAT or a campus: behind one address 2000 viewers may start
 * within half a minute, and 3900 may play chunks of 4 s. With the default session-ttl one address holds
 * at most a fifth of the session table. A crowd starts at once and then watches, so a long burst serves it
 * better than a high rate, and gives an attacker less.
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
#define ADMIT_OPEN_BURST_S 60.0
#define ADMIT_KEYS 65536 /* buckets of addresses, and as many of sessions */

struct admit_cfg {
    const char *trust_proxy;  /* addresses and networks, comma-separated; NULL: none */
    const char *proxy_header; /* header that those proxies write: "x-forwarded-for" */
    double address_rate;      /* 1000 */
    double open_rate;         /* 30 */
    double session_rate;      /* 20 */
    int address_connections;  /* -1: a quarter of all (node.c); 0: no limit */
};

struct admit_cfg admit_cfg_default(void);
extern const struct field admit_fields[];

struct admit;

/* Errors: ERR_INVALID and ERR_RANGE of trust_proxy and proxy_header, ERR_MEMORY, ERR_IO. */
struct admit *admit_new(const struct admit_cfg *cfg, struct err *e);
void admit_free(struct admit *a);

/* The client of a request. */
struct admit_client {
    struct addr addr;
    bool known;     /* addr is valid */
    bool limited;   /* the client is not on this machine */
    bool forwarded; /* the connection belongs to a trusted proxy */
};
void admit_client(struct admit_client *out, const struct admit *a,
                  const struct http_request *q);

/* A keyed hash of the subscriber's address, never 0. It reveals nothing of the address without the
 * secret. All clients with an unknown address share one number. */
uint64_t admit_number(const struct admit_client *c, uint64_t secret);
/* The same of its network (addr_network); 0: the address is unknown. */
uint64_t admit_network(const struct admit_client *c, uint64_t secret);

/* Most connections of a peer (http.h); -1: not counted. */
int admit_connections(const struct admit *a, const struct addr *peer);

/* Each takes one token: 0, or the seconds until one is free. */
double admit_address(struct admit *a, const struct admit_client *c, double now_s);
double admit_open(struct admit *a, const struct admit_client *c, double now_s);
/* id: 32 hex digits; any other text is not a session and is not limited. */
double admit_session(struct admit *a, const struct admit_client *c, const char *id,
                     double now_s);
/* The same for a player whose requests have no session id in the path; key names the player. */
double admit_key(struct admit *a, const struct admit_client *c,
                 const unsigned char key[QUOTA_KEY], double now_s);

/* Requests refused by each limit. */
struct admit_stats {
    uint64_t address, open, session;
    /* by the shares (occupancy.h); admit_stats leaves them 0 */
    uint64_t events, transfers, demo_viewers, long_answers, histories;
};
struct admit_stats admit_stats(const struct admit *a);
/* Adds the refusals of `old`, which `a` replaces. Refusals that `old` counts later are not included. */
void admit_carry(struct admit *a, const struct admit *old);
extern const struct figure admit_figures[];

#endif
