/* untagged_priv.h - what the sources of serve/untagged share. */
#ifndef SERVE_UNTAGGED_PRIV_H
#define SERVE_UNTAGGED_PRIV_H

#include "serve/hintless/untagged.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/table.h"
#include "policy/identity.h"
#include "serve/hintless/grove.h"
#include "serve/hintless/merge_exam.h"
#include "serve/cluster/slot_log.h"

#define UNTAGGED_EXAMPLES 1024 /* that may wait for the next tick */
#define UNTAGGED_PENDING 128   /* slots that may wait for the board */

/* Labelled observations. */
struct untagged_examples {
    int n;
    float *x; /* (UNTAGGED_EXAMPLES, FEAT_FULL_DIM) */
    int8_t *task;
};

/* Of the slot's chunks, for every task. */
struct untagged_sums {
    double weight[AUDIENCE_TASKS], gain[AUDIENCE_TASKS], room[AUDIENCE_TASKS];
};

/* What decides in a slot, small enough to copy; the head and the contents go along. */
struct untagged_told {
    uint64_t slot;
    double since;
    bool known;  /* the mix */
    bool hinted; /* likewise, and `hint` is to be used; else the default profile */
    bool taught; /* the head has seen enough to be asked */
    int tasks;
    double mix[AUDIENCE_TASKS];
    struct qoe qoe[AUDIENCE_TASKS];
    struct qoe hint;
    struct qoe fallback; /* of the default profile */
    double sure
        [AUDIENCE_TASKS]; /* by mode identify: share of a task that is not the fallback's */
};

/* The merge. Belongs to the tick, but for `merged`, which is locked inside, and `layout`. */
struct untagged_merge {
    struct policy *experts; /* NULL: nothing is merged */
    enum feat_layout layout;
    uint32_t crc; /* of the experts */
    char name[UNTAGGED_EXPERTS][UNTAGGED_NAME];
    struct tanbr *bandit;
    struct snap *merged;
    int node;
    float x[UNTAGGED_EXPERTS];
    float first[UNTAGGED_EXPERTS]; /* what a new bandit chooses for the prior's mix */
    bool good;                     /* x has passed the exam */
    double expected;
    struct grove *grove; /* locked inside */
    void *carried;       /* the bandit's state while nothing is merged */
    size_t carried_n;
};

/* Up to which record of which log. */
struct untagged_place {
    uint64_t log, count;
};

/* What nodes tell each other of their slots. The state file has what is kept over a restart. */
struct untagged_share {
    bool on;
    uint64_t maker; /* of this bandit, for as long as it lives; 0: it never shared */
    uint64_t store; /* of the node that it was on */
    uint64_t was, was_number; /* what it has of another one, of which it is a copy */
    struct untagged_place learned_to;
    int n_pending;
    struct slot_record pending[UNTAGGED_PENDING];
    /* not kept */
    uint64_t kept; /* pending slots before this one are in the state file */
    struct untagged_place heard_to;
    int n_heard;
    struct slot_record *heard,
        *learning; /* (SLOT_LOG_RECORDS); learning: the tick's, without the lock */
    uint64_t given, learned, missed;
    int makers;
    double heard_at;
};

/* What the exam said of what is served, and how often it refused. */
struct untagged_exam {
    struct merge_exam *exam; /* NULL: none */
    struct snap *router;     /* borrowed */
    enum feat_layout layout; /* the router's */
    double merge_share, hint_share, loss;
    bool kept;
    uint64_t refused, kept_all;
};

struct untagged {
    struct untagged_cfg cfg;
    uint64_t seed;
    const struct log *log;
    char *state_path;
    char default_profile[SERVICE_NAME];
    struct untagged_merge merge;
    struct untagged_exam exam; /* the tick's */
    struct identity *head;     /* learns; the tick's */
    struct untagged_examples training;
    atomic_uint_fast64_t slot; /* = told.slot: for desks to notice */
    atomic_uint_fast64_t decisions[BY_WAYS];

    pthread_mutex_t lock; /* of all below */
    struct untagged_told told;
    struct identity *told_head;
    struct audience *told_audience; /* as the slot began */
    struct audience *audience;      /* counts */
    int tasks;                      /* told.tasks with the next slot */
    char task[AUDIENCE_TASKS][SERVICE_NAME];
    struct qoe qoe[AUDIENCE_TASKS];
    struct qoe fallback;
    struct untagged_examples fresh;
    struct table *watched; /* session -> struct untagged_watched */
    int watched_hinted;
    uint32_t *taught_by; /* (AUDIENCE_BUCKETS): examples from an address */
    uint32_t taught_all, taught_refused;
    struct untagged_sums sums;
    uint64_t slot_sessions;
    struct untagged_stats stats;
    struct untagged_share share;
};

struct untagged_desk {
    struct untagged_told told;
    struct identity *head;
    struct decider merge; /* reads the experts' layout */
    float obs[FEAT_FULL_DIM];
};

/* ---- slots (untagged_slot.c) ---- */

/* The experts of cfg.merge_policy, and a bandit that knows nothing. */
int untagged_merge_open(struct untagged_merge *m, const struct untagged_new *how,
                        struct err *e);
void untagged_merge_close(struct untagged_merge *m);
/* sum x_k W_k as the policy of a slot; NULL: ERR_MEMORY, ERR_NUMERIC. */
struct policy *untagged_merge_make(const struct untagged_merge *m, const float *x,
                                   uint64_t slot, struct err *e);
/* Chooses x for a mix. */
void untagged_merge_choose(struct untagged_merge *m, const double *mix);
/* What the network expects of x for a mix. */
double untagged_merge_expects(const struct untagged_merge *m, const double *mix);
/* Publishes sum x_k W_k as this slot's. */
int untagged_merge_publish(struct untagged_merge *m, uint64_t slot, double now,
                           struct err *e);
/* What of the figures is the merge's. */
void untagged_merge_tell(struct untagged_stats *out, const struct untagged_merge *m);
/* Takes over what was learned and begins slot told.slot + 1. */
int untagged_turn(struct untagged *u, double now, struct err *e);
void untagged_teach(struct untagged *u);
/* The weights that viewers of profile v with probability p_v value on average (untagged_cfg.h). */
struct qoe untagged_mean(const struct qoe *qoe, const double *p, int tasks);

/* Adds what the exam said; the caller holds the lock. */
void untagged_exam_tell(struct untagged_stats *out, const struct untagged_exam *x);

/* ---- the exam (untagged_exam.c) ---- */

int untagged_exam_open(struct untagged *u, const struct untagged_new *how, struct err *e);
/* The mean hint where the profiles have the shares p, and the default profile what is left of 1. */
struct qoe untagged_hint_of(const struct untagged_told *t, const double *p);
/* The mean hint of the slot to come, and how sure identify may be of each task. */
void untagged_exam_hint(struct untagged *u, struct untagged_told *next);
/* The merge of the slot to come: published, or the last good one again. */
int untagged_exam_merge(struct untagged *u, struct untagged_told *next, struct err *e);
/* Does what was read from the state file pass? */
bool untagged_exam_holds(struct untagged *u);

/* ---- among others (untagged_share.c) ---- */

/* A slot that was learned from is to be given; the caller holds the lock. */
void untagged_keep(struct untagged *u, const struct slot_record *r);
/* The state file is written, in this slot. */
void untagged_share_kept(struct untagged *u, uint64_t slot);
/* What other nodes' slots earned, into the bandit. */
void untagged_learn_heard(struct untagged *u);
/* The caller holds the lock. */
void untagged_share_tell(struct untagged_stats *out, const struct untagged_share *s);
void untagged_share_close(struct untagged_share *s);

/* ---- the state file (untagged_file.c) ---- */

/* As untagged_save, before the slot ends: should the process end while the next one begins, no other
 * slot gets its number. */
int untagged_save_ahead(struct untagged *u, struct err *e);

/* Goes on from the state file: 0 in its slot; 1 with a new slot, as there is no file or its
 * bandit is of no use; 2 likewise, as the next slot may have begun; ERR_CORRUPT when it was
 * refused, which was logged, and put aside: the parts may then be half of the file's. Other
 * errors: it could not be read. */
int untagged_load(struct untagged *u, struct err *e);

#endif
