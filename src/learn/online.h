/* online.h - the learner without threads: closed trajectories in, better weights out.
 *
 * The daemon's learner thread and `abrd emulate` both feed it. It keeps a private copy of the
 * policy and buffers whole trajectories. When `batch` steps are there, it computes GAE with the
 * policy's own critic and does one PPO update on all of them. Trajectories more than max_age
 * versions old are dropped and counted.
 *
 * Rollback: before an update policy and optimiser are copied. A result that is not finite or clearly
 * worse (the caller's `check` score is more than `tolerance` of its size below the best kept one) is
 * rolled back and counted: both are then as they were, and the steps of the batch are gone. Only a
 * detected shift stays detected: otherwise the gates that it resets would stay latched as long as
 * updates fail because of it.
 *
 * Clients may send false data. Three rules bound what a client can do. Its trajectories beyond
 * client_max steps in one batch are refused and counted. Advantages are cut at `sigmas` robust
 * deviations (learn/bound.h), so its weight in an update is at most about sigmas times its share of
 * the steps. And the check decides what is kept: a policy whose score is more than `tolerance` below
 * the best is never published, however many clients lie.
 *
 * Experts that fail alone: when an update leaves single experts not finite (ppo_nonfinite, or their
 * weights), these get their weights and moments of before the update back and are busy for the
 * next `quarantine` updates (mix.h: no row is routed to them, they do not learn), while the
 * others keep what they learned. The whole update is undone if no expert of actor or critic would
 * be idle, or if something else failed. An operator may set an expert aside, too. The cost of an
 * expert's absence does not count against updates: if the set of busy experts has changed, the bar
 * is the score of the previous weights with this set, but at most the best score with none busy,
 * which is the bar again when all are back. A rollback restores the set as well.
 *
 * Added experts: if the policy has any, they learn and its mixture stays as it is (ppo.h). Versions
 * are then those of the added experts, the whole update is undone if any weight is not finite, and
 * no expert is set aside.
 *
 * Gates: ppo.h. After a kept update the rows of its batch are routed once with the weights before
 * and once with those after it; how many go to another expert is counted.
 *
 * Rewards are divided by the caller (abr/emulator/feat.h: feat_reward_scale), so that profiles weigh
 * alike.
 *
 * State: optimiser, normaliser, random streams, gates, experts set aside, counters and scores;
 * neither the weights, which the caller saves as a policy, nor the buffered steps.
 *
 * Ownership: online owns its copy; online_policy is borrowed until the next
 * online_update. Threads: not shared. No allocation after online_new. */
#ifndef LEARN_ONLINE_H
#define LEARN_ONLINE_H

#include "base/field.h"
#include "learn/ppo.h"

#include <stdbool.h>

struct online_cfg {
    struct ppo_cfg ppo;
    int batch;    /* steps per update */
    int capacity; /* >= batch; steps buffered at most */
    int max_age;  /* versions */
    double
        tolerance;  /* .03: share of the best check score, or of .1 if that is smaller */
    double sigmas;  /* 10: stalls lie far out, too; 0 = advantages as they are */
    int client_max; /* 128 steps of one client in a batch; 0 = all */
    int quarantine; /* updates */
    uint64_t seed;
};

struct online_cfg online_cfg_default(void);
extern const struct field online_fields[];

/* One closed trajectory; arrays of n steps, borrowed for the call. */
struct online_trajectory {
    int n;
    const float *obs; /* (n, obs_dim) */
    const uint32_t *mask;
    const int *action;
    const float *logp, *reward; /* reward already scaled */
    int tag;
    uint64_t client;       /* its sender; 0: not known, not bounded */
    uint64_t version;      /* oldest policy version among the steps */
    bool truncated;        /* cut: bootstrap from last_obs; else terminal */
    const float *last_obs; /* (obs_dim) when truncated */
    uint32_t last_mask;
};

struct online_stats {
    uint64_t trajectories, steps, dropped_old, dropped_full, dropped_client, updates,
        rollbacks;
    uint64_t bounded;                 /* steps whose advantage was cut */
    uint64_t quarantines;             /* experts put back and set aside */
    uint64_t gate_resets, shifts;     /* by an operator; by an alarm */
    uint64_t routed, rerouted;        /* rows compared; those that changed experts */
    uint64_t actor_busy, critic_busy; /* bits: experts set aside */
    struct online_gate {
        int experts, converged;
        int64_t rounds;
        bool latched;
    } gate[2]; /* actor, critic: as they are now */
    struct ppo_stats last;
    double check_score, check_best; /* the bar, for the experts that are idle now */
};

struct online;

/* check: score of a policy on a fixed small set (higher is better), or NULL. Called here, for
 * the score of `start`, after every update, and when the set of busy experts changes. */
struct online *online_new(const struct online_cfg *cfg, const struct policy *start,
                          double (*check)(void *ctx, const struct policy *p), void *ctx,
                          struct err *e);
void online_free(struct online *o);

/* 0, or dropped and counted: ERR_FULL (no room, or no more of this client), ERR_CONFLICT (too
 * old). */
int online_add(struct online *o, const struct online_trajectory *t);
bool online_ready(const struct online *o);
/* Steps that wait for the next update. */
int online_buffered(const struct online *o);
/* 1: new weights, version raised; 0: not enough steps; ERR_NUMERIC: rolled back. */
int online_update(struct online *o);

/* The gates learn again from now on. */
void online_gate_reset(struct online *o);
const struct gate *online_gate(const struct online *o, enum ppo_which which);
/* For a start from weights whose gates had a state, but without a learner's state. */
void online_gate_put(struct online *o, enum ppo_which which, const struct gate *g);

/* Sets an expert aside for the next `updates` (0: it is back at once) and raises the version.
 * ERR_RANGE for an expert that is not there, ERR_CONFLICT for the last idle one. */
int online_disable_expert(struct online *o, enum ppo_which which, int expert, int updates,
                          struct err *e) __attribute__((warn_unused_result));

/* Were steps of this version decided too long ago? A version still to come is not old. */
bool online_too_old(const struct online_cfg *cfg, uint64_t version, uint64_t now);

/* What the check may give when the best was `best`. */
double online_lowest(const struct online_cfg *cfg, double best);

const struct policy *online_policy(const struct online *o);
/* Of added experts: their mean share over the last batch, in the actor; a and tau stay as they are
 * from now on. */
double online_share(const struct online *o);
void online_freeze_shape(struct online *o);
void online_stats(const struct online *o, struct online_stats *out);

/* Into an online made from the same configuration and the policy saved with the state. If the check
 * gives this policy another score than it had, the bar moves with it; a state of before it held that
 * score is taken, too. */
size_t online_state_size(const struct online *o);
void online_state_get(const struct online *o, void *out);
int online_state_put(struct online *o, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
