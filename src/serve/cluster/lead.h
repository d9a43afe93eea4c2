/* lead.h - of several learners one learns: how it is found, and how it publishes.
 *
 * Who leads writes a beat on the board once in CLUSTER_HEARTBEAT_S, each from the revision of the one before.
 * lead_heartbeat writes it from a thread of its own, so that a long update or a slow disk costs nobody the
 * lead. It stops when the learner's thread has not come to lead_turn for CLUSTER_STUCK_S: a learner
 * that is stuck for ever is followed by another after CLUSTER_STUCK_S and CLUSTER_TAKE_S.
 * Another that has not seen it change for CLUSTER_TAKE_S (or reads that it is over) writes a beat of the
 * next term; of several that try the board takes one. The new leader then goes on from what was
 * published last: weights, optimiser, dedup - all of one moment.
 *
 * A commit writes the state in pieces under names of its own term, then the weights, whose note names
 * the state, from their last revision: only with that is anything published. So a leader that was
 * taken for dead and goes on is refused by the board, whatever it thinks, and stands by from then on;
 * what it had learned since its last commit the next one learns from the stream.
 *
 * Errors: ERR_IO the board does not answer, ERR_CONFLICT another one leads.
 * Threads: those of the learner's thread; lead_heartbeat one other thread, between lead_new and
 * lead_resign; lead_leading, lead_term and lead_settle any. */
#ifndef SERVE_LEAD_H
#define SERVE_LEAD_H

#include "serve/cluster/follow.h"
#include "serve/learner/learner.h"
#include "serve/cluster/dedup.h"

struct lead;

struct lead_cfg {
    struct bucket bucket;
    const char *who; /* borrowed */
    struct follow *follow;
    struct dedup *dedup;
    struct published *published;
    struct policy_cfg shape;
    const struct log *log;
    /* The stream is to be read again from the dedup's position; what lies before it is not needed. */
    void (*rewind)(void *ctx);
    void (*trim)(void *ctx, uint64_t position);
    /* This learner takes over in that term, from the dedup as it is: what else it learns goes on,
     * too. NULL: there is nothing else. */
    int (*resume)(void *ctx, uint64_t term, struct err *e);
    /* What is common as this learner has it; the profiles there are stay. */
    int (*common)(void *ctx, struct bus_wire_common *c, bool first, struct err *e);
    void *ctx;
};

struct lead *lead_new(const struct lead_cfg *cfg, struct err *e);
void lead_free(struct lead *l);

/* Bytes of the largest message with which a learner of this policy publishes: the weights with
 * LEAD_BESIDE, or a piece of the state. 0: no memory to tell. */
#define LEAD_BESIDE (16 << 10) /* envelope, note, and a dedup of some hundred makers */
size_t lead_needs(const struct policy *p);

/* After follow_turn: beats, or takes over when it is time. learner: what goes on. */
int lead_turn(struct lead *l, struct learner *learner, double mono, double now,
              struct err *e) __attribute__((warn_unused_result));
/* A beat when one is due and the learner is not stuck. A caller that has no thread for it leaves it to
 * lead_turn. When another one leads, the learner's thread stands by at its next turn or commit. */
int lead_heartbeat(struct lead *l, double mono, struct err *e)
    __attribute__((warn_unused_result));
bool lead_leading(const struct lead *l);
/* In which it leads, or led last. */
uint64_t lead_term(const struct lead *l);
/* As learner_cfg.announce. */
int lead_commit(struct lead *l, const struct learner *learner, const struct policy *p,
                double now, double score, struct err *e)
    __attribute__((warn_unused_result));
/* What is common has changed here: it is put on the board in the next turn, when this one leads. Any
 * thread. */
void lead_settle(struct lead *l);
/* The next one may follow at once. */
void lead_resign(struct lead *l);

#endif
