/* store.h - what outlives the process: sessions, steps, profiles, policy versions.
 *
 * Records are whole rows with a revision, so that they may arrive in any order and twice:
 * the highest revision stays. store->write makes a batch durable or, on failure, leaves
 * everything as it was.
 *
 * Implementation: store_sqlite.h. writer.h is the bounded queue with group commit in front of it.
 *
 * Errors: ERR_IO (disk full, read-only, not reachable), ERR_CORRUPT (not a store, or
 * damaged); e->field names the file. Threads: write from one thread at a time; history
 * and the rest from any thread, locked inside. */
#ifndef SERVE_STORE_H
#define SERVE_STORE_H

#include "serve/learner/bus.h"
#include "serve/session/track.h"

enum store_kind {
    STORE_SESSION, /* opened or closed */
    STORE_STEP,
    STORE_VERSION,
    STORE_PROFILE,
    STORE_PROFILE_GONE, /* profile.name */
    STORE_PRUNE,        /* delete sessions that closed earlier than `before` */
    STORE_ENVELOPE, /* on its way to the bus; the bytes are borrowed until it is written */
    STORE_DELIVERED, /* of those, all up to envelope.number: the last one stays, without bytes */
};

struct store_version {
    uint64_t version;
    uint32_t crc; /* of the weights: says whether a file holds this version */
    double published_at, check_score;
};

struct store_rec {
    enum store_kind kind;
    uint8_t id[TRACK_ID]; /* of the session a step belongs to */
    union {
        struct track_row row;
        struct step step;
        struct store_version version;
        struct profile profile;
        struct bus_envelope envelope;
        double before; /* s since the epoch */
    };
};

struct store {
    void *self;
    /* one transaction, durable when it returns 0 */
    int (*write)(void *self, const struct store_rec *rec, int n, struct err *e);
    /* fn for every open session with its newest steps in order, borrowed for the call; the
     * session without a request for the longest comes first. A code other than 0 stops and is
     * returned. */
    int (*live)(void *self,
                int (*fn)(void *ctx, const struct track_row *row,
                          const struct step *steps, int n, struct err *e),
                void *ctx, struct err *e);
    /* at most limit steps of one session from number `after` on; ERR_ABSENT. *last_at: time of
     * the newest step that is stored, or of these if later. *steps (n) owned by the caller */
    int (*history)(void *self, struct track_row *row, double *last_at,
                   struct step **steps, int *n, const uint8_t id[TRACK_ID],
                   uint32_t after, int limit, struct err *e);
    /* grow: the profile has experts of its own */
    int (*profiles)(void *self, struct profile *out, int max, int *n, struct err *e);
    /* the newest first, at most max */
    int (*versions)(void *self, struct store_version *out, int max, int *n,
                    struct err *e);
    /* fn in order for every envelope that was not delivered and for the last number given out;
     * bytes borrowed for the call; NULL: none are kept */
    int (*envelopes)(void *self,
                     int (*fn)(void *ctx, const struct bus_envelope *p, struct err *e),
                     void *ctx, struct err *e);
    /* from the thread that writes, after a write: ERR_IO if the disk may have no room for what is
     * acknowledged from now on; NULL: not known */
    int (*room)(void *self, struct err *e);
    /* once in a while, from any thread: work that would otherwise delay a write; NULL: none */
    int (*tidy)(void *self, struct err *e);
    void (*free)(void *self);
};

#endif
