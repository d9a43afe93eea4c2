/* learner.h - the learner: turns closed trajectories into published weights and checkpoints.
 *
 * One turn reads the bus, makes an update if a batch is full (training.h), and publishes the result as
 * the next version. Weights that are not finite or clearly worse in the exam are never published. The
 * thread that takes turns is the only writer of weights.
 *
 * Trajectories of profiles with added experts go to `others`, which has its turn and its checkpoints
 * at the same time.
 *
 * Any thread may give an operator's order (reset the gates, disable an expert). The next turn carries it
 * out; disabling an expert makes a new version.
 *
 * A checkpoint is policy.safetensors in the data folder, with the optimiser's state, so learning
 * continues after a restart. The previous one stays as policy.safetensors.prev.
 *
 * Errors: ERR_NUMERIC an update was rolled back (counted; learning goes on), ERR_IO the
 * checkpoint could not be written (the old one stays). Threads: turn and checkpoint belong to
 * one thread; learner_stats may be called from any. */
#ifndef SERVE_LEARNER_H
#define SERVE_LEARNER_H

#include "learn/ckpt.h"
#include "learn/online.h"
#include "serve/learner/bus.h"
#include "serve/learner/cells.h"
#include "serve/learner/curve.h"
#include "serve/learner/published.h"
#include "serve/learner/vitals.h"

struct learner;

/* Other learners on the learner's thread. self NULL: none. */
struct learner_others {
    void *self;
    uint64_t (*id)(void *self, int tag); /* id among nodes; 0: unknown tag. Any thread */
    int (*tag_of)(void *self, uint64_t id); /* -1: unknown id */
    /* t->tag names the learner. place: in the stream; 0: no stream. */
    void (*teach)(void *self, const struct online_trajectory *t, uint64_t place);
    bool (*ready)(void *self); /* a batch is full */
    /* Makes updates of full batches. Negative: an update was rolled back, or not published. */
    int (*turn)(void *self, double now, struct err *e);
    int (*save)(void *self, struct err *e); /* checkpoints, if anything was learned */
};

struct learner_cfg {
    struct online_cfg online;
    const char *ckpt_path; /* NULL: nothing is kept; borrowed */
    const struct policy
        *shipped; /* the measure of the exam by cells; NULL: start. Copied */
    struct learner_others others;
    struct curve
        *curve; /* takes a point of every update and version; borrowed, may be NULL */
    /* Called with each new version before it is used for decisions. After a failure it is called again
     * in every turn, and the bus is not read until it succeeds. May be NULL. */
    int (*announce)(void *ctx, const struct policy *p, double now, double score,
                    struct err *e);
    void *announce_ctx;
};

/* Continues from `start` (copied) and, if not NULL, the state of a checkpoint. A state of another
 * configuration is ignored and *fresh set. published and bus are borrowed. */
struct learner *learner_new(const struct learner_cfg *cfg, const struct policy *start,
                            const void *state, size_t state_n, bool *fresh,
                            struct published *published, const struct bus *bus,
                            struct err *e);
void learner_free(struct learner *l);

/* Waits up to wait_s for a trajectory. 1: a new version was published at time `now`; e then tells what else
 * failed, if anything. A rollback in the same turn is only counted. Negative: none was published, and e tells
 * why. */
int learner_turn(struct learner *l, double wait_s, double now, struct err *e)
    __attribute__((warn_unused_result));

/* Does nothing if nothing was learned since the last one. */
int learner_checkpoint(struct learner *l, struct err *e)
    __attribute__((warn_unused_result));

/* Continues from other weights and, if not NULL, another learner's state (as learner_new), and
 * publishes them. Buffered steps are dropped. A learner that does not fit the forecast drops a correction, too,
 * and raises the version (online_drop_input). ERR_MEMORY: nothing has changed. For the thread that takes
 * turns. */
int learner_resume(struct learner *l, const struct policy *p, const void *state,
                   size_t state_n, bool *fresh, double published_at, struct err *e)
    __attribute__((warn_unused_result));
/* The learner's state as in a checkpoint; owned by the caller. For announce. */
int learner_state(void **out, size_t *n, const struct learner *l, struct err *e)
    __attribute__((warn_unused_result));

/* Is every received trajectory in its state, or refused? false: some wait for an update. */
bool learner_settled(const struct learner *l);

/* Are its newest weights published? false: learner_policy is newer. */
bool learner_published(const struct learner *l);
const struct policy *learner_policy(const struct learner *l);

void learner_stats(struct learner *l, struct online_stats *out);
/* Ignored trajectories: with more levels than the policy can decide on, or decided by other rules
 * (traj_observe). Any thread. */
uint64_t learner_misfits(const struct learner *l);
/* Of the last measured weights: by a published update, or by learner_look. */
void learner_vitals(struct learner *l, struct vitals_stats *out);

/* Measures the current weights, about 10 ms, so a start does not include it. For the thread that takes
 * turns. */
void learner_look(struct learner *l);

/* The last exam by cells. false: there was none. */
bool learner_exam(struct learner *l, struct cells_report *out);

/* ---- any thread ---- */

void learner_reset_gates(struct learner *l);
/* As online_disable_expert. Orders that wait count for ERR_CONFLICT. */
int learner_disable_expert(struct learner *l, enum ppo_which which, int expert,
                           int updates, struct err *e)
    __attribute__((warn_unused_result));

/* ---- before the first turn ---- */

/* Sets the gates from the metadata of a checkpoint (gate.actor, gate.critic), for a start without the
 * learner's state. Missing gates and those of other experts are ignored. */
void learner_gates(struct learner *l, const struct ckpt_meta *meta);

#endif
