/* learner.h - from closed trajectories to published weights and checkpoints.
 *
 * One turn takes what the bus has, makes an update if a batch is full (training.h), and publishes the
 * result as the next version. Weights that are not finite or clearly worse in the exam are never
 * published. The thread that takes turns is the only writer of weights.
 *
 * Trajectories of profiles with experts of their own go to `others`, whose turns and checkpoints are
 * taken along.
 *
 * Any thread may place an operator's order (reset the gates, set an expert aside). The next turn
 * carries it out; an expert set aside is a new version.
 *
 * A checkpoint is policy.safetensors in the data folder, with the optimiser's state, so that a
 * restart learns on. The previous one stays as policy.safetensors.prev.
 *
 * Errors: ERR_NUMERIC an update was rolled back (counted; learning goes on), ERR_IO the
 * checkpoint could not be written (the old one stays). Threads: turn and checkpoint belong to
 * one thread; learner_stats may be called from any. */
#ifndef SERVE_LEARNER_H
#define SERVE_LEARNER_H

#include "learn/ckpt.h"
#include "learn/online.h"
#include "serve/learner/bus.h"
#include "serve/learner/curve.h"
#include "serve/learner/published.h"
#include "serve/learner/vitals.h"

struct learner;

/* What learns by itself, on the learner's thread. self NULL: nothing does. */
struct learner_others {
    void *self;
    uint64_t (*id)(void *self, int tag);    /* among nodes; 0: of nobody. Any thread */
    int (*tag_of)(void *self, uint64_t id); /* -1: of nobody */
    /* t->tag says whose. place: in the stream, 0: there is none. */
    void (*teach)(void *self, const struct online_trajectory *t, uint64_t place);
    bool (*ready)(void *self); /* a batch is full */
    /* Learns where one is. A negative code: an update was rolled back, or not published. */
    int (*turn)(void *self, double now, struct err *e);
    int (*save)(void *self, struct err *e); /* what was learned since the last time */
};

struct learner_cfg {
    struct online_cfg online;
    const char *ckpt_path; /* NULL: nothing is kept; borrowed */
    struct learner_others others;
    struct curve
        *curve; /* takes a point of every update and version; borrowed, may be NULL */
    /* Called with each new version before anybody decides by it. After a failure it is called again
     * in every turn, and nothing is taken from the bus before it has succeeded. NULL: nobody
     * wants to know. */
    int (*announce)(void *ctx, const struct policy *p, double now, double score,
                    struct err *e);
    void *announce_ctx;
};

/* Goes on from `start` (copied) and, when given, the state a checkpoint held; a state of
 * another configuration is passed over and *fresh set. published and bus are borrowed. */
struct learner *learner_new(const struct learner_cfg *cfg, const struct policy *start,
                            const void *state, size_t state_n, bool *fresh,
                            struct published *published, const struct bus *bus,
                            struct err *e);
void learner_free(struct learner *l);

/* Waits up to wait_s for a trajectory. 1: a new version was published at time `now`. */
int learner_turn(struct learner *l, double wait_s, double now, struct err *e)
    __attribute__((warn_unused_result));

/* Does nothing when nothing was learned since the last one. */
int learner_checkpoint(struct learner *l, struct err *e)
    __attribute__((warn_unused_result));

/* Goes on from other weights and, when given, another learner's state (as learner_new); they are
 * published. What was buffered is gone. ERR_MEMORY: nothing has changed. For the thread that takes
 * turns. */
int learner_resume(struct learner *l, const struct policy *p, const void *state,
                   size_t state_n, bool *fresh, double published_at, struct err *e)
    __attribute__((warn_unused_result));
/* The state of what learns, as a checkpoint has it; owned by the caller. For announce. */
int learner_state(void **out, size_t *n, const struct learner *l, struct err *e)
    __attribute__((warn_unused_result));

/* Is all that was received in its state, or refused? Else some of it waits for an update. */
bool learner_settled(const struct learner *l);

/* Is what it has learned published? Else learner_policy is newer than the published. */
bool learner_published(const struct learner *l);
const struct policy *learner_policy(const struct learner *l);

void learner_stats(struct learner *l, struct online_stats *out);
/* Trajectories with more levels than the policy has actions: passed over. Any thread. */
uint64_t learner_misfits(const struct learner *l);
/* Of the weights that were measured last: by an update that was published, or by learner_look. */
void learner_vitals(struct learner *l, struct vitals_stats *out);

/* Measures the weights there are, which takes some 10 ms: apart, so that no start waits for it. For
 * the thread that takes the turns. */
void learner_look(struct learner *l);

/* ---- any thread ---- */

void learner_reset_gates(struct learner *l);
/* As online_disable_expert. ERR_CONFLICT is also told when the last idle one is already on order. */
int learner_disable_expert(struct learner *l, enum ppo_which which, int expert,
                           int updates, struct err *e)
    __attribute__((warn_unused_result));

/* ---- before the first turn ---- */

/* Gates as the metadata of a checkpoint tell them (gate.actor, gate.critic), for a start without
 * the learner's state. What is missing or of other experts is passed over. */
void learner_gates(struct learner *l, const struct ckpt_meta *meta);

#endif
