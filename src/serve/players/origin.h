/* origin.h - proxy for media of other servers (origins); the daemon's home of libcurl.
 *
 * A transfer is one request of a player that is forwarded to an origin (origins.h). One thread makes
 * all requests. A worker begins a transfer, serves other requests until its bell (an eventfd) rings,
 * reads the head and then pulls the body as a stream (reply.h). At most ORIGIN_BUFFER bytes of a
 * transfer wait to be pulled: then libcurl pauses it. At most cfg.transfers run at a time.
 *
 * A request is GET or HEAD by HTTP/1.1 with the player's Range, If-Range, If-None-Match and
 * If-Modified-Since. It has no cookies, no other header of the player, no proxy and no compression. At
 * most ORIGIN_HOPS redirects are followed, to http and https only. A redirect to a private address
 * (addr.h) is refused, unless the origin itself was just reached at that address and port. The check is
 * on the address of the socket, so a name that changes its address does not help.
 *
 * A transfer ends after cfg.silence_s without a byte (not while it waits for the player), with a head
 * over ORIGIN_HEAD bytes, or with its client. If a body ends before its Content-Length, or within a
 * chunked coding, the player's connection is cut, so that no client takes it for complete.
 *
 * Ownership: a transfer belongs to its worker until origin_drop. Threads: origin_begin and origin_stats
 * from any thread; the functions of one transfer from one thread. Locked inside, one leaf mutex a
 * transfer and one for new transfers. */
#ifndef SERVE_ORIGIN_H
#define SERVE_ORIGIN_H

#include "base/field.h"
#include "serve/metrics/figure.h"
#include "base/log.h"
#include "serve/players/origins.h"
#include "serve/access/occupancy.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define ORIGIN_BUFFER ((size_t)256 << 10)
#define ORIGIN_HEAD ((size_t)32 << 10)
#define ORIGIN_HOPS 3
#define ORIGIN_VALUE 256

struct origin_cfg {
    struct origins names;
    int transfers;    /* 256 */
    double silence_s; /* 20 */
    const struct log *log;
};

struct origin;

struct origin *origin_new(const struct origin_cfg *cfg, struct err *e);
/* Every transfer must have been dropped. */
void origin_free(struct origin *o);

const struct origins *origin_names(const struct origin *o);

/* ---- one transfer ---- */

enum origin_asked {
    ORIGIN_RANGE,
    ORIGIN_IF_RANGE,
    ORIGIN_IF_NONE_MATCH,
    ORIGIN_IF_MODIFIED_SINCE,
    ORIGIN_ASKED
};
extern const char *const origin_asked_name[ORIGIN_ASKED];

struct origin_question {
    int origin; /* index in names */
    bool head;  /* HEAD, not GET */
    char target[ORIGINS_TARGET];
    char asked[ORIGIN_ASKED][ORIGIN_VALUE]; /* values of headers; "": none */
    struct occupancy *held; /* borrowed; the transfer's end gives one back; NULL: none */
    struct addr who;        /* the address that it was taken for */
    int bell; /* an eventfd, rung when there is something to do, until origin_drop */
};

enum origin_told {
    ORIGIN_TYPE,
    ORIGIN_CONTENT_RANGE,
    ORIGIN_ETAG,
    ORIGIN_LAST_MODIFIED,
    ORIGIN_CACHE_CONTROL,
    ORIGIN_EXPIRES,
    ORIGIN_ACCEPT_RANGES,
    ORIGIN_ENCODING,
    ORIGIN_RETRY_AFTER,
    ORIGIN_TOLD
};
extern const char *const origin_told_name[ORIGIN_TOLD];

enum origin_fault {
    ORIGIN_SOUND,
    ORIGIN_UNREACHABLE, /* its name, its port, its certificate */
    ORIGIN_SILENT,      /* no byte in time */
    ORIGIN_REDIRECT,    /* to an address that is not allowed */
    ORIGIN_BROKEN,      /* not HTTP, or ended too early */
    ORIGIN_FAULTS
};
/* The end of a sentence about the origin, for players. Details are in the log only. */
const char *origin_fault_text(enum origin_fault f);

struct origin_head {
    enum origin_fault fault; /* if there is one, the rest is empty */
    int status;
    int64_t length;                       /* -1: not known */
    char told[ORIGIN_TOLD][ORIGIN_VALUE]; /* "": not there, or too long */
};

struct origin_transfer;

/* ERR_FULL: all transfers are taken. ERR_MEMORY. */
struct origin_transfer *origin_begin(struct origin *o, const struct origin_question *q,
                                     struct err *e);
/* Has the head come? The bell rings when it has. */
bool origin_ready(void *transfer);
/* After origin_ready; borrowed until origin_drop. */
const struct origin_head *origin_head(const struct origin_transfer *t);
/* After origin_ready: the URL that redirects led to; "" if there was none, or it is over 2047 bytes.
 * Borrowed like the head. */
const char *origin_found(const struct origin_transfer *t);
/* The body, as a reply's stream; the bell rings when there is more. */
ssize_t origin_pull(void *transfer, char *buf, size_t max);
/* Ends the transfer if it has not ended, and frees it. */
void origin_drop(void *transfer);

/* ---- figures ---- */

struct origin_stats {
    int transfers, transfers_max; /* under way now, and at most */
    uint64_t begun, refused;      /* refused: all were taken */
    uint64_t bytes;               /* of bodies, handed to players */
    uint64_t failed[ORIGIN_FAULTS];
};
struct origin_stats origin_stats(const struct origin *o);

#endif
