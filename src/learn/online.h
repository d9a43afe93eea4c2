/* online.h - the online learner, without threads: turns closed trajectories into better weights.
 *
 * It is used by the daemon's learner thread and by `abrd emulate`. It has its own copy of the policy
 * and buffers whole trajectories. With `batch` steps it computes GAE with the policy's own critic and
 * makes one PPO update on all steps. Trajectories more than max_age versions old are dropped and
 * counted.
 *
 * Rollback. Policy and optimiser are copied before an update. An update is rolled back and counted if
 * the result is not finite, or if its `check` score is below the best kept score by more than
 * `tolerance` (a share of its size). The steps of the batch are lost. Only a detected shift stays
 * detected; otherwise the gates that it resets would stay latched as long as the shift makes updates
 * fail. Weights that the judge refuses, or that are held and never published, raise no bar.
 *
 * Clients may send false data. Three rules limit the effect of a client. Its trajectories beyond
 * client_max steps in one batch are refused and counted. Advantages are cut at `sigmas` robust
 * deviations (learn/bound.h), so its weight in an update is at most about sigmas times its share of the
 * steps. The check is the third: however many clients lie, no policy more than `tolerance` below the
 * best is published.
 *
 * Sources. Sessions cost nothing, so a client that opens many is bounded by its source (an address, by a
 * keyed hash): its steps weigh at most source_share of a batch. If the judge refuses an update, it is
 * made again without the source that has the largest share of the squared advantages, at most `retries`
 * times. So honest viewers' steps are not lost with those of a liar.
 *
 * Failure of single experts. If an update leaves single experts not finite (ppo_nonfinite, or their
 * weights), these get back their weights and moments, and are busy for the next `quarantine` updates
 * (mix.h: no row is routed to them, they do not learn). The other experts keep what they learned. The
 * whole update is rolled back if no expert of actor or critic would be idle, or if something else
 * failed. An operator may disable an expert, too. Updates are not judged by an expert's absence: if
 * the set of busy experts has changed, the bar is the score of the previous weights with the new set,
 * but at most the best score with no expert busy. When all experts are idle again, the bar is that best
 * score. A rollback restores the set as well.
 *
 * Added experts. If the policy has any, they learn and its mixture does not change (ppo.h). Versions
 * are those of the added experts. An update with any weight not finite is rolled back as a whole, and
 * no expert is disabled.
 *
 * Gates: ppo.h. After a kept update the rows of its batch are routed with the old and the new weights,
 * and the rows that changed experts are counted.
 *
 * The caller scales the rewards (abr/emulator/feat.h: feat_reward_scale), so that profiles have equal
 * weight.
 *
 * State: optimiser, normaliser, random streams, gates, disabled experts, counters and scores; not the
 * weights, which the caller saves as online_policy, and not the buffered steps. While updates are held,
 * optimiser, normaliser, random streams and scores are the champion's: with those of the held weights the
 * bar would be wrong after a restart. Only the held updates are lost. Gates, disabled experts and counters
 * are those of now, so that no order or alarm is lost.
 *
 * Errors: ERR_FULL, ERR_CONFLICT, ERR_NUMERIC, ERR_RANGE, ERR_CORRUPT, ERR_MEMORY, as below.
 * Ownership: online owns its copy; online_policy is borrowed until the next online_update, online_offer,
 * online_disable_expert or online_state_put.
 * Threads: not shared. No allocation after online_new. */
#ifndef LEARN_ONLINE_H
#define LEARN_ONLINE_H

#include "base/field.h"
#include "learn/ppo.h"

#include <stdbool.h>

struct online_cfg {
    struct ppo_cfg ppo;
    int batch;    /* steps per update */
    int capacity; /* >= batch; most steps buffered */
    int max_age;  /* versions */
    double
        tolerance; /* 0.03: share of the best check score, whose size counts as at least 0.1 */
    double sigmas;       /* 10, as real stalls are far from the median, too; 0: no cut */
    int client_max;      /* 128: steps of one client in a batch; 0: no limit */
    double source_share; /* 0.1: largest weight of one source in a batch; 1: no bound */
    int retries;     /* 2: of a refused update, each without the most suspicious source */
    int quarantine;  /* updates */
    double rehearse; /* emulated steps for each of a batch (online_rehearse); 0: none */
    double
        anchor; /* 0 .. 1: weight of the shipped policy's probabilities in emulated steps */
    int exam_links;     /* of each kind, for who judges; 0: no judge */
    double exam_margin; /* largest loss of a cell, for who judges */
    int hold;           /* most updates in a row that are held */
    int input_steps; /* of a fit of the input, for its caller; 0: none (online_drop_input) */
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
    uint64_t client;       /* its session; 0: unknown, without a limit */
    uint64_t source;       /* its address, as a keyed hash; 0: unknown, without a bound */
    uint64_t version;      /* oldest policy version among the steps */
    bool truncated;        /* cut: bootstrap from last_obs; else terminal */
    const float *last_obs; /* (obs_dim) when truncated */
    uint32_t last_mask;
};

struct online_stats {
    uint64_t trajectories, steps, dropped_old, dropped_full, dropped_client, updates,
        rollbacks;
    uint64_t bounded;                 /* steps whose advantage was cut */
    uint64_t quarantines;             /* experts restored and disabled */
    uint64_t gate_resets, shifts;     /* by an operator; by an alarm */
    uint64_t routed, rerouted;        /* rows compared; those that changed experts */
    uint64_t actor_busy, critic_busy; /* bits: disabled experts */
    struct online_gate {
        int experts, converged;
        int64_t rounds;
        bool latched;
    } gate[2]; /* actor, critic: as they are now */
    struct ppo_stats last;
    double check_score, check_best; /* the bar, for the experts that are idle now */
    /* not part of the state */
    struct online_judged {
        uint64_t better, held, worse, returned,
            fallen;         /* verdicts; holds that ended in vain */
        uint64_t rehearsed; /* emulated steps */
        uint64_t sources_bounded, retried,
            rescued;             /* retries; those that were not refused */
        uint64_t excluded;       /* the source of the last rescue */
        int holding;             /* updates since the published weights */
        uint64_t offered, taken; /* inputs: judged; published */
    } judged;
};

struct online;

/* check: score of a policy on a fixed small set (higher is better), or NULL. It is called for `start`,
 * after every update, and when the set of busy experts changes. */
struct online *online_new(const struct online_cfg *cfg, const struct policy *start,
                          double (*check)(void *ctx, const struct policy *p), void *ctx,
                          struct err *e);
void online_free(struct online *o);

/* Emulated steps that join each update: rows for at most two batches, whose tags differ from those of
 * viewers. They are taken with the policy in training and have advantages. collect returns the number
 * of batches. cfg.rehearse must be positive. */
typedef int online_collect(void *ctx, struct ppo_batch out[2], const struct policy *p,
                           double gamma, double lambda);
void online_rehearse(struct online *o, online_collect *collect, void *ctx);

/* Removes the input of a policy if none is fitted (cfg.input_steps 0): what was fitted before is not used,
 * either. true: it had one. A published policy decides differently then, so its version is raised. */
bool online_drop_input(const struct online_cfg *cfg, struct policy *p);

/* A judge of updates that passed the check. BETTER: they are published. EVEN: they are held, which
 * means that learning continues from them while the published weights, the champion, stay. After
 * cfg.hold held updates in a row learning returns to the champion. WORSE: rolled back; the champion, if
 * that happens cfg.hold times in a row. FALLEN: the champion is no longer accepted, and `home` replaces
 * it. */
enum online_verdict { ONLINE_WORSE, ONLINE_EVEN, ONLINE_BETTER, ONLINE_FALLEN };
struct online_judge {
    void *self;
    enum online_verdict (*judge)(void *self, const struct policy *challenger);
    void (*publish)(void *self); /* the last challenger is champion */
    void (*replace)(void *self, const struct policy *p); /* another champion */
    const struct policy *home;                           /* borrowed */
};
void online_judge(struct online *o, const struct online_judge *judge);

/* 0, or dropped and counted: ERR_FULL (no room, or the client's limit), ERR_CONFLICT (too old). */
int online_add(struct online *o, const struct online_trajectory *t);
bool online_ready(const struct online *o);
/* Steps for the next update. */
int online_buffered(const struct online *o);
/* 1: new weights, version raised; 0: not enough steps; ONLINE_HELD: the update is kept, but not yet
 * published; ERR_NUMERIC: rolled back. */
#define ONLINE_HELD 2
int online_update(struct online *o);

/* Offers another input (policy.h) for the champion's weights. The caller has measured that it is better; check
 * and judge tell whether it is worse anywhere. 1: it is not; it is published, the version is raised, and
 * learning goes on with it. So does a hold: viewers that explore decide without the input, so its updates stay
 * valid, and inputs may come as often as updates. ERR_NUMERIC: it is worse. A champion that the judge no
 * longer accepts is replaced, as after an update (1). */
int online_offer(struct online *o, const float *input, int n);

/* The gates learn again from now on. */
void online_gate_reset(struct online *o);
const struct gate *online_gate(const struct online *o, enum ppo_which which);
/* Sets a gate, for a start from weights without a learner's state. */
void online_gate_put(struct online *o, enum ppo_which which, const struct gate *g);

/* Disables an expert for the next `updates` (0: enables it) and raises the version. ERR_RANGE: no such
 * expert; ERR_CONFLICT: it is the last idle one. */
int online_disable_expert(struct online *o, enum ppo_which which, int expert, int updates,
                          struct err *e) __attribute__((warn_unused_result));

/* Is this version too old to learn from? A future version is not. */
bool online_too_old(const struct online_cfg *cfg, uint64_t version, uint64_t now);

/* The lowest accepted check score if the best is `best`. */
double online_lowest(const struct online_cfg *cfg, double best);

/* The champion: without a judge the weights of the last kept update. */
const struct policy *online_policy(const struct online *o);
/* The check score of online_policy. That of the statistics is the last one, perhaps of weights that are held
 * or refused. */
double online_score(const struct online *o);
/* The mean share of added experts over the last batch, in the actor. */
double online_share(const struct online *o);
/* Fixes a and tau of added experts. */
void online_freeze_shape(struct online *o);
void online_stats(const struct online *o, struct online_stats *out);

/* For an online of the same configuration and the policy saved with the state. If the check gives the
 * policy another score than then, the bar moves by the difference. Older states without that score are
 * accepted. */
size_t online_state_size(const struct online *o);
void online_state_get(const struct online *o, void *out);
int online_state_put(struct online *o, const void *in, size_t n, struct err *e)
    __attribute__((warn_unused_result));

#endif
