/* follow.h - keeps a node in step with the board: who learns, the weights, what is common.
 *
 * A turn reads the learner's beat, which names the revisions of the rest, and fetches what has
 * changed. Weights are taken when envelope, checksum and shape are right; others are refused,
 * counted and told, and the node goes on with those it has.
 *
 * Errors: ERR_IO the board does not answer. Threads: turns from one thread; follow_stats any. */
#ifndef SERVE_FOLLOW_H
#define SERVE_FOLLOW_H

#include "base/log.h"
#include "policy/policy.h"
#include "serve/cluster/bucket.h"
#include "serve/cluster/bus_wire.h"

#define FOLLOW_HEARTBEAT "beat"
#define FOLLOW_WEIGHTS "weights"
#define FOLLOW_COMMON "common"

struct follow;

struct follow_cfg {
    struct bucket bucket;
    struct policy_cfg shape; /* that workers are made for */
    const struct log *log;
    /* p is taken. */
    int (*weights)(void *ctx, struct policy *p, const struct bus_wire_weights *note,
                   struct err *e);
    /* When it fails it is called again; ERR_CONFLICT (c is older than what is known): nothing is said. */
    int (*common)(void *ctx, const struct bus_wire_common *c, uint64_t rev,
                  struct err *e);
    /* What is learned by now, also when the weights are the same or do not fit; NULL: nobody asks. */
    void (*learned)(void *ctx, const struct bus_wire_weights *note);
    void *ctx;
};

struct follow_stats {
    struct bus_wire_heartbeat beat; /* term 0: none was heard */
    /* Since its last change, or since the board answered first or again. */
    double silent_s;
    uint64_t taken, refused;
    double delay_s, delay_max_s; /* from publication to here, by the clocks of both */
};

struct follow *follow_new(const struct follow_cfg *cfg, struct err *e);
void follow_free(struct follow *f);

/* mono, now: seconds of the two clocks. leads: this node made the weights itself. 1: weights were
 * taken. */
int follow_turn(struct follow *f, bool leads, double mono, double now, struct err *e)
    __attribute__((warn_unused_result));
/* The next turn looks at everything again. */
void follow_afresh(struct follow *f);
/* Somebody said that something has changed. */
void follow_called(struct follow *f);
/* The beat as it was read last and its revision; false: the board does not answer. */
bool follow_heartbeat(struct bus_wire_heartbeat *out, uint64_t *rev, double *silent_s,
                      struct follow *f, double mono);
void follow_stats(struct follow_stats *out, struct follow *f, double mono);

/* Weights that fit this shape, owned; NULL and why not. The note borrows from bytes. */
struct policy *follow_decode(struct bus_wire_weights *note, const void *bytes, size_t n,
                             const struct policy_cfg *shape, struct err *e);

#endif
