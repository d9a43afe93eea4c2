/* ppo.h - proximal policy optimisation of one policy on one batch of steps.
 *
 *   L_actor = -E[min(r A, clip(r, 1-eps, 1+eps) A)] - beta H + balance,  r = pi/pi_old
 *   L_critic = value_coef E[(V - R)^2]
 *
 * All actions. If the environment can peek (env.h), a batch has one-step advantages
 * A1(s,a) = r(s,a) + gamma V(s') - V(s) of the actions that were tried, and the policy's gradient is
 *   sum_a grad pi(a) (A1(s,a) - sum_b pi_old(b) A1(s,b)) + grad ln pi(a_t) (A_t - A1(s,a_t))
 * with the ratio of every action clipped. The first term is the all-action gradient (Sutton, Singh,
 * McAllester 2001; mean actor-critic, Allen et al. 2017), without the variance of sampling. The second
 * adds what lambda-returns contain beyond one step; A1 is its action-dependent baseline (Gu et al.
 * 2017, Wu et al. 2018).
 *
 * Imitation. If a batch has the teachers' probabilities p (learn/teach.h), the actor's loss is
 *   (1 - c) (the loss above without the entropy) - beta H - c E[sum_a p(a) ln pi(a)]
 * with c = imitate: cross-entropy, whose gradient by the logits is pi - p.
 *
 * Source: Schulman et al. 2017; PA-MoE Eq. 8-10 with clip 0.2, GAE (lambda 0.95), Adam. Plasticity
 * noise (PA-MoE Eq. 11) is added after the Adam step: w += lr*gamma*eps on the actor experts with a
 * sample in the minibatch (learn/inject.h). Adam and noise skip an expert without a sample. noise_std is
 * the noise of the authors' code: a fixed scale on the trunks of all experts, actor and critic.
 *
 * Returns are normalised by a running mean and deviation in the policy (ret_mean, ret_std). A policy
 * that has them counts as trained, and they then change slowly.
 *
 * The router noise z of each step is stored with it and used again in the update, so r is exactly 1
 * before the first update. The authors' code draws new noise, so its ratio compares the outputs of two
 * experts: redraw_noise.
 *
 * Tied heads: each network's heads start as expert 0's, their gradients are added, and one Adam step
 * moves all alike.
 *
 * Gates (policy/gate.h). An update is a round of the actor's and of the critic's gate. A latched gate
 * has no router noise, here and where the caller acts (ppo_gate_latched). While one is latched, the
 * advantages are monitored (learn/drift.h); an alarm resets both before the update.
 *
 * Added experts. If the policy has any (policy/policy.h), only they learn. With pi0 and V0 of the
 * frozen mixture, computed once per update, the losses are those above and
 *
 *   L_critic = value_coef E[(v - (R - V0) / ret_std)^2]
 *
 * Gradients end at the added experts (NoRGa, Sec. 3.2: only the prefixes are learnable). a and tau
 * learn while the policy's shape_learns is set. Advantages are normalised at most over the batch, as it
 * has one profile. Settings of the mixture do not apply: balance, noise, decay, tied heads, gates,
 * drift and the running scale of the returns.
 *
 * Shapes: a batch is arrays over steps, in time order per trajectory. learn/gae.h computes advantages
 * and targets before ppo_update. Advantages are normalised over the batch or per tag.
 *
 * The updates of actor, critic and privileged critic are independent given the advantages. ppo_update
 * uses up to cfg.threads threads with the same result for any number.
 *
 * Errors: ERR_NUMERIC if a loss or gradient is not finite; the policy is then undefined and the caller
 * restores its last good copy. If single experts failed, ppo_nonfinite names them: all other weights
 * are finite, in the middle of the update, and may be kept.
 * Threads: not shared. No allocation after ppo_new. */
#ifndef LEARN_PPO_H
#define LEARN_PPO_H

#include "policy/gate.h"
#include "policy/policy.h"
#include "learn/drift.h"
#include "learn/priv_critic.h"

#include <stdbool.h>

struct ppo_cfg {
    double lr, critic_lr; /* Adam */
    double beta1, beta2, eps, weight_decay;
    double clip, entropy, value_coef;
    double gamma, lambda; /* GAE */
    double max_grad_norm; /* 0 = no clipping */
    double balance;       /* alpha of the balance loss, actor and critic */
    double noise_gamma;   /* plasticity noise, 0 = none */
    double router_noise;  /* std of the critic's z, drawn per minibatch; 0 = none */
    bool redraw_noise;    /* the actor's z likewise, not the one it acted with */
    bool noise_critic;    /* noise_gamma on the critic's chosen experts, too */
    bool tied_heads;      /* one head for all experts of a network */
    double imitate;       /* 0 .. 1, of batches with `shown` */
    double target_kl;     /* stops the epochs above it; 0: never */
    int epochs, minibatch;
    int threads; /* 1 .. 3 */
    enum { PPO_NORM_NONE, PPO_NORM_BATCH, PPO_NORM_TAG } adv_norm;
    int normalise_returns;  /* running mean and std of returns */
    double noise_std;       /* the authors' code's noise, 0 = none */
    int critic_epochs;      /* of the ordinary critic when a privileged one gives the
                            * advantages; 0 = epochs */
    struct gate_cfg gate;   /* of actor and critic */
    struct drift_cfg drift; /* resets latched gates */
};

struct ppo_cfg ppo_cfg_default(void);

/* Steps of any number of trajectories, flattened; all arrays have n entries (rows). */
struct ppo_batch {
    int n;
    const float *obs;                /* (n, obs_dim) */
    const float *priv;               /* (n, priv_dim) or NULL */
    const uint32_t *mask;            /* (n) */
    const int *action;               /* (n) */
    const int *tag;                  /* (n) or NULL */
    const float *logp;               /* (n) under the policy that acted */
    const float *z;                  /* (n, experts) router noise or NULL */
    const float *advantage, *target; /* (n), target in reward units */
    const float *q;    /* (n, actions) A1 of tried actions, NaN for others; or NULL. A row
                          * without a tried action has none of that term */
    const float *prob; /* (n, actions) under the policy that acted; with q */
    const float *shown;  /* (n, actions) p of the teachers, NaN in rows without a
                         * teacher; or NULL */
    const float *weight; /* (n) sample weights or NULL = 1 */
};

struct ppo_stats {
    double policy_loss, value_loss, entropy, approx_kl, clip_share, balance;
    double first_ratio_error; /* max |r - 1| over the first minibatch before any update */
    double explained_variance; /* by the critic that gives the advantages */
    double critic_variance;    /* the same of the policy's own critic */
    double first_clip_share;   /* of the first epoch */
    double expert_share[16], critic_share[16]; /* of the samples that trained each */
    double grad_norm;
    double router_norm, critic_router_norm; /* mean gradient norm of the routers alone */
    int steps;                              /* gradient steps done */
    struct {
        int converged; /* experts */
        double
            moved; /* mean ||theta_t - theta_{t-1}|| of the experts; 0 unless locality or
                        * latch is on */
        bool latched;
    } gate[2];          /* actor, critic: after the update */
    double shift_level; /* largest CUSUM of the tags; 0 while no gate is latched */
    int shift_tag;      /* the tag whose alarm reset the gates, -1: none */
};

enum ppo_which { PPO_ACTOR, PPO_CRITIC };

struct ppo;

/* priv_critic: a critic over [obs, priv] trained together with the ordinary one; batches then need
 * priv and tag. NULL if unused; borrowed. */
struct ppo *ppo_new(const struct ppo_cfg *cfg, struct policy *policy,
                    struct priv_critic *priv_critic, int max_batch, uint64_t seed,
                    struct err *e);
void ppo_free(struct ppo *p);
void ppo_set_lr(struct ppo *p, double lr, double critic_lr);
void ppo_set_entropy(struct ppo *p, double entropy);
void ppo_set_imitate(struct ppo *p, double imitate);
/* batch->n is 1 .. max_batch; stats may be NULL. */
int ppo_update(struct ppo *p, const struct ppo_batch *batch, struct ppo_stats *stats)
    __attribute__((warn_unused_result));

const struct gate *ppo_gate(const struct ppo *p, enum ppo_which which); /* borrowed */
bool ppo_gate_latched(const struct ppo *p, enum ppo_which which);
void ppo_gate_put(struct ppo *p, enum ppo_which which, const struct gate *g);
void ppo_gate_reset(struct ppo *p); /* both gates, and the drift series */

/* Mean share of the added experts over the last epoch of the last update, in the actor. */
double ppo_share(const struct ppo *p);

/* Experts of the mixture in which the last update failed, as bits: their outputs or gradients were
 * not finite. 0 when it did not fail, or failed elsewhere. */
uint64_t ppo_nonfinite(const struct ppo *p, enum ppo_which which);
/* Restores the moments and the count of one expert from a state of this learner. */
void ppo_expert_put(struct ppo *p, const void *state, enum ppo_which which, int expert);

/* Optimiser, normaliser, gates and rng state, for checkpoints: one flat block of bytes whose
 * size depends only on the configuration. */
size_t ppo_state_size(const struct ppo *p);
void ppo_state_get(const struct ppo *p, void *out);
int ppo_state_put(struct ppo *p, const void *in, size_t n, struct err *e);
/* Replaces the drift series and the gates of a state by those of now. */
void ppo_state_gates(const struct ppo *p, void *state);
/* Restores the state of before an update, except for drift series and gates that its alarm reset. */
void ppo_undo(struct ppo *p, const void *state);

#endif
