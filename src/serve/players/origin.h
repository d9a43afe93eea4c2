/* origin.h - media of other servers, fetched and handed on; the daemon's home of libcurl.
 *
 * A transfer is one request of a player that goes on to an origin (origins.h). One thread asks all
 * of them; a worker begins a transfer, answers others until its bell rings, reads the head and then
 * pulls the body as a stream (reply.h). What has come and was not yet pulled is at most
 * ORIGIN_BUFFER bytes a transfer: then the origin is made to wait. There are at most cfg.transfers
 * at a time.
 *
 * What an origin is asked: GET or HEAD by HTTP/1.1, with the player's Range, If-Range,
 * If-None-Match and If-Modified-Since; no cookies, no other header of his, no proxy, nothing
 * compressed. Redirects are followed ORIGIN_HOPS times, to http and https alone, and to no private
 * address (addr.h) unless the origin itself was just reached at that address and port: what is
 * looked at is the address that a socket is opened to, so names that change do not help.
 *
 * What ends a transfer: cfg.silence_s without a byte (not while it waits for the player), a head
 * over ORIGIN_HEAD bytes, its client. A body that ends before its Content-Length, or within a
 * chunked coding, is broken: the player's connection is cut, so that nobody takes it for whole.
 *
 * Ownership: of a transfer its worker's until origin_drop. Threads: origin_begin, origin_stats from
 * any; of one transfer the functions from one thread. Locked inside, one leaf mutex a transfer and
 * one for those that begin. */
#ifndef SERVE_ORIGIN_H
#define SERVE_ORIGIN_H

#include "base/log.h"
#include "serve/players/origins.h"
#include "serve/http/occupancy.h"

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

struct origin_cfg origin_cfg_default(void);

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
    int origin; /* its place in names */
    bool head;  /* HEAD, not GET */
    char target[ORIGINS_TARGET];
    char asked[ORIGIN_ASKED][ORIGIN_VALUE]; /* values of headers; "": none */
    struct occupancy
        *held; /* borrowed: one is given back when the transfer ends; NULL: none is */
    struct addr who; /* for whom it was taken */
    int bell; /* an eventfd that is rung when there is something to do; until origin_drop */
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
    ORIGIN_SILENT,      /* for too long */
    ORIGIN_REDIRECT,    /* to where nobody may follow */
    ORIGIN_BROKEN,      /* no HTTP, or an end before its time */
    ORIGIN_FAULTS
};
const char *origin_fault_name(enum origin_fault f); /* a word, for figures */
/* A sentence's end about the origin, for players: what the log has beside it is not theirs. */
const char *origin_fault_text(enum origin_fault f);

struct origin_head {
    enum origin_fault fault; /* then there is nothing else */
    int status;
    int64_t length;                       /* -1: not told */
    char told[ORIGIN_TOLD][ORIGIN_VALUE]; /* "": not there, or too long */
};

struct origin_transfer;

/* ERR_FULL: all transfers are taken. ERR_MEMORY. */
struct origin_transfer *origin_begin(struct origin *o, const struct origin_question *q,
                                     struct err *e);
/* The bell rings when it becomes true. */
bool origin_ready(void *transfer);
/* Once it is ready; borrowed until origin_drop. */
const struct origin_head *origin_head(const struct origin_transfer *t);
/* The body, as a reply's stream; the bell rings when there is more. */
ssize_t origin_pull(void *transfer, char *buf, size_t max);
/* Ends it, if it has not ended. */
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
