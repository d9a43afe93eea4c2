/* part.h - an optional feature of the daemon, as the core sees it.
 *
 * The core is serve/session, serve/store, serve/learner and serve/http: sessions, decisions, rewards,
 * profiles, the store, the learner, requests. What not every installation needs is a part: viewers
 * without a hint (hintless), profiles with experts of their own (added), several nodes (cluster), and
 * players without a plugin (players). serve/parts.c lists the parts of a build; `make WITHOUT=NAME`
 * leaves one out. No file of the core includes a header of a part.
 *
 * The core calls the members below in the order of the table. NULL members are skipped. `self` is what
 * open returned; without an open it is NULL. A part reaches the core through session/core.h, and
 * another part through service_part.
 *
 * Threads: decide, hint, asked, chunk, closed, tag, grows: any worker, so locked inside; they allocate
 * nothing. tick: one thread at a time. profile_*: under profiles_lock, never a worker of HTTP. */
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

/* Who decides, and what a decision may rest on. */
struct decision {
    const struct view *view;
    bool hinted;
    int tag; /* of a viewer with a hint: whose weights decide (profiles.h) */
    const char *content_id;  /* of a viewer without */
    double u;                /* < 0: the best level */
    struct decider *decider; /* the worker's scratch */
    const char *whose;       /* for the log: whose weights gave no finite value */
};

enum part_decide { PART_PASSES, PART_DECIDED, PART_NOT_FINITE };

struct part {
    const char *name;
    /* Would open take these settings? common: those of the core. */
    int (*check)(const void *cfg, const struct service_cfg *common, struct err *e);

    /* ---- life of the service ---- */
    /* The folder and the store are open, nothing else. */
    int (*open)(void **self, struct service *s, const void *cfg, struct err *e);
    /* The policy is published, the learner is there. Called from the last row of the table to the first. */
    int (*start)(void *self, struct err *e);
    void (*reload)(void *self);
    void (*tick)(void *self, double now); /* once a second */
    void (*drain)(void *self);            /* no new sessions; the threads still run */
    void (*save)(void *self); /* the threads have ended, the store takes writes */
    void (*free)(void *self); /* also after a start that failed */
    /* Its figures, into its member of struct parts_stats. */
    void (*stats)(void *self, void *out);
    /* The same as members of an open JSON object: of the figures for pages, and of /readyz. */
    void (*json)(struct emit *o, const void *figures);
    void (*ready)(struct emit *o, const void *figures);

    /* ---- scratch of a worker; NULL: an error, in e ---- */
    void *(*desk)(void *self, struct err *e);
    void (*desk_free)(void *desk);

    /* ---- decisions ---- */
    enum part_decide (*decide)(struct verdict *out, void *self, void *desk,
                               const struct decision *d);
    /* A session without a hint is opened: what it is taken to value. */
    void (*hint)(struct qoe *qoe, void *self, void *desk);
    void (*opened)(void *self, const struct track_row *row);
    /* A question of a session was answered anew. */
    void (*asked)(void *self, void *desk, const struct session_asked *a);
    /* A chunk of a session without a hint has its outcome. */
    void (*chunk)(void *self, const struct track_row *row, const struct step *step);
    void (*closed)(void *self, const struct track_row *row);

    /* ---- profiles ---- */
    /* The tag of a session whose weights are this part's, -1: they are not. */
    int (*tag)(void *self, const struct track_row *row);
    bool (*grows)(void *self, const char *name);
    /* Before a put: may the profile have these weights? */
    int (*profile_check)(void *self, const struct profile *p, struct err *e);
    /* After it. created: there was none of that name. */
    int (*profile_put)(void *self, const struct profile *p, bool created, struct err *e);
    void (*profile_gone)(void *self, const char *name);
    /* A start has found it in the store. */
    void (*profile_restored)(void *self, const struct profile *p);
    /* Its weights, as service_profile_weights; ERR_ABSENT: none here. */
    int (*profile_weights)(void **out, size_t *n, void *self, const char *name,
                           struct err *e);

    /* ---- requests: rows of the table of routes, and what their handlers share ---- */
    const struct route *routes; /* ends with a row without a path */
    int (*listen)(void **state, const struct api_shared *shared, const void *cfg,
                  struct err *e);
    void (*unlisten)(void *state);
    /* Refusals of its limits, into the figures of all of them. */
    void (*limited)(void *state, struct admit_stats *out);
    void (*listen_stats)(void *state, void *out); /* as stats */
};

#endif
