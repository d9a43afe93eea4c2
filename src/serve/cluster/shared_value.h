/* shared_value.h - a value that all processes of a cluster share: a key of the key-value bucket.
 *
 * A kind (struct shared_value_kind) is a row: the key, the envelope, and one walk (base/pack.h) that
 * is both encoder and decoder. The kinds are in bus_wire.h, slot_log.h, serve/added/added_wire.h and
 * serve/trial/trial_wire.h. Larger values, the learner's state and added experts, are pieces (pieces.h)
 * that one of these names.
 *
 * A value changes by compare-and-swap: shared_value_change reads it, changes it, and puts it from the
 * revision it read. When another process was faster it starts again, at most SHARED_VALUE_TRIES times.
 *
 * shared_value_turn serves a set of values that a process polls. It reads each one that is due and
 * calls `take` for each revision that is not done. A revision that cannot be used is refused: it is
 * logged and counted once (shared_value_refuse), and the process goes on with what it has.
 *
 * Errors: ERR_IO the bucket does not answer; ERR_CONFLICT other processes were always faster;
 * ERR_MEMORY; those of envelope.h; ERR_CORRUPT invalid numbers.
 * Threads: pure functions; a struct shared_value belongs to the thread of the turns, except
 * shared_value_renew. */
#ifndef SERVE_SHARED_VALUE_H
#define SERVE_SHARED_VALUE_H

#include "base/log.h"
#include "base/pack.h"
#include "serve/cluster/bucket.h"
#include "serve/cluster/envelope.h"

#include <stdatomic.h>

#define SHARED_VALUE_KEY 80
#define SHARED_VALUE_TRIES 8
#define SHARED_VALUE_NONE UINT64_MAX /* no revision has been taken yet */

struct shared_value_kind {
    const char *key; /* in the bucket; NULL: the caller names it */
    enum envelope_kind envelope;
    int form;                          /* newest; 1 .. form are read */
    size_t size;                       /* of the struct that pass walks */
    size_t (*room)(const void *value); /* bytes of its body at most */
    void (*pass)(struct pack *p, void *value, int form);
    /* The form that is written, so that older processes can read what they know; NULL: the newest. */
    int (*written)(const void *value);
};

/* ---- one value, once ---- */

/* *out is owned by the caller. */
int shared_value_encode(void **out, size_t *n, const struct shared_value_kind *k,
                        const void *value, struct err *e)
    __attribute__((warn_unused_result));
/* What value points to is borrowed from bytes. After an error value is 0. */
int shared_value_decode(void *value, const struct shared_value_kind *k, const void *bytes,
                        size_t n, struct err *e) __attribute__((warn_unused_result));

/* *rev 0: there is none, and value is 0. bytes: what value borrows from, owned by the caller and freed
 * by free(); NULL when this kind borrows nothing. *rev is set as well when decoding fails. key NULL:
 * that of the kind. */
int shared_value_get(void *value, void **bytes, uint64_t *rev,
                     const struct shared_value_kind *k, const struct bucket *b,
                     const char *key, struct err *e) __attribute__((warn_unused_result));
/* From *rev, which becomes that of the new value. */
int shared_value_put(uint64_t *rev, const void *value, const struct shared_value_kind *k,
                     const struct bucket *b, const char *key, struct err *e)
    __attribute__((warn_unused_result));
/* change: 1 put it, 0 it is as wanted, negative: give up. there: the bucket has the value. value is
 * scratch of k->size bytes and has then what the bucket has at *rev. */
int shared_value_change(void *value, uint64_t *rev, const struct shared_value_kind *k,
                        const struct bucket *b,
                        int (*change)(void *ctx, void *value, bool there, struct err *e),
                        void *ctx, struct err *e) __attribute__((warn_unused_result));

/* ---- values that are polled ---- */

enum shared_value_due { SHARED_VALUE_BY_TIME, SHARED_VALUE_DUE, SHARED_VALUE_IDLE };

struct shared_value {
    /* set by the owner */
    const struct shared_value_kind *kind;
    struct bucket bucket;
    void *value;         /* kind->size bytes: as it was read last */
    double every_s;      /* between two reads */
    bool followers_only; /* not read while this process leads */
    /* Is it to be read before that time, or not at all? NULL: by time. */
    enum shared_value_due (*due)(void *ctx, struct shared_value *v);
    /* A revision that is not done; wrong: why it cannot be decoded, else NULL. 0: it is done; 1: take
     * it again at the next read; ERR_CONFLICT: read it again now; other errors end the turn. */
    int (*take)(void *ctx, struct shared_value *v, const struct err *wrong,
                struct err *e);
    void (*unanswered)(void *ctx); /* the bucket does not answer; NULL: ignored */
    void *ctx;

    /* set by the turns */
    char key[SHARED_VALUE_KEY]; /* or by due, when the kind has none */
    double mono, now;           /* of this turn */
    double read_at;
    uint64_t rev, done;
    uint64_t refused_rev; /* the revision refused last */
    atomic_uint_fast64_t refused;
    atomic_bool renewed;
};

void shared_value_init(struct shared_value *v);
/* mono, now: seconds of the two clocks. An error other than ERR_IO does not keep the values after it
 * from being read; the first one is returned. */
int shared_value_turn(struct shared_value *const *v, int n, bool leads, double mono,
                      double now, struct err *e) __attribute__((warn_unused_result));
/* Read at the next turn: a call said that something has changed. */
void shared_value_called(struct shared_value *v);
/* Take the value again, even if its revision is done. Any thread. */
void shared_value_renew(struct shared_value *v);
/* Counts this revision as refused and logs the reason, once. what: "NAME is refused, ..." */
void shared_value_refuse(struct shared_value *v, const struct log *log, const char *event,
                         const char *what, const struct err *why);

#endif
