/* published.h - the published weights: one writer puts new ones, many readers use them.
 *
 * A reader borrows the current weights with published_get and returns them with published_put; what
 * it holds never changes. Publishing swaps a pointer under the lock; old weights are
 * freed by a later publish, once nobody holds them, so readers never call free.
 *
 * A grown profile's weights (policy/graft.h) are published in the same way: the frozen policy stays
 * the same, and what is swapped is the new experts' pack.
 *
 * Measured: mutex and count cost about 30 ns a use.
 * Threads: locked inside, a leaf. published_swap: one thread at a time. */
#ifndef SERVE_PUBLISHED_H
#define SERVE_PUBLISHED_H

#include "base/err.h"
#include "policy/graft_pack.h"

struct weights {
    const struct policy *policy;   /* policy->version names it */
    const struct packed *packed;   /* the same, packed for decisions */
    const struct graft_pack *pack; /* new experts on it; NULL: a policy alone */
    double published_at;           /* s since the epoch */
    double check_score;
};

struct published;

/* policy is taken, also on failure. */
struct published *published_new(struct policy *policy, double now, double score,
                                struct err *e);
void published_free(struct published *s); /* nobody holds any weights */
int published_swap(struct published *s, struct policy *policy, double now, double score,
                   struct err *e) __attribute__((warn_unused_result));

/* The same for new experts on one frozen policy. base is taken, also on failure. */
struct published *published_new_added(struct policy *base, const struct graft *g,
                                      double now, double score, struct err *e);
int published_swap_added(struct published *s, const struct graft *g, double now,
                         double score, struct err *e) __attribute__((warn_unused_result));

const struct weights *published_get(struct published *s);
void published_put(struct published *s, const struct weights *w);

#endif
