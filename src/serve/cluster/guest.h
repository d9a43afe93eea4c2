/* guest.h - what another part shares among the processes of a cluster, as the cluster's turns see it.
 *
 * A guest has one shared value (shared_value.h) and may keep experts of its own for profiles. The
 * guests of a build are in serve/parts.c. NULL members are skipped.
 *
 * Threads: called to rest: the thread of the turns; grows, check, want, stats: any, so locked inside;
 * renew: under profiles_lock. */
#ifndef SERVE_GUEST_H
#define SERVE_GUEST_H

#include "serve/cluster/cluster_cfg.h"
#include "serve/cluster/shared_value.h"
#include "serve/session/core.h"

#define GUESTS_MAX 4

struct guest_host {
    struct service *service;
    struct bucket bucket;
    enum cluster_role role;
    uint64_t maker; /* of this node's trajectories */
};

struct guest {
    /* Once policy and parts are there. *self NULL: this process shares nothing. */
    int (*open)(void **self, const struct guest_host *host, struct err *e);
    void (*free)(void *self);
    /* What shared_value_turn serves. */
    struct shared_value *(*value)(void *self);
    void (*called)(void *self); /* a call said that something has changed */
    /* This process begins to lead in this term, and reads the stream from after `position`. */
    int (*resume)(void *self, uint64_t term, uint64_t position, double now,
                  struct err *e);
    int (*lead)(void *self, double mono, double now,
                struct err *e); /* the leader's turn */
    /* The end of a turn; drain: the last one of this process. */
    void (*rest)(void *self, bool drain);
    void (*stats)(struct cluster_stats *out, void *self);
    /* ---- profiles ---- */
    bool (*grows)(void *self, const char *name);
    /* Before a put on all nodes. */
    int (*check)(void *self, const struct profile *p, struct err *e);
    /* Are there to be experts of its own? */
    int (*want)(void *self, const char *name, bool wanted, struct err *e);
    /* The profile was put anew by another process. */
    void (*renew)(void *self, const char *name);
};

/* Of this build (serve/parts.c); ends with NULL. */
extern const struct guest *const parts_guests[];

#endif
