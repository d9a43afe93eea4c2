/* curve.h - the learner's curve: results and versions of its last updates.
 *
 * A ring of the last CURVE_POINTS points, numbered from 1, so a reader can ask for the points after the
 * last one that it has. Versions of earlier starts have only the data that the store has.
 *
 * Ownership: points are copied in and out. Threads: locked inside, a leaf; nothing is allocated
 * after curve_new. The learner thread writes, any thread reads; decisions do not use it. */
#ifndef SERVE_CURVE_H
#define SERVE_CURVE_H

#include "base/err.h"
#include "learn/online.h"
#include "serve/learner/vitals.h"

#define CURVE_POINTS 512

enum curve_kind {
    CURVE_EARLIER,  /* a version that was published before this start */
    CURVE_START,    /* the weights of this start */
    CURVE_UPDATE,   /* learned, and published */
    CURVE_ROLLBACK, /* learned, and rolled back */
    CURVE_HELD,     /* learned and kept, but not published: nowhere better yet */
    CURVE_ORDER, /* an operator disabled or enabled experts: a version without learning */
};

struct curve_point {
    uint64_t number; /* given by curve_add */
    enum curve_kind kind;
    double at;        /* s since the epoch */
    uint64_t version; /* that decides from then on */
    uint64_t steps;   /* learned from so far, since the daemon's learner began */
    double score;     /* in the exam; NaN: not known, or not finite */
    double best;      /* of all so far; NaN: not known */
    bool learned;     /* `update` is valid */
    struct curve_update {
        double policy_loss, value_loss, entropy, approx_kl, clip_share,
            explained_variance, grad_norm;
    } update;
    bool measured; /* `weights` is valid (index: enum ppo_which) */
    struct curve_weights {
        double dormant, effective, weight_rms;
    } weights[2];
};

struct curve;

struct curve *curve_new(struct err *e);
void curve_free(struct curve *c);

void curve_add(struct curve *c, const struct curve_point *p);
/* Sets the figures of an update and of its weights; vitals NULL: not measured. */
void curve_update(struct curve_point *p, const struct online_stats *s,
                  const struct vitals_stats *vitals);

/* The points after this number, oldest first, at most max; returns their number. */
int curve_read(struct curve_point *out, int max, struct curve *c, uint64_t after);

/* "earlier", "start", "update", "rollback", "held", "order". */
const char *curve_kind_name(enum curve_kind kind);

#endif
