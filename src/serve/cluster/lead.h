/* lead.h - the leader among several learners: how it is elected, publishes and is replaced.
 *
 * The leader writes a heartbeat every CLUSTER_HEARTBEAT_S, each one by compare-and-swap. A thread of
 * its own calls lead_heartbeat, so a long update or a slow disk does not cost the lead. The heartbeat
 * stops when the learner's thread has not called lead_turn for CLUSTER_STUCK_S. Another learner that
 * sees no new heartbeat for CLUSTER_TAKE_S, or reads that the leader stopped, writes a heartbeat of
 * the next term. The bucket takes only one of several. The new leader continues from what was
 * published last: weights, optimiser and de-duplication, all of one moment.
 *
 * lead_commit writes the state in pieces under names of its own term. Then it puts the weights, whose
 * note names the pieces, from their last revision. Only that publishes. So the bucket refuses a leader
 * that was replaced, whatever it believes; it then follows. The next leader learns from the stream
 * what the former one had learned since its last commit.
 *
 * Errors: ERR_IO the bucket does not answer, ERR_CONFLICT another one leads.
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
    /* Read the stream again from the position of the dedup; drop what is before a position. */
    void (*rewind)(void *ctx);
    void (*trim)(void *ctx, uint64_t position);
    /* This process begins to lead in that term, with the dedup as it is. NULL: nothing else to do. */
    int (*resume)(void *ctx, uint64_t term, struct err *e);
    /* Sets what the leader decides in c. first: the bucket has no common settings yet. */
    int (*common)(void *ctx, struct bus_wire_common *c, bool first, struct err *e);
    void *ctx;
};

struct lead *lead_new(const struct lead_cfg *cfg, struct err *e);
void lead_free(struct lead *l);

/* Bytes of the largest message that a learner of this policy publishes: the weights with
 * LEAD_BESIDE, or a piece of the state. 0: no memory. */
#define LEAD_BESIDE (16 << 10) /* envelope, note, and the dedup of some hundred makers */
size_t lead_needs(const struct policy *p);

/* Once the shared values were read: writes a heartbeat, or takes over when it is time. */
int lead_turn(struct lead *l, struct learner *learner, double mono, double now,
              struct err *e) __attribute__((warn_unused_result));
/* Writes a heartbeat when one is due and the learner is not stuck. lead_turn does it for a caller
 * without a thread. When another one leads, the learner's thread follows from its next turn on. */
int lead_heartbeat(struct lead *l, double mono, struct err *e)
    __attribute__((warn_unused_result));
bool lead_leading(const struct lead *l);
/* The term in which it leads, or led last. */
uint64_t lead_term(const struct lead *l);
/* As learner_cfg.announce. */
int lead_commit(struct lead *l, const struct learner *learner, const struct policy *p,
                double now, double score, struct err *e)
    __attribute__((warn_unused_result));
/* The common settings have changed here: the leader puts them in its next turn. Any thread. */
void lead_settle(struct lead *l);
/* Stops leading, and says so: the next one need not wait. */
void lead_resign(struct lead *l);

#endif
