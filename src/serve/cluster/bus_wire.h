/* bus_wire.h - trajectories, weights, common settings and the heartbeat as bytes and back.
 *
 * A trajectory names its maker, a node, and a number that counts up from 1 for each maker. By these
 * the learner counts each one once (dedup.h). A step of six levels takes about 70 bytes, 85 if the
 * quality of its chunk is known. Forms 1 and 2, of older nodes, have no quality and only the papers'
 * weights; they are read and not written. So are common settings of form 1. Ladders of more than 12
 * levels travel in forms 5 and 6, trajectories with a source in forms 7 and 8, and those of sessions with more
 * downloads than a trajectory lists in forms 11 and 12. Older learners refuse these, so learners are upgraded
 * first, then nodes (README.md). Forms 9 and 10 are read, too: they lack the logarithms of the summary, which
 * then follow from the downloads that are listed.
 *
 * Weights are a note, the state of the de-duplication (dedup.h) and a checkpoint without optimiser
 * (learn/ckpt.h), which has a checksum of its own. The note says in which term a learner published
 * them, up to which position of the stream it has learned, and where the optimiser's state is. Form 1,
 * of older learners, has no de-duplication; it is read and not written. Form 3 is that of a policy with an
 * input (policy/policy.h); others have form 2. An older node refuses form 3 as a whole: it keeps its weights,
 * and its trajectories unconfirmed (outbox.h), until it is upgraded.
 *
 * A reader trusts nothing: it refuses a trajectory whose numbers no session can have (limits.h).
 *
 * Errors: those of envelope.h; ERR_CORRUPT invalid numbers; ERR_MEMORY. Threads: pure functions. */
#ifndef SERVE_BUS_WIRE_H
#define SERVE_BUS_WIRE_H

#include "serve/cluster/shared_value.h"
#include "serve/session/profiles.h"
#include "serve/session/traj.h"

/* The longest trajectory: TRAJ_STEPS + 1 steps of VIEW_LEVELS. */
#define BUS_WIRE_TRAJ_MAX \
    (ENVELOPE_HEAD + 380 + 16 * VIEW_LEVELS + (TRAJ_STEPS + 1) * (49 + 6 * VIEW_LEVELS))
#define BUS_WIRE_NAME 64

/* Which trajectory. */
struct bus_wire_id {
    uint64_t maker, number; /* number > 0 */
};

/* out has BUS_WIRE_TRAJ_MAX bytes; returns how many are used. */
size_t bus_wire_put_traj(void *out, const struct traj *t, struct bus_wire_id id);
/* Of bytes that bus_wire_put_traj wrote. */
struct bus_wire_id bus_wire_peek(const void *bytes);
int bus_wire_get_traj(struct traj *out, struct bus_wire_id *id, const void *bytes,
                      size_t n, struct err *e) __attribute__((warn_unused_result));

struct bus_wire_weights {
    uint64_t term;     /* of the learner: each leader has the next one */
    uint64_t version;  /* of the policy */
    uint64_t position; /* in the stream: up to it all is learned or refused */
    double published_at, check_score;
    uint64_t state_bytes; /* 0: there is no state */
    uint32_t state_crc;
    int state_parts, state_slot;
    const void *dedup; /* its state at that position; NULL: none (form 1) */
    size_t dedup_n;
    const void *checkpoint; /* as learn/ckpt.h encodes it */
    size_t checkpoint_n;
    bool has_input; /* the checkpoint's policy has an input */
};
extern const struct shared_value_kind
    bus_wire_weights_kind; /* borrows dedup and checkpoint */

/* What is equal on all nodes. */
struct bus_wire_common {
    bool has_explore;
    double explore_share;
    int n;
    struct profile profile[PROFILES_MAX]; /* those that an operator put */
};
extern const struct shared_value_kind bus_wire_common_kind;

/* Which process leads. */
struct bus_wire_heartbeat {
    uint64_t term, count, version;
    uint64_t weights_rev, common_rev; /* newest revisions, 0: none */
    bool over;                        /* it stopped: another may lead at once */
    char name[BUS_WIRE_NAME];
};
extern const struct shared_value_kind bus_wire_heartbeat_kind;

#endif
