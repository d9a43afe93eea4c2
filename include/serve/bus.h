/* bus.h - the way of closed trajectories to the learner.
 *
 * Sending never blocks: when the queue is full the trajectory is dropped and counted,
 * since a learner that lags must not slow an answer down.
 *
 * Implementations: bus_local.h (one process).
 * Threads: locked inside; any number of senders, one receiver. */
#ifndef SERVE_BUS_H
#define SERVE_BUS_H

#include "serve/traj.h"

struct bus_stats {
    uint64_t sent, dropped;
    uint64_t queued;
};

struct bus {
    void *self;
    bool (*send)(void *self, const struct traj *t); /* false: dropped */
    /* Waits up to wait_s for one; false: there was none, or bus_wake was called. */
    bool (*receive)(void *self, struct traj *out, double wait_s);
    void (*wake)(void *self); /* ends a wait */
    void (*stats)(void *self, struct bus_stats *out);
    void (*free)(void *self);
};

#endif
