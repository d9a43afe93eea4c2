#include "serve/access/admit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/rng.h"
#include "serve/access/forwarded.h"

/* bytes of all lines of the header; if there are more, the rightmost */
#define LIST_MAX 2048

enum limit { ADDRESS, OPEN, SESSION, LIMITS };

struct admit {
    struct addr_nets trusted;
    enum forwarded_by by;
    int connections;
    struct quota *quota[LIMITS]; /* NULL: no limit */
    atomic_uint_fast64_t refused[LIMITS];
};

struct admit_cfg admit_cfg_default(void)
{
    return (struct admit_cfg){.proxy_header = "x-forwarded-for",
                              .address_rate = 1000,
                              .open_rate = 30,
                              .session_rate = 20,
                              .address_connections = -1};
}

#define ROW(member) FIELD(struct admit_cfg, member)
const struct field admit_fields[] = {
    {"trust-proxy", "A,B",
     "addresses and networks of trusted proxies: their header names the client's address",
     ROW(trust_proxy), .group = "network", .flags = FIELD_LIVE},
    {"proxy-header", "NAME",
     "header in which a trusted proxy names the client: x-forwarded-for or forwarded",
     ROW(proxy_header), .flags = FIELD_LIVE},
    {"address-rate", "N",
     "largest number of requests per second from one address, ten seconds of them at "
     "once; "
     "0: no limit. A viewer sends one per chunk",
     ROW(address_rate), .lo = 0, .hi = 1e6, .flags = FIELD_LIVE},
    {"open-rate", "N",
     "largest number of sessions per second that one address may open, a minute of them "
     "at once; 0: no limit. The default lets 2000 viewers behind one NAT start within 30 "
     "s, if --address-connections allows it",
     ROW(open_rate), .lo = 0, .hi = 1e6, .flags = FIELD_LIVE},
    {"session-rate", "N",
     "largest number of requests per second for one session; 0: no limit",
     ROW(session_rate), .lo = 0, .hi = 1e6, .flags = FIELD_LIVE},
    {"address-connections", "N",
     "largest number of connections from one address; 0: no limit; -1: a quarter of all, "
     "enough for viewers behind a carrier's NAT; trusted proxies have no limit",
     ROW(address_connections), .lo = -1, .hi = 4000000, .flags = FIELD_LIVE},
    {0}};
#undef ROW

const struct figure admit_figures[] = {
    {"abrd_limited_total", NULL, FIGURE_COUNTER,
     "Requests refused with 429, by the limit that they exceeded.",
     FIELD(struct admit_stats, address), .label = "limit", .word = "address"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL, FIELD(struct admit_stats, open),
     .label = "limit", .word = "open"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL, FIELD(struct admit_stats, session),
     .label = "limit", .word = "session"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL, FIELD(struct admit_stats, events),
     .label = "limit", .word = "events"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL,
     FIELD(struct admit_stats, transfers), .label = "limit", .word = "transfers"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL,
     FIELD(struct admit_stats, demo_viewers), .label = "limit", .word = "demo_viewers"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL,
     FIELD(struct admit_stats, long_answers), .label = "limit", .word = "long_answers"},
    {"abrd_limited_total", NULL, FIGURE_COUNTER, NULL,
     FIELD(struct admit_stats, histories), .label = "limit", .word = "histories"},
    {0}};

struct admit *admit_new(const struct admit_cfg *cfg, struct err *e)
{
    struct admit *a = calloc(1, sizeof *a);
    if (!a) {
        err_set(e, ERR_MEMORY, "no memory for the rate limits");
        return NULL;
    }
    uint64_t seed;
    a->connections = cfg->address_connections;
    if (addr_nets_parse(&a->trusted, cfg->trust_proxy, "trust-proxy", e) ||
        forwarded_parse(&a->by, cfg->proxy_header, e))
        goto fail;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        err_set(e, ERR_IO, "getrandom: %s", strerror(errno));
        goto fail;
    }

    const double rate[LIMITS] = {cfg->address_rate, cfg->open_rate, cfg->session_rate};
    const double burst_s[LIMITS] = {ADMIT_BURST_S, ADMIT_OPEN_BURST_S, ADMIT_BURST_S};
    for (int i = 0; i < LIMITS; i++) {
        if (!(rate[i] > 0)) continue;
        a->quota[i] = quota_new(rate[i], burst_s[i], ADMIT_KEYS, seed + (uint64_t)i, e);
        if (!a->quota[i]) goto fail;
    }
    return a;
fail:
    admit_free(a);
    return NULL;
}

void admit_free(struct admit *a)
{
    if (!a) return;
    for (int i = 0; i < LIMITS; i++)
        quota_free(a->quota[i]);
    free(a);
}

void admit_client(struct admit_client *out, const struct admit *a,
                  const struct http_request *q)
{
    *out = (struct admit_client){0};
    if (!http_peer(&out->addr, q)) return;
    out->known = true;
    if (!addr_in(&a->trusted, &out->addr)) {
        out->limited = !addr_is_loopback(&out->addr);
        return;
    }
    char list[LIST_MAX];
    bool said = http_header_list(list, sizeof list, q, forwarded_header(a->by));
    out->addr = forwarded_client(&out->addr, &a->trusted, a->by, said ? list : NULL);
    /* a proxy always names its client: without a name, the client is on this machine */
    out->forwarded = said;
    out->limited = said || !addr_is_loopback(&out->addr);
}

uint64_t admit_number(const struct admit_client *c, uint64_t secret)
{
    uint64_t half[2] = {0};
    struct addr who = addr_subscriber(&c->addr);
    if (c->known) memcpy(half, who.byte, sizeof half);
    return rng_u64_at(secret, half[0], half[1]) | 1;
}

uint64_t admit_network(const struct admit_client *c, uint64_t secret)
{
    if (!c->known) return 0;
    uint64_t half[2];
    struct addr network = addr_network(&c->addr);
    memcpy(half, network.byte, sizeof half);
    return rng_u64_at(~secret, half[0], half[1]) | 1;
}

/* The usual source addresses of programs on this machine. */
static bool is_home(const struct addr *a)
{
    static const char *const home[] = {"127.0.0.1", "::1"};
    struct addr one;
    for (int i = 0; i < 2; i++)
        if (addr_parse(&one, home[i], strlen(home[i])) && addr_equal(a, &one))
            return true;
    return false;
}

int admit_connections(const struct admit *a, const struct addr *peer)
{
    if (a->connections < 0 || is_home(peer) || addr_in(&a->trusted, peer)) return -1;
    return a->connections;
}

static double admit_take(struct admit *a, const struct admit_client *c, enum limit which,
                         const unsigned char *key, double now_s)
{
    if (!c->limited || !a->quota[which]) return 0;
    double wait_s = quota_take(a->quota[which], key, now_s);
    if (wait_s > 0)
        atomic_fetch_add_explicit(&a->refused[which], 1, memory_order_relaxed);
    return wait_s;
}

double admit_address(struct admit *a, const struct admit_client *c, double now_s)
{
    struct addr who = addr_subscriber(&c->addr);
    return admit_take(a, c, ADDRESS, who.byte, now_s);
}

double admit_open(struct admit *a, const struct admit_client *c, double now_s)
{
    struct addr who = addr_subscriber(&c->addr);
    return admit_take(a, c, OPEN, who.byte, now_s);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

double admit_session(struct admit *a, const struct admit_client *c, const char *id,
                     double now_s)
{
    unsigned char key[QUOTA_KEY];
    if (!c->limited || !a->quota[SESSION]) return 0;
    for (int i = 0; i < QUOTA_KEY; i++) {
        int high = digit(id[2 * i]), low = high < 0 ? -1 : digit(id[2 * i + 1]);
        if (low < 0) return 0;
        key[i] = (unsigned char)(high << 4 | low);
    }
    return id[2 * QUOTA_KEY] ? 0 : admit_take(a, c, SESSION, key, now_s);
}

double admit_key(struct admit *a, const struct admit_client *c,
                 const unsigned char key[QUOTA_KEY], double now_s)
{
    return admit_take(a, c, SESSION, key, now_s);
}

void admit_carry(struct admit *a, const struct admit *old)
{
    for (int i = 0; i < LIMITS; i++)
        atomic_fetch_add_explicit(
            &a->refused[i], atomic_load_explicit(&old->refused[i], memory_order_relaxed),
            memory_order_relaxed);
}

struct admit_stats admit_stats(const struct admit *a)
{
    uint64_t n[LIMITS];
    for (int i = 0; i < LIMITS; i++)
        n[i] = atomic_load_explicit(&a->refused[i], memory_order_relaxed);
    return (struct admit_stats){
        .address = n[ADDRESS], .open = n[OPEN], .session = n[SESSION]};
}
