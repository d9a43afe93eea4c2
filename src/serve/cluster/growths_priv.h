/* growths_priv.h - what the sources of growths.h share. */
#ifndef SERVE_GROWTHS_PRIV_H
#define SERVE_GROWTHS_PRIV_H

#include "serve/cluster/growths.h"

#include <pthread.h>
#include <stdatomic.h>

struct growths {
    struct growths_cfg cfg;
    /* of the thread of turns */
    struct added_wire list; /* as it was read last, from this revision */
    uint64_t rev, done;     /* done: nothing of it is left to take */
    uint64_t told;          /* the revision whose trouble was logged */
    uint64_t term;          /* in which this one leads, or led */
    int n_given_up;         /* what was published of them could not be gone on from */
    uint64_t given_up[ADDED_WIRE_MAX];
    uint64_t astray;      /* one whose profile is not there ... */
    double astray_at;     /* ... since */
    bool blind;           /* the list is of a newer abrd: it is left alone */
    double looked, retry; /* retry: after what failed */
    char said[128];       /* the last trouble of who leads */
    atomic_bool renew;    /* what is done is to be done again */
    pthread_mutex_t lock; /* of what follows */
    int n_wanted;
    char wanted[ADDED_WIRE_MAX][SERVICE_NAME];
    struct growths_stats stats;
};

static const double GROWTHS_LOOK_S = 1; /* unless somebody calls */

/* The list and its revision; none: empty and 0. */
int growths_read(struct added_wire *list, uint64_t *rev, struct growths *g,
                 struct err *e);
int growths_put(const struct added_wire *list, uint64_t *rev, struct growths *g,
                struct err *e);
/* What it says is what is wanted. */
void growths_note(struct growths *g, const struct added_wire *list);
/* Fetches the experts of one; what is here already is not fetched again. learner: with its state,
 * and all of it. */
int growths_fetch(struct growths *g, const struct added_wire_one *one, bool learner,
                  double now, struct err *e);

#endif
