/* training.h - one policy in training: its online learner, exam and published weights.
 *
 * The common policy (learner.h) and each profile with added experts (added.h) are one each.
 * New weights are announced (a file, a message to other nodes) before they are used for decisions. So
 * after a crash no other weights get the number of a version that decided. Weights that could not be
 * announced or published stay `unpublished`; the caller tries again.
 *
 * Threads: belongs to the thread that learns. */
#ifndef SERVE_TRAINING_H
#define SERVE_TRAINING_H

#include "learn/online.h"
#include "serve/learner/cells.h"
#include "serve/learner/exam.h"
#include "serve/learner/forecaster.h"
#include "serve/learner/published.h"
#include "serve/learner/rehearsal.h"

/* Called with each new version before it is published. */
typedef int training_announce(void *ctx, const struct policy *p, double now, double score,
                              struct err *e);

struct training {
    struct online *online;         /* owned */
    struct exam *exam;             /* owned: training_release */
    struct cells *cells;           /* owned; NULL: no exam by cells */
    struct rehearsal *rehearsal;   /* owned; NULL: none */
    struct forecaster *forecaster; /* owned; NULL: the forecast does not learn */
    struct published *published;
    training_announce *announce; /* may be NULL */
    void *ctx;
    bool unsaved;     /* newer than the last checkpoint */
    bool unpublished; /* online has newer weights than published */
};

/* t->exam, t->published and perhaps cells and rehearsal are set. Continues from `start` (copied). */
int training_start(struct training *t, const struct online_cfg *cfg,
                   const struct policy *start, struct err *e)
    __attribute__((warn_unused_result));
/* From now on the exam by cells, if there is one, judges updates. Its champion is the policy in training. So a
 * training that replaces another with the same cells is attached when nothing can fail any more. */
void training_attach_judge(struct training *t);
void training_release(struct training *t);

/* An update if a batch is full, and its publication. 1: new weights, though perhaps unpublished:
 * then *failed says why; 0: not enough steps; ONLINE_HELD; ERR_NUMERIC: rolled back. */
int training_update(struct training *t, double now, int *failed, struct err *e);
/* Fits the forecast and offers it to the exam. 1: it was taken, as with training_update; else 0. */
int training_forecast(struct training *t, double now, int *failed, struct err *e);
int training_publish(struct training *t, double now, struct err *e)
    __attribute__((warn_unused_result));

/* The learner's state as in a checkpoint; *out owned by the caller. */
int training_state(void **out, size_t *n, const struct training *t, struct err *e)
    __attribute__((warn_unused_result));

#endif
