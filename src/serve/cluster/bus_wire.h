/* bus_wire.h - what nodes and learner send each other, as bytes and back (envelope.h).
 *
 * Trajectories carry who made them and a number that counts up from 1 for each maker, by which
 * the learner counts every one once (dedup.h). About 70 bytes a step of six levels.
 *
 * Weights are a note, the dedup (dedup.h) and a checkpoint without optimiser (learn/ckpt.h): its
 * metadata name the shape and it has a checksum of its own. The note says which learner (term)
 * published them, up to which place of the stream they have learned, and where the optimiser's state
 * lies. Form 1, of older learners, has no dedup there; it is read, not written.
 *
 * Nothing that was read is trusted: a trajectory whose numbers a session could not have had
 * (limits.h) is refused.
 *
 * Errors: those of envelope.h; ERR_CORRUPT for numbers that cannot be; ERR_MEMORY.
 * Threads: pure functions. */
#ifndef SERVE_BUS_WIRE_H
#define SERVE_BUS_WIRE_H

#include "serve/cluster/envelope.h"
#include "serve/session/profiles.h"
#include "serve/session/traj.h"

/* Longest trajectory: head, constants, measurements, TRAJ_STEPS + 1 steps of VIEW_LEVELS. */
#define BUS_WIRE_TRAJ_MAX \
    (ENVELOPE_HEAD + 400 + (TRAJ_STEPS + 1) * (46 + 4 * VIEW_LEVELS))
#define BUS_WIRE_NAME 64

/* Which trajectory. */
struct bus_wire_id {
    uint64_t maker, number; /* number > 0 */
};

/* out has BUS_WIRE_TRAJ_MAX bytes; returns how many are used. */
size_t bus_wire_put_traj(void *out, const struct traj *t, struct bus_wire_id id);
/* Of bytes that bus_wire_put_traj has written. */
struct bus_wire_id bus_wire_peek(const void *bytes);
int bus_wire_get_traj(struct traj *out, struct bus_wire_id *id, const void *bytes,
                      size_t n, struct err *e) __attribute__((warn_unused_result));

struct bus_wire_weights {
    uint64_t term;     /* of the learner: counts up when another one takes over */
    uint64_t version;  /* of the policy */
    uint64_t position; /* in the stream: all up to it is learned or refused */
    double published_at, check_score;
    uint64_t state_bytes; /* 0: there is no state */
    uint32_t state_crc;
    int state_parts, state_slot;
    const void *dedup; /* its state at that place; borrowed, NULL: none (form 1) */
    size_t dedup_n;
};

/* checkpoint: what learn/ckpt.h encoded. *out is owned by the caller. */
int bus_wire_put_weights(void **out, size_t *n, const struct bus_wire_weights *w,
                         const void *checkpoint, size_t checkpoint_n, struct err *e)
    __attribute__((warn_unused_result));
/* checkpoint: borrowed from bytes; NULL: only the note is wanted. */
int bus_wire_get_weights(struct bus_wire_weights *w, const void **checkpoint,
                         size_t *checkpoint_n, const void *bytes, size_t n, struct err *e)
    __attribute__((warn_unused_result));

/* What is equal on all nodes. */
struct bus_wire_common {
    bool has_explore;
    double explore_share;
    int n;
    struct profile profile[PROFILES_MAX]; /* those put by an operator */
};

/* *out is owned by the caller. */
int bus_wire_put_common(void **out, size_t *n, const struct bus_wire_common *c,
                        struct err *e) __attribute__((warn_unused_result));
int bus_wire_get_common(struct bus_wire_common *c, const void *bytes, size_t n,
                        struct err *e) __attribute__((warn_unused_result));

/* Who learns, told again and again; beats counts the times. */
struct bus_wire_heartbeat {
    uint64_t term, beats, version;
    uint64_t weights_rev, common_rev; /* revisions of the newest ones, 0: none */
    bool over;                        /* he has stopped: anybody may follow at once */
    char name[BUS_WIRE_NAME];
};
#define BUS_WIRE_HEARTBEAT_MAX 256

size_t bus_wire_put_heartbeat(void *out, const struct bus_wire_heartbeat *b);
int bus_wire_get_heartbeat(struct bus_wire_heartbeat *b, const void *bytes, size_t n,
                           struct err *e) __attribute__((warn_unused_result));

#endif
