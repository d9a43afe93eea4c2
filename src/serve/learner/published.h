/* published.h - the published weights: one writer puts new ones, many readers use them.
 *
 * A reader borrows the current weights with published_get and returns them with published_put. Borrowed
 * weights never change. Publishing swaps a pointer under the lock. A later publish frees old weights
 * without readers, so readers never call free.
 *
 * Measured: mutex and count cost about 30 ns a use.
 * Threads: locked inside, a leaf. published_swap: one thread at a time. */
#ifndef SERVE_PUBLISHED_H
#define SERVE_PUBLISHED_H

#include "base/err.h"
#include "policy/packed.h"

struct weights {
    const struct policy *policy; /* policy_version names it */
    const struct packed *packed; /* the same, packed for decisions */
    double published_at;         /* s since the epoch */
    double check_score;
};

struct published;

/* policy is taken, also on failure, as in published_swap. */
struct published *published_new(struct policy *policy, double now, double score,
                                struct err *e);
void published_free(struct published *s); /* no reader has any weights; NULL is legal */
int published_swap(struct published *s, struct policy *policy, double now, double score,
                   struct err *e) __attribute__((warn_unused_result));

const struct weights *published_get(struct published *s);
void published_put(struct published *s, const struct weights *w);

#endif
