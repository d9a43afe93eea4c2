/* added_priv.h - what the sources of added.h share. */
#ifndef SERVE_ADDED_PRIV_H
#define SERVE_ADDED_PRIV_H

#include "serve/added/added.h"
#include "serve/learner/training.h"

#include <pthread.h>

#define ADDED_PATH 600

struct entry {
    char name[SERVICE_NAME];
    uint64_t id; /* of the growth, among nodes; 0: standalone */
    struct qoe qoe;
    int tag;
    double since;
    struct training
        training;       /* its exam and what learns may be NULL: nothing learns here */
    struct policy base; /* view of the frozen mixture, for added_look */
    struct added *table;
    double base_score, score; /* score: of the newest weights, if nothing learns */
    uint64_t read,
        position;    /* in the stream: up to which it was given something, and up to
                                * which what it was given is in its weights */
    double tried_at; /* when unpublished weights were tried last */

    /* under the table's lock */
    int users;
    bool gone;
    double share_sum;
    struct service_added stats;
    struct entry *next; /* of those that are gone */
};

struct added {
    struct added_cfg cfg;
    pthread_mutex_t lock; /* of all below, and what is said above */
    struct entry *at[SERVICE_ADDED];
    struct entry *removed; /* waiting for their users */
    struct entry *saving;  /* whose file is being written */
    int n, next_tag;
    bool making;    /* one at a time */
    bool frozen;    /* a and tau are settled, as there is a second profile */
    uint64_t place; /* in the stream, of what was taught last; the learner's */
    struct policy_added
        *shape; /* whose a and tau the next one gets; NULL: there was none */
};

/* One that is to be made. */
struct added_making {
    const char *name;
    uint64_t id;
    const struct qoe *qoe;
    struct policy *policy; /* taken; with added experts */
    struct exam *exam;     /* taken; NULL: nothing learns, and the scores are those */
    double score, base_score;
    double now;
};

/* NULL: what was taken is freed. */
struct entry *added_entry_new(struct added *g, const struct added_making *m,
                              struct err *e);
void added_entry_free(struct entry *e);

/* The newest weights. For the thread that learns, or follows. */
const struct policy *added_policy(const struct entry *e);

/* Under the lock. */
struct entry *added_by_name(const struct added *g, const char *name);

/* ---- not under the lock ---- */

/* What can be told of the newest weights, but for what decisions add up. */
void added_describe(struct added *g, struct entry *e);
/* The place for one more, which added_enter takes or gives back (made NULL). 1: it is there already. */
int added_reserve(struct added *g, const char *name, struct err *e);
void added_enter(struct added *g, struct entry *made);
/* The first profile's a and tau are everybody's: kept for the next one. */
int added_keep_shape(struct added *g, const struct policy *p, struct err *e);
/* All of now; for the thread that frees them (added_sweep). */
int added_list(struct entry *out[SERVICE_ADDED], struct added *g);

/* Of its file; false: nothing is kept. */
bool added_path(char out[ADDED_PATH], const struct added *g, const char *name);
int added_write(struct added *g, const struct entry *e, struct err *err);
/* Written, unless it is removed meanwhile: then its file goes again. */
int added_keep(struct added *g, struct entry *e, struct err *err);

#endif
