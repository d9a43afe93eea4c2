/* policy.h - actor and critic as one value: what is trained, published, saved and served.
 *
 *   pi(a|x) = softmax of the actor's logits over the levels of the mask; the logits may have a prior, a
 *             multiple of entries of x (mix.h), by which an untrained policy decides
 *   V(x)    = critic(x) * ret_std + ret_mean                              in reward units
 *
 * Each network is a struct mix with its own router. ret_mean and ret_std are mean and deviation of the
 * returns and belong to the weights.
 *
 * Added experts. A policy may have experts for one profile on top of its mixture, which is then
 * frozen. With pi0 and V0 of the mixture, and y and v the sums over added experts (norga.h):
 *
 *   pi(a|x) = softmax over the levels of the mask of ln pi0(a|x) + y(x)_a
 *   V(x)    = V0(x) + ret_std v(x)
 *
 * ln pi0 equals the frozen logits up to a shift that softmax cancels, so this is Eq. 11 in norga.h,
 * and pi is proportional to pi0(a) e^(y_a). ln pi0 is at least POLICY_FLOOR, so that added experts can
 * learn actions that the mixture never takes.
 *
 * New experts have heads of 0 (norga_init), so at first pi = pi0 and V = V0 up to rounding. Their
 * hidden layers are copies of the frozen experts that the router chooses for the profile's
 * observations, the most used first. The first added experts of a daemon learn a and tau; later ones
 * copy them and keep them fixed (appendix J of the NoRGa paper): shape_learns.
 *
 * Input. A policy may carry numbers that its application needs to make observations. They are opaque here,
 * and no part of policy_crc32. input_of is the application's id of what they belong to.
 *
 * Expert numbers: 0 .. N-1 are those of the actor's mixture, N .. N+L-1 the added ones. Added experts
 * fit only the weights that they were added to; they store that version and CRC.
 *
 * Batches (rollouts, gradient steps) use mix_forward and norga_forward with the caller's scratch, then
 * policy_softmax for each row.
 *
 * Errors: ERR_RANGE for a configuration outside the limits, ERR_MEMORY, ERR_NUMERIC, ERR_CORRUPT for
 * added experts of other weights. Threads: const struct policy is shared read-only; struct policy_ws
 * belongs to one thread. policy_decide allocates nothing. */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include "policy/mix.h"
#include "policy/norga.h"

#include <stdbool.h>

#define POLICY_ACTIONS 12     /* = FEAT_LEVELS; this layer knows no bitrates */
#define POLICY_GATES 16       /* gate probabilities reported per decision */
#define POLICY_FLOOR (-30.0f) /* nats */
#define POLICY_INPUT 2048     /* most numbers of its input */

/* Added experts of the actor and of the critic each; 0 experts: none. Together with the actor's own at
 * most POLICY_GATES. */
struct policy_added_cfg {
    int experts;
    enum norga_sigma sigma;
};

struct policy_cfg {
    int obs_dim, actions;
    int hidden, layers, experts;       /* actor */
    int critic_hidden, critic_experts; /* critic, same number of layers */
    enum mix_route route, critic_route;
    struct mix_prior prior;        /* of the actor's logits */
    struct policy_added_cfg added; /* the last member: policy_cfg_same_mixture */
};

/* Added experts, in a policy or alone. */
struct policy_added {
    struct policy_cfg cfg;        /* of the whole policy */
    struct norga *actor, *critic; /* owned */
    bool shape_learns;
    uint64_t version;      /* 1 at first */
    uint64_t base_version; /* of the frozen mixture */
    uint32_t base_crc;
};

struct policy {
    struct policy_cfg cfg;
    struct mix *actor, *critic; /* owned; frozen if there are added experts */
    float ret_mean, ret_std;
    uint64_t version;           /* of the mixture; 0 until published */
    struct policy_added *added; /* owned; NULL: none */
    int input_n;                /* 0: none */
    uint32_t input_of;          /* 0: unknown */
    float input[POLICY_INPUT];
};

struct policy_ws;

struct policy_choice {
    int action;
    int expert; /* the actor's chosen expert (dense: of the largest gate), or the added expert with
                 * the largest gate if that is larger */
    float prob[POLICY_ACTIONS]; /* 0 where masked */
    float gate[POLICY_GATES]; /* gate probabilities of the first experts, with added ones
                                 * (1 - m) p_k and then q_j; 0 beyond */
    float added;              /* m, the share of the added experts; 0 without */
    float logp;               /* ln prob[action] */
    float entropy;            /* nats */
    float value;              /* in reward units */
};

/* 12 actions; actor and critic 3 experts, top-1, 2 layers of 64. */
struct policy_cfg policy_cfg_default(int obs_dim);
/* 0, or ERR_RANGE naming the member. */
int policy_cfg_check(const struct policy_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
struct mix_cfg policy_actor_cfg(const struct policy_cfg *cfg);
struct mix_cfg policy_critic_cfg(const struct policy_cfg *cfg);
struct norga_cfg policy_added_actor_cfg(const struct policy_cfg *cfg);
struct norga_cfg policy_added_critic_cfg(const struct policy_cfg *cfg);
/* Equal, except perhaps for added experts. */
bool policy_cfg_same_mixture(const struct policy_cfg *a, const struct policy_cfg *b);

/* Weights 0, ret_mean 0, ret_std 1, version 0; added experts have version 1 and shape_learns. */
struct policy *policy_new(const struct policy_cfg *cfg, struct err *e);
struct policy *policy_clone(const struct policy *p, struct err *e);
void policy_free(struct policy *p);

/* Fresh weights: the actor's heads with gain .01 (nearly uniform at first), the critic's
 * with gain 1. The same seed gives the same weights. */
void policy_init(struct policy *p, uint64_t seed);
/* The same with mix_init_uniform: the first policy is far from uniform. */
void policy_init_uniform(struct policy *p, uint64_t seed);

/* Weights, input, busy experts, ret_mean, ret_std, versions and flags of `from`; the configurations are
 * equal. */
void policy_copy(struct policy *p, const struct policy *from);

/* input_of stays. n 0: none from now on. */
void policy_copy_input(struct policy *p, const float *input, int n);

/* CRC-32 of the mixture's weights in memory, actor then critic. */
uint32_t policy_crc32(const struct policy *p);

/* The version of the added experts if there are any, else of the mixture. */
uint64_t policy_version(const struct policy *p);
void policy_raise_version(struct policy *p);

/* ---- added experts ---- */

/* Adds fresh experts to a policy without any. obs (n, obs_dim): observations of the profile,
 * n >= 0; n = 0: frozen experts are copied in their order. On failure p is unchanged. */
int policy_add(struct policy *p, const struct policy_added_cfg *cfg, const float *obs,
               int n, uint64_t seed, struct err *e) __attribute__((warn_unused_result));
/* Adds a copy of these to a policy without any. ERR_CORRUPT if they are of other weights. */
int policy_add_copy(struct policy *p, const struct policy_added *added, struct err *e)
    __attribute__((warn_unused_result));
/* Copies a and tau of both networks from other added experts and fixes them. */
void policy_take_shape(struct policy *p, const struct policy_added *from);
/* The mixture alone: a view, borrowed until p is freed. */
struct policy policy_frozen(const struct policy *p);

/* cfg: of the whole policy, with added experts. Weights 0. */
struct policy_added *policy_added_new(const struct policy_cfg *cfg, struct err *e);
struct policy_added *policy_added_clone(const struct policy_added *a, struct err *e);
void policy_added_free(struct policy_added *a);
void policy_added_copy(struct policy_added *a, const struct policy_added *from);
size_t policy_added_floats(const struct policy_added *a); /* of all parameters */
/* Were they added to the mixture of p? */
bool policy_added_fits(const struct policy_added *a, const struct policy *p);

/* ---- deciding ---- */

struct policy_ws *policy_ws_new(const struct policy_cfg *cfg, struct err *e);
void policy_ws_free(struct policy_ws *ws);

/* One decision. u in [0,1) samples by inverse transform; u < 0 takes the argmax (lowest
 * index on ties). No router noise. mask must have at least one bit below cfg.actions.
 * 0, or ERR_NUMERIC when the weights gave something that is not finite (*out then holds
 * action = lowest level of the mask, a uniform distribution, gates and value 0). */
int policy_decide(struct policy_choice *out, const struct policy *p, struct policy_ws *ws,
                  const float *obs, uint32_t mask, double u);

/* The last step of a decision: computes action, logp and entropy from prob, gate and value in *c, the
 * logits and their lse. Errors and u as above; logits are not read if lse is not finite. */
int policy_finish(struct policy_choice *c, const float *logits, float lse, uint32_t mask,
                  int actions, double u);

/* Outputs of the added experts for one observation. */
struct policy_added_out {
    const float *y;    /* (actions) */
    const float *gate; /* (experts) q of the actor */
    float share;       /* m of the actor */
    float v;           /* times ret_std: in reward units */
};

/* Turns the mixture's choice *c into the policy's. Returns as policy_decide. */
int policy_finish_added(struct policy_choice *c, const struct policy_cfg *cfg,
                        const struct policy_added_out *out, uint32_t mask, double u);

/* ln max(prob, e^POLICY_FLOOR) */
float policy_floored_ln(float prob);

/* softmax over the bits of mask (at least one below actions); prob of the others is 0.
 * Returns lse with ln prob[a] = logits[a] - lse, not finite if the logits are not.
 * logits and prob (actions), may be the same array. */
float policy_softmax(float *prob, const float *logits, uint32_t mask, int actions);

#endif
