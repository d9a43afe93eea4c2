/* store.h - data that survive a restart: sessions, steps, profiles, policy versions.
 *
 * A record is a whole row with a revision. The highest revision stays. So records may arrive in
 * any order, and more than once. store->write makes a batch durable. If it fails, it changes
 * nothing.
 *
 * Implementation: store_sqlite.h. writer.h is the bounded queue with group commit in front of it.
 *
 * Errors: ERR_IO (disk full, read-only, not reachable), ERR_CORRUPT (not a store, or
 * damaged); e->field names the file.
 * Threads: write and room from one thread at a time. The other calls from any thread, locked
 * inside. */
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
    STORE_PROFILE_NAME, /* a profile, its added experts and its sessions get another name */
    STORE_PRUNE,        /* delete sessions that closed earlier than `before` */
    STORE_ENVELOPE, /* on its way to the bus; the bytes are borrowed until it is written */
    STORE_DELIVERED, /* delete envelopes up to envelope.number; the last stays, without bytes */
};

struct store_version {
    uint64_t version;
    uint32_t crc; /* of the weights: shows whether a file holds this version */
    double published_at, check_score;
};

struct store_name {
    char from[SERVICE_NAME], to[SERVICE_NAME];
};

struct store_rec {
    enum store_kind kind;
    uint8_t id[TRACK_ID]; /* session of the step */
    union {
        struct track_row row;
        struct step step;
        struct store_version version;
        struct profile profile;
        struct store_name name;
        struct bus_envelope envelope;
        double before; /* s since the epoch */
    };
};

struct forget_choice;
struct forget_stats;

struct store {
    void *self;
    /* one transaction, durable when it returns 0 */
    int (*write)(void *self, const struct store_rec *rec, int n, struct err *e);
    /* Calls fn for every open session, with its newest steps in order, borrowed for the call.
     * Sessions come in the order of their last request, the oldest first. If fn returns a code
     * other than 0, live stops and returns it. */
    int (*live)(void *self,
                int (*fn)(void *ctx, const struct track_row *row,
                          const struct step *steps, int n, struct err *e),
                void *ctx, struct err *e);
    /* At most `limit` steps of one session, from number `after` on. ERR_ABSENT: no such session.
     * *last_at: the latest time among the newest stored step and these steps. *steps (n): owned by
     * the caller. */
    int (*history)(void *self, struct track_row *row, double *last_at,
                   struct step **steps, int *n, const uint8_t id[TRACK_ID],
                   uint32_t after, int limit, struct err *e);
    /* out->grow is true if the profile has added experts */
    int (*profiles)(void *self, struct profile *out, int max, int *n, struct err *e);
    /* the newest first, at most max */
    int (*versions)(void *self, struct store_version *out, int max, int *n,
                    struct err *e);
    /* Calls fn, in order, for every envelope that was not delivered, and for the last number that
     * was used. The bytes are borrowed for the call. NULL: the store keeps no envelopes. */
    int (*envelopes)(void *self,
                     int (*fn)(void *ctx, const struct bus_envelope *p, struct err *e),
                     void *ctx, struct err *e);
    /* Calls fn for every session of that trial: the closed ones in the order of their end, then the
     * open ones. NULL: the store keeps no trials. */
    int (*trial)(void *self, const char *name,
                 int (*fn)(void *ctx, const struct track_row *row, struct err *e),
                 void *ctx, struct err *e);
    /* Called after a write, by the thread that writes. ERR_IO: the disk may have no room for the
     * records that are acknowledged from now on. NULL: not known. */
    int (*room)(void *self, struct err *e);
    /* Deletes sessions as forget.h says; nothing is written meanwhile. If a deleted session was live, or
     * ended at or after `since`, its later records are dropped, since its requests may still be in
     * progress. Any thread. NULL: the store keeps nothing to delete. */
    int (*forget)(void *self, struct forget_stats *out,
                  const struct forget_choice *choice, const uint8_t *key, double since,
                  bool dry, struct err *e);
    /* Does work that would otherwise delay a write. Called from time to time, from any thread.
     * NULL: there is no such work. */
    int (*tidy)(void *self, struct err *e);
    void (*free)(void *self);
};

#endif
