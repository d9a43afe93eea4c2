/* added_wire.h - profiles with added experts as bytes, for other nodes (envelope.h).
 *
 * The list of profiles is one shared value. A node adds a profile that wants experts (version 0) and
 * marks a deleted one. The leader of the learners sets versions and removes marked ones. So everything
 * published of all profiles is one value, changed from the revision that was read.
 *
 * To decide, a node needs the frozen policy, which never changes and is a checkpoint (learn/ckpt.h),
 * and the added experts, which have their own form here: 23 bytes and 4 for each parameter. Only a
 * learner that takes over needs the learner's state. All three are pieces (pieces.h). Their names contain the
 * experts' id, the term in which they were put, and, for what changes, one of two slots.
 *
 * Errors: those of envelope.h; ERR_CORRUPT for numbers out of range; ERR_MEMORY.
 * Threads: plain data, pure functions. */
#ifndef SERVE_ADDED_WIRE_H
#define SERVE_ADDED_WIRE_H

#include "policy/policy.h"
#include "serve/cluster/pieces.h"
#include "serve/cluster/shared_value.h"
#include "serve/session/service.h"

#define ADDED_WIRE_MAX (2 * SERVICE_ADDED) /* half of them may be marked as deleted */
#define ADDED_WIRE_FORM 1                  /* the newest of list and pieces */

struct added_wire_one {
    char name[SERVICE_NAME];
    uint64_t id;         /* of the experts: drawn by the node that adds the profile */
    bool gone;           /* deleted: its pieces are to be removed */
    uint64_t version;    /* of the added experts; 0: there are none yet */
    uint64_t base_term;  /* in which the frozen policy was put */
    uint64_t term;       /* in which the rest was */
    int slot;            /* 0, 1 */
    uint64_t position;   /* place in the stream up to which they have learned */
    double published_at; /* s since the epoch, by the learner's clock */
    double score, base_score;
    struct pieces base, experts, state;
};

struct added_wire {
    uint64_t term; /* of the last change of what is published; 0: none */
    int n;
    struct added_wire_one at[ADDED_WIRE_MAX];
};

enum added_wire_part { ADDED_WIRE_BASE, ADDED_WIRE_EXPERTS, ADDED_WIRE_STATE };
/* The key of the pieces of one. */
void added_wire_key(char out[PIECES_KEY], const struct added_wire_one *g,
                    enum added_wire_part part);

/* Profiles that are not gone; NULL: absent. */
struct added_wire_one *added_wire_find(struct added_wire *w, const char *name);
struct added_wire_one *added_wire_of(struct added_wire *w, uint64_t id);
/* The number that is not gone. */
int added_wire_count(const struct added_wire *w);

extern const struct shared_value_kind added_wire_list_kind;

/* Added experts alone; *out owned by the caller, without an envelope. */
int added_wire_put_experts(void **out, size_t *n, const struct policy_added *g,
                           struct err *e) __attribute__((warn_unused_result));
/* NULL: an error. base: the configuration of the policy that they were added to. */
struct policy_added *added_wire_get_experts(const struct policy_cfg *base,
                                            const void *bytes, size_t n, struct err *e);

#endif
