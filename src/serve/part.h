/* part.h - an optional feature of the daemon, as the core sees it.
 *
 * The core is serve/session, serve/store, serve/learner and serve/http: sessions, decisions, rewards,
 * profiles, the store, the learner, requests. Features that not every installation needs are parts:
 * viewers without a hint (hintless), profiles with added experts (added), trials (trial), several nodes
 * (cluster), and players without a plugin (players). serve/parts.c lists the parts of a build;
 * `make WITHOUT=NAME` omits one. No file of the core includes a header of a part.
 *
 * The core calls the members below in the order of the table. NULL members are skipped. `self` is set
 * by open; without an open it is NULL. A part reaches the core through session/core.h, and another part
 * through service_part.
 *
 * Threads: decide, hint, assign, asked, chunk, closed, tag, grows: any worker, so locked inside; they allocate
 * nothing. tick: one thread at a time. profile_*: under profiles_lock, never on an HTTP worker. */
#ifndef SERVE_PART_H
#define SERVE_PART_H

#include "serve/session/decide.h"
#include "serve/session/service.h"

struct admit_stats;
struct api_shared;
struct ckpt_meta;
struct emit;
struct route;

#define PARTS_MAX 8

/* The input of a decision. */
struct decision {
    const struct view *view;
    const struct view *asked; /* the same without caution: the viewer's own weights */
    bool hinted;
    int tag; /* of a viewer with a hint: selects the weights (service_tag) */
    const char *content_id; /* of a viewer without a hint */
    int slot;               /* of the statistics */
    uint64_t network;       /* of the client; 0: unknown (session/networks.h) */
    bool explores;          /* decides by the viewer's own weights, also if u < 0 */
    uint32_t trial; /* number of the session's trial, if an arm decides; 0: none */
    uint8_t arm;    /* of that trial */
    /* multiplies mu_stall of view->qoe already (abr/deciders/caution.h); for other weights */
    double stall_weight;
    double u;                /* < 0: the best level */
    struct decider *decider; /* the worker's scratch */
    const char *whose;       /* for the log: name of the weights without a finite value */
};

enum part_decide { PART_PASSES, PART_DECIDED, PART_NOT_FINITE };

struct part {
    const char *name;
    /* Checks the settings as open does. common: settings of the core. */
    int (*check)(const void *cfg, const struct service_cfg *common, struct err *e);

    /* ---- life of the service ---- */
    /* Called once the folder and the store are open. */
    int (*open)(void **self, struct service *s, const void *cfg, struct err *e);
    /* Called once policy and learner exist, from the last row of the table to the first. */
    int (*start)(void *self, struct err *e);
    void (*reload)(void *self);
    void (*tick)(void *self, double now); /* once a second */
    void (*drain)(void *self); /* new sessions are refused; the threads still run */
    void (*save)(void *self);  /* the threads have ended; the store is still open */
    void (*free)(void *self);  /* called also after a failed start */
    /* Writes the part's figures into its member of struct parts_stats. */
    void (*stats)(void *self, void *out);
    /* The figures as members of an open JSON object, for dashboards and for /readyz. */
    void (*json)(struct emit *o, const void *figures);
    void (*ready)(struct emit *o, const void *figures);

    /* ---- scratch of a worker; NULL: an error, in e ---- */
    void *(*desk)(void *self, struct err *e);
    void (*desk_free)(void *desk);

    /* ---- decisions ---- */
    enum part_decide (*decide)(struct verdict *out, void *self, void *desk,
                               const struct decision *d);
    /* Sets the preferences of a new session without a hint. */
    void (*hint)(struct qoe *qoe, void *self, void *desk);
    /* Assigns a new session to an arm of a trial: row->arm, and what the arm changes. */
    void (*assign)(void *self, struct track_row *row, const struct session_open *in);
    /* The same for a session in the store, at the start. */
    void (*assigned)(void *self, struct track_row *row);
    void (*opened)(void *self, const struct track_row *row);
    /* A question got a new answer. Neither asked nor chunk is called for a session that nothing learns
     * from (row.apart). */
    void (*asked)(void *self, void *desk, const struct session_asked *a);
    /* A chunk of a session without a hint has its outcome. */
    void (*chunk)(void *self, const struct track_row *row, const struct step *step);
    void (*closed)(void *self, const struct track_row *row);

    /* ---- profiles ---- */
    /* The tag of a session for which this part's weights decide; -1: another part's or the policy's. */
    int (*tag)(void *self, const struct track_row *row);
    bool (*grows)(void *self, const char *name);
    /* Checks the weights of a profile before a put. */
    int (*profile_check)(void *self, const struct profile *p, struct err *e);
    /* Called after a put. created: the profile is new. */
    int (*profile_put)(void *self, const struct profile *p, bool created, struct err *e);
    void (*profile_gone)(void *self, const char *name);
    /* Called at the start, before profile_restored, for a profile that gets another name. May be
     * called again after a crash. */
    int (*profile_renamed)(void *self, const char *from, const char *to, struct err *e);
    /* Called for each profile in the store at the start. */
    void (*profile_restored)(void *self, const struct profile *p);
    /* As service_profile_weights; ERR_ABSENT: this part has no weights of it. */
    int (*profile_weights)(void **out, size_t *n, void *self, const char *name,
                           struct err *e);

    /* ---- requests: routes, and the state that their handlers share ---- */
    const struct route *routes; /* ends with a row without a path */
    int (*listen)(void **state, const struct api_shared *shared, const void *cfg,
                  struct err *e);
    void (*unlisten)(void *state);
    /* Adds the refusals of the part's limits. */
    void (*limited)(void *state, struct admit_stats *out);
    void (*listen_stats)(void *state, void *out); /* as stats */
};

#endif
