/* trial_shared.h - one trial on all nodes of a cluster: follows what is common, shares what is counted.
 *
 * Plan, phase and stopped arms are a shared value (trial_wire.h). A person's order changes it on any process,
 * and all follow. A process that has a trial, or one in its settings, gives it to a bucket that has none.
 *
 * A node puts what it counted under its own key, some seconds after a change, its viewers first. Every
 * process reads what the other nodes put, and adds it up. Sums of a node that is away stay in the bucket.
 * A node's number is that of its store, so it goes on with its own sums after a restart. A node without a
 * store has another number then, and the sums of its former life stay.
 *
 * An arm that a node stops is stopped on all: the node adds it to the shared value, until that succeeds.
 *
 * Errors: a bucket that does not answer is asked again later; the node goes on with what it has.
 * Threads: turns from one thread; orders (struct trial_peers) from any. */
#ifndef SERVE_TRIAL_SHARED_H
#define SERVE_TRIAL_SHARED_H

#include "serve/cluster/shared_value.h"
#include "serve/trial/trial_run.h"

struct trial_shared;

struct trial_shared_cfg {
    struct bucket bucket;
    struct trial_run *trial;         /* borrowed; trial_run_share is called */
    const struct trial_plan *wanted; /* of the settings; NULL: none; borrowed */
    uint64_t maker;                  /* of this node; 0: it opens no sessions */
    const struct log *log;           /* borrowed */
};

struct trial_shared *trial_shared_new(const struct trial_shared_cfg *cfg, struct err *e);
void trial_shared_free(struct trial_shared *s);

/* What shared_value_turn serves. */
struct shared_value *trial_shared_value(struct trial_shared *s);
void trial_shared_called(struct trial_shared *s);
/* The end of a turn: puts and reads counts if it is time. drain: puts what is left. */
void trial_shared_rest(struct trial_shared *s, double mono, bool drain);

#endif
