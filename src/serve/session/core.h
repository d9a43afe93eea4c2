/* core.h - the inside of the service, for its own sources and for the parts (serve/part.h).
 *
 * Threads: as service.h; a lock stands in front of the members that it guards. */
#ifndef SERVE_CORE_H
#define SERVE_CORE_H

#include "base/owner.h"
#include "base/siphash.h"
#include "serve/learner/bus.h"
#include "serve/learner/learner.h"
#include "serve/learner/published.h"
#include "serve/part.h"
#include "serve/session/decide.h"
#include "serve/session/experience.h"
#include "serve/session/networks.h"
#include "serve/session/profiles.h"
#include "serve/session/service.h"
#include "serve/session/sessions.h"
#include "serve/store/folder.h"
#include "serve/store/writer.h"

#include <pthread.h>
#include <stdatomic.h>

/* most records of one request: a session's row, three steps and a trajectory */
#define SERVICE_RECORDS 5

/* Functions of a node in a cluster, where nodes share weights, versions and profiles. A part sets it in
 * its open. */
struct peers {
    void *self;
    /* Called with a new version before it is published. */
    int (*announce)(void *self, const struct policy *p, double score, struct err *e);
    bool (*leads)(void *self); /* true if this node's learner learns */
    /* One turn of the learner's thread. Waits up to wait_s for work. */
    void (*turn)(void *self, double wait_s);
    void (*wake)(void *self);      /* ends that wait */
    void (*heartbeat)(void *self); /* runs on its own thread; NULL: no heartbeat */
    /* As service_profile_put and _delete, for all nodes. */
    int (*profile_put)(void *self, const struct profile *p, struct err *e);
    int (*profile_delete)(void *self, const char *name, struct err *e);
};

/* learner: takes turns; store: runs writer; heartbeat: of a leader */
enum service_thread {
    THREAD_CLOCK,
    THREAD_LEARNER,
    THREAD_STORE,
    THREAD_HEARTBEAT,
    SERVICE_THREADS
};

struct service {
    uint8_t secret[SIPHASH_KEY]; /* with cfg.secret */
    uint8_t
        viewers[SIPHASH_KEY]; /* key of viewers' hashes: the secret, else of the seed */
    struct service_cfg cfg;
    /* current values of settings in cfg (service_reload) */
    _Atomic double explore_share, session_ttl_s, retention_s, checkpoint_s;
    _Atomic double
        own_share; /* configured explore_share: in a cluster the leader's is in use */
    double epoch;  /* time at which the monotonic clock was 0 [s] */
    struct folder folder;
    struct policy_cfg policy_cfg;
    void *part[PARTS_MAX]; /* state of each part (serve/parts.h) */
    int parts_open, parts_started;
    const struct peers *peers; /* NULL: no cluster */
    const char
        *no_sessions; /* reason why this node opens no sessions; NULL: it opens them */
    uint8_t number;   /* first byte of session ids; 0: random */
    /* Serialises changes of profiles in memory, store and files. It is held during disk writes, so an
     * HTTP worker must not take it. It is taken before any other lock. */
    pthread_mutex_t profiles_lock;
    struct profiles *profiles;
    struct sessions *sessions;
    struct experience *experience; /* of links and stalls */
    struct networks *networks;
    struct label_sums labels; /* for /metrics */
    struct published *published;
    struct writer *writer;   /* NULL: no store */
    struct bus bus;          /* self NULL: no learner */
    struct learner *learner; /* NULL: no learner */
    struct learner_others
        others; /* receives trajectories of added experts; self NULL: none */
    struct curve *curve;

    atomic_uint_fast64_t opened, observed, closed, expired, conflicts, numeric, underway,
        abandoned;
    atomic_bool draining;
    atomic_flag ticking; /* set by the thread that runs a tick; owns the two below */
    double prune_at;
    double experience_at; /* owned like prune_at: the next time that it is saved */
    double checkpoint_at; /* owned by the thread that takes the learner's turns */
    uint64_t rescued;     /* rescued updates already logged (log_rescue); as above */

    atomic_bool threads; /* some of the threads below run */
    pthread_t thread[SERVICE_THREADS];
    bool has_thread[SERVICE_THREADS];
    pthread_mutex_t lock; /* guards stopping */
    pthread_cond_t stop;
    bool stopping;
};

struct service_worker {
    struct service *service;
    struct decider decider;
    void *desk[PARTS_MAX];
    uint64_t from, network; /* client of the current request (service_worker_from) */
    struct changes changes; /* of the current request */
    struct stages *stages;  /* NULL: not timed */
};

double service_now(struct service *s);

/* The state of a part; NULL: the build is without it, or it is not open. */
void *service_part(struct service *s, const char *name);

/* True if this process learns, alone or as the leader. */
bool service_learning(struct service *s);

/* The tag of a session: from the part whose weights decide for it, else of its reward function. */
uint8_t service_tag(struct service *s, const struct track_row *row);

/* ---- requests ---- */

/* Saves what was seen of links and stalls. A failure is logged. */
void service_save_experience(struct service *s);
/* Reserves room in the store's queue. An error while draining, or if the queue has no room. */
int service_admit(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Returns an unused reservation. */
void service_dismiss(struct service *s);
/* Passes the changes of a request to the store and the learner. */
void service_deliver(struct service *s, struct changes *c, bool opened,
                     const uint8_t id[TRACK_ID]);

/* ---- start ---- */

/* Loads profiles and live sessions from the store. */
int service_restore(struct service *s, struct err *e) __attribute__((warn_unused_result));
/* Loads and publishes the weights, and creates the learner. */
int service_open_policy(struct service *s, struct err *e)
    __attribute__((warn_unused_result));
/* Records the version of this start in the store and as a point of the curve. */
void service_begun(struct service *s);

/* ---- profiles on this node alone; the caller holds profiles_lock ---- */

int service_profile_take(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
int service_profile_drop(struct service *s, const char *name, struct err *e)
    __attribute__((warn_unused_result));
/* Stores that a profile has added experts, in a file that the next start loads. */
int service_profile_mark(struct service *s, const struct profile *p, struct err *e)
    __attribute__((warn_unused_result));
/* True if the profile has added experts, or will get them. */
bool service_profile_grows(struct service *s, const char *name);

/* ---- the learner's turns ---- */

/* One turn of the learner, as learner_turn. Stores and logs the result; new weights are saved at once. */
int service_turn(struct service *s, double wait_s, struct err *e);
/* Writes a checkpoint if one is due. Only for the thread that takes the learner's turns. */
void service_checkpoint(struct service *s, bool now);

void service_stop_threads(struct service *s);

#endif
