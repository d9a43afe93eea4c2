/* added_shared.h - the added profiles of a cluster: the list, new experts, and their use on nodes.
 *
 * The list (added_wire.h) is a shared value. It says which profiles have experts of their own. Any
 * node adds a profile (added_shared_want) or marks it as deleted (added_shared_unwant). The leader
 * makes new experts on the policy that is published then, learns from the sessions of that profile,
 * and publishes: first the pieces, under names that no process reads yet, then the list from the revision
 * that it read. So a learner that was replaced changes nothing. The leader removes what is deleted.
 *
 * Nodes take experts that are newer than theirs when list, checksums, numbers and shape are right.
 * Else they refuse them, and keep the experts they have or use the common policy. An empty bucket
 * removes nothing: the next leader lists what it has.
 *
 * A new leader calls added_shared_resume before it reads the stream. It continues from what was
 * published, weights and optimiser, or with an empty bucket from its own files. Trajectories of less
 * than a batch that a killed learner had read are lost; none counts twice (added.h: place).
 *
 * Errors: ERR_IO the bucket does not answer; ERR_CONFLICT other processes were always faster, or
 * another one leads; ERR_FULL. Threads: resume, lead, called and the value's turns from one thread;
 * the rest locked inside, a leaf. */
#ifndef SERVE_ADDED_SHARED_H
#define SERVE_ADDED_SHARED_H

#include "base/entropy.h"
#include "serve/added/added.h"
#include "serve/added/added_wire.h"
#include "serve/cluster/cluster_cfg.h"
#include "serve/cluster/shared_value.h"
#include "serve/learner/published.h"

struct added_shared;

struct added_shared_cfg {
    struct bucket bucket;
    struct added *added;         /* borrowed, as are the others */
    struct published *published; /* the common policy, to which experts are added */
    struct policy_cfg shape;
    struct entropy entropy;
    int max;      /* added profiles */
    bool decides; /* this process uses the experts of the leader */
    const struct log *log;
    /* The reward weights of a profile; false: there is no such profile (yet). */
    bool (*profile)(void *ctx, struct qoe *out, const char *name);
    void *ctx;
};

struct added_shared *added_shared_new(const struct added_shared_cfg *cfg, struct err *e);
void added_shared_free(struct added_shared *g);

/* ---- any thread ---- */

int added_shared_want(struct added_shared *g, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* 0 also when it is not in the list. */
int added_shared_unwant(struct added_shared *g, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Is it in the list, as far as this process knows? */
bool added_shared_wanted(struct added_shared *g, const char *name);
/* Experts that the list may still name were removed here: take them again. */
void added_shared_renew(struct added_shared *g);

/* Sets the figures of added profiles; the rest stays. */
void added_shared_stats(struct cluster_stats *out, struct added_shared *g);

/* ---- the thread of the turns; mono, now: seconds of the two clocks ---- */

/* What shared_value_turn serves while this process does not lead. */
struct shared_value *added_shared_value(struct added_shared *g);
/* A call said that something has changed. */
void added_shared_called(struct added_shared *g);
/* This process begins to lead in this term, and reads the stream from after `position`. */
int added_shared_resume(struct added_shared *g, uint64_t term, uint64_t position,
                        double now, struct err *e) __attribute__((warn_unused_result));
/* The leader's turn: makes new experts, publishes newer ones, removes deleted ones. */
int added_shared_lead(struct added_shared *g, double mono, double now, struct err *e)
    __attribute__((warn_unused_result));

#endif
