/* bus.h - passes closed trajectories to the learner.
 *
 * Sending never blocks: if the queue is full, the trajectory is dropped and counted. So a slow learner
 * does not slow an answer.
 *
 * A bus between processes may keep trajectories in the store until they are delivered (stage, stored,
 * restore, delivered): a trajectory is staged instead of sent, written with the step that closed it,
 * and sent when it is durable.
 *
 * Implementations: bus_local.h (one process), bus_nats.h (many).
 * Threads: locked inside; any number of senders, one receiver. */
#ifndef SERVE_BUS_H
#define SERVE_BUS_H

#include "base/err.h"
#include "serve/session/traj.h"

struct bus_stats {
    uint64_t sent, dropped;
    uint64_t queued;
};

/* A trajectory as bytes, for the store. Number 0 is the bus's own record. */
struct bus_envelope {
    uint64_t number;
    const void *bytes;
    size_t n;    /* 0: no longer needed */
    int doubted; /* number of answers that it was a repeat (outbox.h) */
};

struct bus {
    void *self;
    bool (*send)(void *self, const struct traj *t); /* false: dropped */
    /* Waits up to wait_s for one; false: there was none, or bus_wake was called. */
    bool (*receive)(void *self, struct traj *out, double wait_s);
    void (*wake)(void *self); /* ends a wait */
    void (*stats)(void *self, struct bus_stats *out);
    void (*free)(void *self);
    /* ---- NULL if the store keeps nothing ---- */
    /* Instead of send. false: dropped; else the store is to keep *out, whose bytes are borrowed until
     * `stored` is called. */
    bool (*stage)(void *self, const struct traj *t, struct bus_envelope *out);
    void (*stored)(void *self, uint64_t number);
    /* At the start: the records of the store, in the order of numbers. */
    int (*restore)(void *self, const struct bus_envelope *p, struct err *e);
    /* The store may delete the records up to this number. */
    uint64_t (*delivered)(void *self);
};

#endif
