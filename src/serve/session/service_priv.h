/* service_priv.h - what the sources of the service, and serve/cluster/cluster.c, share. */
#ifndef SERVE_SERVICE_PRIV_H
#define SERVE_SERVICE_PRIV_H

#include "serve/learner/bus.h"
#include "serve/session/decide.h"
#include "serve/learner/exam.h"
#include "serve/store/folder.h"
#include "serve/added/added.h"
#include "serve/learner/learner.h"
#include "serve/session/profiles.h"
#include "base/siphash.h"
#include "serve/session/service.h"
#include "serve/session/sessions.h"
#include "serve/learner/published.h"
#include "serve/hintless/hintless.h"
#include "serve/store/writer.h"

#include <pthread.h>
#include <stdatomic.h>

/* records that one request can cause: a session's row, three steps and a trajectory */
#define SERVICE_RECORDS 5

struct service {
    uint8_t secret[SIPHASH_KEY]; /* with cfg.secret */
    struct service_cfg cfg;
    /* of cfg, as they are now (service_reload) */
    _Atomic double explore_share, session_ttl_s, retention_s, checkpoint_s;
    _Atomic double
        own_share; /* explore_share as configured: in a cluster the leader's counts */
    double epoch;  /* when the monotonic clock was 0, s */
    struct folder folder;
    struct policy_cfg policy_cfg;
    /* One change of the profiles at a time: in memory, store and files, and in a cluster the
     * revision that is taken over. Held while the disk works, so that no worker of HTTP may take it;
     * taken before any other lock. */
    pthread_mutex_t profiles_lock;
    struct profiles *profiles;
    struct sessions *sessions;
    struct published *published;
    struct added *added;
    struct hintless *hintless;
    struct writer *writer;   /* NULL: nothing is stored */
    struct bus bus;          /* self NULL: nothing learns */
    struct learner *learner; /* NULL likewise */
    struct cluster *cluster; /* NULL: standalone */
    struct curve *curve;

    atomic_uint_fast64_t opened, closed, expired, conflicts, numeric, underway, abandoned;
    atomic_bool draining;
    atomic_flag ticking; /* one tick at a time: owner of the next two */
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
    struct hintless_desk *desk;
    uint64_t from;          /* whose request is at hand (service_worker_from) */
    struct changes changes; /* of the request at hand */
    struct stages *stages;  /* NULL: nobody wants to know */
};

double service_now(struct service *s);

/* The tag of a session: its grown profile's, when that had grown before it was opened; else that
 * of its reward function. */
uint8_t service_tag(struct service *s, const struct track_row *row);

/* Refuses when draining or when the store has no room for a request's records. */
int service_admit(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Gives the admission back unused. */
void service_dismiss(struct service *s);
/* Hands what a request changed to the store and the learner. */
void service_deliver(struct service *s, struct changes *c, bool opened,
                     const uint8_t id[TRACK_ID]);

/* The versions that the store knows become points of the curve; the newest of them, if any. */
int service_earlier(struct store_version *newest, struct service *s, struct err *e)
    __attribute__((warn_unused_result));

/* What this start began with, as a point of the curve. */
void service_begun(struct service *s);

/* This profile has experts of its own, in a file that a start will look for. */
void service_added_mark(struct service *s, const struct profile *p);

/* Put and deleted here alone (service_info.c). The caller holds profiles_lock. */
int service_profile_take(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
int service_profile_drop(struct service *s, const char *name, struct err *e)
    __attribute__((warn_unused_result));

/* Takes stored profiles and live sessions in. */
int service_restore(struct service *s, struct err *e) __attribute__((warn_unused_result));

/* Ends some sessions that have fallen silent, while the store's queue has plenty of room: true when
 * there may be more of them to end now. */
bool service_expire(struct service *s);

/* One turn of the learner, as learner_turn; what it gave is stored and logged. */
int service_turn(struct service *s, double wait_s, struct err *e);
/* A checkpoint when one is due. For whoever takes the learner's turns. */
void service_checkpoint(struct service *s, bool now);

void service_stop_threads(struct service *s);

#endif
