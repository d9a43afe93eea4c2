/* growths.h - the profiles of a cluster that grow: who wants experts, who makes them, who takes them.
 *
 * The list on the board (added_wire.h) says which profiles are to have experts of their own. Any node
 * adds one (growths_want) or marks it as deleted (growths_unwant). The learner that leads makes new
 * experts on the policy as it is published then (added_add), learns what sessions of that profile
 * send, and publishes: first the pieces, under names that nobody reads yet, then the list from the
 * revision that it has read, so that a learner that was taken for dead changes nothing. Nodes take
 * what is newer than theirs, when list, checksums, numbers and shape are right; what is not they
 * refuse, count and tell once, and go on with what they have: the experts of before, or the common
 * policy. Who is not in the list any more is removed everywhere.
 *
 * A learner that takes over has growths_resume before it reads the stream: it goes on from what was
 * published, weights and optimiser. With an empty board it goes on from its own files. Up to one batch
 * of each profile (added_online) was read and not yet learned when a learner is killed, and is lost;
 * nothing counts twice (added.h: place).
 *
 * Errors: ERR_IO the board does not answer; ERR_CONFLICT others were always faster, or lead; ERR_FULL.
 * Threads: follow, resume and lead from the thread of the learner's or cluster's turns; the rest
 * locked inside, a leaf. */
#ifndef SERVE_GROWTHS_H
#define SERVE_GROWTHS_H

#include "base/entropy.h"
#include "base/log.h"
#include "serve/added/added.h"
#include "serve/added/added_wire.h"
#include "serve/learner/published.h"

#define GROWTHS_KEY "grown"

struct growths;

struct growths_cfg {
    struct bucket bucket;
    struct added *added;         /* borrowed, as are the others */
    struct published *published; /* the common policy, on which new experts are put */
    struct policy_cfg shape;
    struct entropy entropy;
    int max; /* grown profiles */
    const struct log *log;
    /* What viewers of a profile value; false: there is none of that name (yet). */
    bool (*profile)(void *ctx, struct qoe *out, const char *name);
    void *ctx;
};

struct growths *growths_new(const struct growths_cfg *cfg, struct err *e);
void growths_free(struct growths *g);

/* ---- any thread ---- */

int growths_want(struct growths *g, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* 0 also when it was not to grow. */
int growths_unwant(struct growths *g, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Is it to grow, as far as is known here? */
bool growths_wanted(struct growths *g, const char *name);

/* Experts that the list may still name were removed here: they are taken anew. */
void growths_renew(struct growths *g);

struct growths_stats {
    int wanted;
    uint64_t taken, refused;
};
void growths_stats(struct growths_stats *out, struct growths *g);

/* ---- the thread of turns; mono, now: seconds of the two clocks ---- */

/* Somebody said that something has changed. */
void growths_called(struct growths *g);
/* Of who does not lead. take: experts are of use here. */
int growths_follow(struct growths *g, bool take, double mono, double now, struct err *e)
    __attribute__((warn_unused_result));
/* Of who begins to lead in this term; the stream is read from behind `position`. */
int growths_resume(struct growths *g, uint64_t term, uint64_t position, double now,
                   struct err *e) __attribute__((warn_unused_result));
/* Of who leads: makes what is wanted, publishes what is new, removes what is deleted. */
int growths_lead(struct growths *g, double mono, double now, struct err *e)
    __attribute__((warn_unused_result));

#endif
