/* world.h - what the parts of the simulation share. */
#ifndef SIM_WORLD_H
#define SIM_WORLD_H

#include "base/rng.h"
#include "policy/packed.h"
#include "serve/learner/bus.h"
#include "serve/parts.h"
#include "serve/session/service.h"
#include "sim/disk.h"
#include "sim/files.h"
#include "sim/model.h"
#include "sim/sim.h"

enum {
    WORLD_DEPTH = 3,      /* workers: requests in the midst of each other */
    WORLD_SESSIONS = 400, /* ever opened */
    WORLD_VERSIONS = 200,
    WORLD_PROFILES = 5, /* that the operator puts and deletes */
    WORLD_TAUGHT = 8192,
    WORLD_BUS = 64,
};

/* What was published under a number, so that it can be asked again. */
struct world_version {
    uint64_t number;
    uint32_t crc; /* of weights and busy experts */
    struct packed *packed;
    uint64_t put; /* records, when something durable may name it */
};

struct world_profile {
    char name[SERVICE_NAME];
    enum { PROFILE_ABSENT, PROFILE_THERE, PROFILE_UNSURE } state;
    bool added; /* and answered as such */
    struct qoe qoe;
};

struct world_taught {
    uint64_t what, put;
};

struct world {
    const struct sim_cfg *cfg;
    struct sim_result *out;
    struct rng rng; /* of the step */
    int step;
    double now;
    uint64_t bytes; /* drawn as entropy */

    struct service_cfg sc;
    struct parts_cfg optional; /* sc.optional */
    struct log log;            /* beside the events, when they are told */
    char data[300];
    struct service *service;
    struct service_worker *worker[WORLD_DEPTH];
    int depth;
    bool lively;      /* others come in the midst of this step */
    bool looking;     /* world_stats is under way */
    bool in_store;    /* of a transaction: nobody may wait for the store */
    bool dying;       /* a crash may come in the midst of this step */
    bool doomed;      /* it has: what follows never happened */
    uint64_t arrived; /* nested requests */

    struct disk disk, kept_disk;
    struct files kept;
    struct files_watch watch;
    uint64_t kept_bytes;
    bool sqlite, refuse_entropy;

    struct traj ring[WORLD_BUS];
    int ring_first, ring_n, ring_cap;
    struct world_taught taught[WORLD_TAUGHT];
    int n_taught;
    float *obs; /* scratch of a trajectory */

    struct model_session *session[WORLD_SESSIONS];
    int sessions;
    struct world_profile profile[WORLD_PROFILES];

    struct world_version version[WORLD_VERSIONS];
    int versions;
    uint64_t published, newest; /* now; ever, of what was durable */
    uint64_t slot;
    bool drained; /* the last end was a drain without a fault */
    bool damaged; /* a file, before the start */
    double tick_at;
    bool one_address;  /* all viewers have the same */
    bool told_a_label; /* a session was watched long enough to count, ever */
    int starts;

    struct {
        uint64_t opened, closed, expired, decisions, repeats, rewards, not_followed,
            conflicts, unwatched;
    } count; /* since the start, as the service must have counted */
};

/* ---- sim.c ---- */
bool world_chance(struct world *w, double p);
int world_below(struct world *w, int n);
void world_note(struct world *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The first one stays. */
void world_finding(struct world *w, enum sim_rule rule, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool world_found(const struct world *w);
void world_mix(struct world *w, uint64_t a, uint64_t b);
/* Records put before the store since the folder was new. */
/* What the service tells of itself; nobody comes in the midst of that. */
void world_stats(struct service_stats *out, struct world *w);
uint64_t world_put(struct world *w);
/* Between two calls of the service, without a lock: others come in, or the end does. */
void world_meanwhile(struct world *w);

/* ---- viewers.c: one request each ---- */
void viewers_act(struct world *w);

/* ---- turns.c: the daemon's threads, its operator, its ends ---- */
void turns_start(struct world *w);
void turns_commit(struct world *w);
void turns_learn(struct world *w);
void turns_periodic(struct world *w);
void turns_operator(struct world *w);
void turns_fault(struct world *w);
void turns_crash(struct world *w);
void turns_drain(struct world *w);
void turns_doom(struct world *w);
void turns_stop(struct world *w);

/* ---- lane.c: the bus, and what is taught over it ---- */
int lane_bus(struct bus *out, void *ctx, struct err *e);
/* What was sent by the request that is over is durable with its records. */
void lane_settle(struct world *w);
void lane_forget(struct world *w, uint64_t durable);

/* ---- check.c ---- */
void check_answer(struct world *w, const struct model_session *s, const struct answer *a);
void check_same(struct world *w, const struct answer *was, const struct answer *a);
void check_counts(struct world *w);
/* What a session that is over may have told of its viewer. */
void check_end(struct world *w, const struct model_session *s);
void check_mix(struct world *w);
void check_history(struct world *w, const struct model_session *s);
void check_version(struct world *w);
/* The model as it is after a crash, held against what is stored. */
void check_restart(struct world *w, uint64_t durable);

#endif
