/* grown_priv.h - what the sources of grown.h share. */
#ifndef SERVE_GROWN_PRIV_H
#define SERVE_GROWN_PRIV_H

#include "serve/learner/exam.h"
#include "serve/added/grown.h"
#include "serve/learner/snap.h"

#include <pthread.h>

#define GROWN_PATH 600

struct entry {
    char name[SERVICE_NAME];
    uint64_t id; /* of the growth, among nodes; 0: standalone */
    struct qoe qoe;
    int tag;
    double since;
    struct snap *snap;
    const struct policy *base; /* frozen; the snap's own */
    struct exam *exam;         /* this one and the next five: of the thread that learns */
    struct growth *growth;     /* NULL: nothing learns */
    struct graft *graft;       /* then: the newest one, owned */
    double base_score, score;  /* score: of graft */
    uint64_t read,
        position; /* in the stream: up to which it was given something, and up to
                                * which what it was given is in its weights */
    bool unsaved;
    bool unpublished; /* newer than the snap, as its file could not be written ... */
    double tried_at;  /* ... when it was tried last */

    /* under the table's lock */
    int users;
    bool gone;
    double share_sum;
    struct service_grown stats;
    struct entry *next; /* of those that are gone */
};

struct grown {
    struct grown_cfg cfg;
    pthread_mutex_t lock; /* of all below, and what is said above */
    struct entry *at[SERVICE_GROWN];
    struct entry *removed; /* waiting for their users */
    struct entry *saving;  /* whose file is being written */
    int n, next_tag;
    bool making;         /* one at a time */
    bool frozen;         /* a and tau are settled, as there is a second profile */
    uint64_t place;      /* in the stream, of what was taught last; the learner's */
    struct graft *shape; /* whose a and tau the next one gets; NULL: none grown yet */
};

/* One that is to be made. */
struct grown_making {
    const char *name;
    uint64_t id;
    const struct qoe *qoe;
    struct policy *base;       /* taken */
    const struct graft *graft; /* fits base */
    struct exam *exam;         /* taken; NULL: nothing learns, and the scores are those */
    double score, base_score;
    double now;
};

/* NULL: what was taken is freed. */
struct entry *grown_entry_new(struct grown *g, const struct grown_making *m,
                              struct err *e);
void grown_entry_free(struct entry *e);

/* The newest weights. For the thread that learns, or follows. */
const struct graft *grown_graft(const struct entry *e);

/* Under the lock. */
struct entry *grown_by_name(const struct grown *g, const char *name);

/* ---- not under the lock ---- */

/* What can be told of the newest weights, but for what decisions add up. */
void grown_describe(struct grown *g, struct entry *e, const struct graft *now);
/* The place for one more, which grown_enter takes or gives back (made NULL). 1: it is there already. */
int grown_reserve(struct grown *g, const char *name, struct err *e);
void grown_enter(struct grown *g, struct entry *made, const struct graft *graft);
/* The first profile's a and tau are everybody's: kept for the next one. */
int grown_keep_shape(struct grown *g, const struct graft *graft, struct err *e);
/* All of now; for the thread that frees them (grown_sweep). */
int grown_list(struct entry *out[SERVICE_GROWN], struct grown *g);

/* Of its file; false: nothing is kept. */
bool grown_path(char out[GROWN_PATH], const struct grown *g, const char *name);
int grown_write(struct grown *g, const struct entry *e, const struct graft *graft,
                struct err *err);
/* Written, unless it is removed meanwhile: then its file goes again. */
int grown_keep(struct grown *g, struct entry *e, struct err *err);

#endif
