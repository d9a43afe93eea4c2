/* core.h - the service from inside, for its own sources and for the parts (serve/part.h).
 *
 * Threads: as service.h; a lock stands in front of what it guards. */
#ifndef SERVE_CORE_H
#define SERVE_CORE_H

#include "base/owner.h"
#include "base/siphash.h"
#include "serve/learner/bus.h"
#include "serve/learner/learner.h"
#include "serve/learner/published.h"
#include "serve/part.h"
#include "serve/session/decide.h"
#include "serve/session/profiles.h"
#include "serve/session/service.h"
#include "serve/session/sessions.h"
#include "serve/store/folder.h"
#include "serve/store/writer.h"

#include <pthread.h>
#include <stdatomic.h>

/* records that one request can cause: a session's row, three steps and a trajectory */
#define SERVICE_RECORDS 5

/* The other nodes, when there are any: then weights, versions and profiles are not this process's
 * alone. A part sets it in its open. */
struct peers {
    void *self;
    /* A new version, before anybody decides by it. */
    int (*announce)(void *self, const struct policy *p, double score, struct err *e);
    bool (*leads)(void *self); /* does this node's learner learn? */
    /* One turn of the learner's thread, which waits up to wait_s when there is nothing to do. */
    void (*turn)(void *self, double wait_s);
    void (*wake)(void *self);      /* ends that wait */
    void (*heartbeat)(void *self); /* on a thread of its own; NULL: none is needed */
    /* For all nodes: as service_profile_put and _delete. */
    int (*profile_put)(void *self, const struct profile *p, struct err *e);
    int (*profile_delete)(void *self, const char *name, struct err *e);
};

struct service {
    uint8_t secret[SIPHASH_KEY]; /* with cfg.secret */
    struct service_cfg cfg;
    /* of cfg, as they are now (service_reload) */
    _Atomic double explore_share, session_ttl_s, retention_s, checkpoint_s;
    _Atomic double
        own_share; /* explore_share as configured: among peers the leader's counts */
    double epoch;  /* when the monotonic clock was 0, s */
    struct folder folder;
    struct policy_cfg policy_cfg;
    void *part[PARTS_MAX]; /* the state of each (serve/parts.h) */
    int parts_open, parts_started;
    const struct peers *peers; /* NULL: this node is alone */
    const char *no_sessions;   /* why this node opens none; NULL: it does */
    uint8_t number; /* with which ids of sessions begin; 0: they begin anyhow */
    /* One change of the profiles at a time: in memory, store and files. Held while the disk works, so
     * that no worker of HTTP may take it; taken before any other lock. */
    pthread_mutex_t profiles_lock;
    struct profiles *profiles;
    struct sessions *sessions;
    struct published *published;
    struct writer *writer;   /* NULL: nothing is stored */
    struct bus bus;          /* self NULL: nothing learns */
    struct learner *learner; /* NULL likewise */
    struct learner_others
        others; /* whose trajectories are not the learner's; self NULL: nobody's */
    struct curve *curve;

    atomic_uint_fast64_t opened, closed, expired, conflicts, numeric, underway, abandoned;
    atomic_bool draining;
    atomic_flag ticking; /* one tick at a time: owner of the next one */
    double prune_at;
    double checkpoint_at; /* of whoever takes the learner's turns */

    atomic_bool threads; /* learner, writer and tick are running */
    pthread_t learner_thread, writer_thread, tick_thread, heartbeat_thread;
    bool has_heartbeat;   /* the last one runs */
    pthread_mutex_t lock; /* of stopping */
    pthread_cond_t stop;
    bool stopping;
};

struct service_worker {
    struct service *service;
    struct decider decider;
    void *desk[PARTS_MAX];
    uint64_t from;          /* whose request is at hand (service_worker_from) */
    struct changes changes; /* of the request at hand */
    struct stages *stages;  /* NULL: nobody wants to know */
};

double service_now(struct service *s);

/* The state of a part; NULL: this build has none of that name, or it is not open. */
void *service_part(struct service *s, const char *name);

/* Does this process learn, alone or as the leader? */
bool service_learning(struct service *s);

/* The tag of a session: that of a part whose weights are the session's, else that of its reward
 * function. */
uint8_t service_tag(struct service *s, const struct track_row *row);

/* ---- requests ---- */

/* Refuses when draining or when the store has no room for a request's records. */
int service_admit(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Gives the admission back unused. */
void service_dismiss(struct service *s);
/* Hands what a request changed to the store and the learner. */
void service_deliver(struct service *s, struct changes *c, bool opened,
                     const uint8_t id[TRACK_ID]);

/* ---- start ---- */

/* Takes stored profiles and live sessions in. */
int service_restore(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* The published weights, and the learner that goes on from them. */
int service_open_policy(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* The version that this start began with, for the store and as a point of the curve. */
void service_begun(struct service *s);

/* ---- profiles on this node alone; the caller holds profiles_lock ---- */

int service_profile_take(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
int service_profile_drop(struct service *s, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Stores that a profile has experts of its own, in a file that a start will look for. */
int service_profile_mark(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
/* Has it experts of its own, or is it to have some? */
bool service_profile_grows(struct service *s, const char *name);

/* ---- the learner's turns ---- */

/* One turn of the learner, as learner_turn; what it gave is stored and logged. */
int service_turn(struct service *s, double wait_s, struct err *e);
/* A checkpoint when one is due. For whoever takes the learner's turns. */
void service_checkpoint(struct service *s, bool now);

void service_stop_threads(struct service *s);

#endif
