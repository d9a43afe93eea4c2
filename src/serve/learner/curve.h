/* curve.h - the learner's curve: what each of its last updates gave, and which versions came of it.
 *
 * A ring of the last CURVE_POINTS points. Each has a number that counts up from 1, so that whoever
 * has read some asks for those after them. Versions from before this start have only what the
 * store knows of them.
 *
 * Ownership: points are copied in and out. Threads: locked inside, a leaf; nothing is allocated
 * after curve_new. The learner thread adds, anybody reads, no decision comes by. */
#ifndef SERVE_CURVE_H
#define SERVE_CURVE_H

#include "base/err.h"
#include "learn/online.h"
#include "serve/learner/vitals.h"

#define CURVE_POINTS 512

enum curve_kind {
    CURVE_EARLIER,  /* a version that was published before this start */
    CURVE_START,    /* what this start began with */
    CURVE_UPDATE,   /* learned, and published */
    CURVE_ROLLBACK, /* learned, and taken back */
    CURVE_ORDER, /* experts were set aside or let in: a version, but nothing was learned */
};

struct curve_point {
    uint64_t number; /* given by curve_add */
    enum curve_kind kind;
    double at;        /* s since the epoch */
    uint64_t version; /* that decides from then on */
    uint64_t steps;   /* learned from so far, since the daemon's learner began */
    double score;     /* in the exam; NaN: not known, or not finite */
    double best;      /* of all so far; NaN: not known */
    bool learned;     /* there was an update, which is told by: */
    struct curve_update {
        double policy_loss, value_loss, entropy, approx_kl, clip_share,
            explained_variance, grad_norm;
    } update;
    bool measured; /* the weights are told by (index: enum ppo_which): */
    struct curve_weights {
        double dormant, effective, weight_rms;
    } weights[2];
};

struct curve;

struct curve *curve_new(struct err *e);
void curve_free(struct curve *c);

void curve_add(struct curve *c, const struct curve_point *p);
/* What an update says of itself, and what the weights are like; vitals NULL: not measured. */
void curve_update(struct curve_point *p, const struct online_stats *s,
                  const struct vitals_stats *vitals);

/* The points after that number, oldest first, at most max; how many. */
int curve_read(struct curve_point *out, int max, struct curve *c, uint64_t after);

/* "earlier", "start", "update", "rollback", "order". */
const char *curve_kind_name(enum curve_kind kind);

#endif
