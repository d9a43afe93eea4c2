/* policy.h - actor and critic as one value: what is trained, published, saved and served.
 *
 * The actor maps an observation to logits over levels; masked levels get -inf, so
 * pi(a|s) = softmax over the levels that exist. The critic maps the same observation to
 * the (normalised) return. Each is a struct mix with its own router.
 *
 * The value denormaliser (mean, std of returns) travels with the weights; V in reward
 * units is critic(s) * ret_std + ret_mean.
 *
 * Batches (rollouts, gradient steps) go through mix_forward on actor and critic with the
 * caller's own struct mix_ws, then policy_softmax per row.
 *
 * Errors: ERR_RANGE for a configuration outside the limits, ERR_MEMORY, ERR_NUMERIC.
 * Threads: const struct policy is shared read-only; struct policy_ws belongs to one
 * thread. policy_decide allocates nothing. */
#ifndef MOE_POLICY_H
#define MOE_POLICY_H

#include "policy/mix.h"

#define POLICY_ACTIONS 12 /* = VIEW_LEVELS; the moe layer knows no bitrates */
#define POLICY_GATES 16   /* gate probabilities told per decision */

struct policy_cfg {
    int obs_dim, actions;
    int hidden, layers, experts;       /* actor */
    int critic_hidden, critic_experts; /* critic, same number of layers */
    enum mix_route route, critic_route;
};

struct policy {
    struct policy_cfg cfg;
    struct mix *actor, *critic; /* owned */
    float ret_mean, ret_std;
    uint64_t version; /* 0 until published */
};

struct policy_ws;

struct policy_choice {
    int action;
    int expert; /* the actor's chosen expert; the largest gate when dense */
    float prob[POLICY_ACTIONS]; /* 0 where masked */
    float gate[POLICY_GATES];   /* gate probabilities of the first experts; 0 beyond */
    float logp;                 /* ln prob[action] */
    float entropy;              /* nats */
    float value;                /* in reward units */
};

/* 12 actions; actor and critic 3 experts, top-1, 2 layers of 64. */
struct policy_cfg policy_cfg_default(int obs_dim);
/* 0, or ERR_RANGE naming the member. */
int policy_cfg_check(const struct policy_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
struct mix_cfg policy_actor_cfg(const struct policy_cfg *cfg);
struct mix_cfg policy_critic_cfg(const struct policy_cfg *cfg);

/* Weights 0, ret_mean 0, ret_std 1, version 0. */
struct policy *policy_new(const struct policy_cfg *cfg, struct err *e);
struct policy *policy_clone(const struct policy *p, struct err *e);
void policy_free(struct policy *p);

/* Fresh weights: the actor's heads with gain .01 (nearly uniform at first), the critic's
 * with gain 1. The same seed gives the same weights. */
void policy_init(struct policy *p, uint64_t seed);
/* The same from mix_init_uniform: a first policy that is far from uniform. */
void policy_init_uniform(struct policy *p, uint64_t seed);

/* Weights, busy experts, ret_mean, ret_std and version of `from`; the configurations are equal. */
void policy_copy(struct policy *p, const struct policy *from);

/* CRC-32 of the weights, actor then critic, as they lie in memory. */
uint32_t policy_crc32(const struct policy *p);

struct policy_ws *policy_ws_new(const struct policy_cfg *cfg, struct err *e);
void policy_ws_free(struct policy_ws *ws);

/* One decision. u in [0,1) samples by inverse transform; u < 0 takes the argmax (lowest
 * index on ties). No router noise. mask must have at least one bit below cfg.actions.
 * 0, or ERR_NUMERIC when the weights gave something that is not finite (*out then holds
 * action = lowest level of the mask, a uniform distribution, gates and value 0). */
int policy_decide(struct policy_choice *out, const struct policy *p, struct policy_ws *ws,
                  const float *obs, uint32_t mask, double u);

/* The last step of a decision: action, logp and entropy from prob, gate and value in *c,
 * the logits and their lse. Errors and u as above; logits are not read when lse is not
 * finite. */
int policy_settle(struct policy_choice *c, const float *logits, float lse, uint32_t mask,
                  int actions, double u);

/* softmax over the bits of mask (at least one below actions); prob of the others is 0.
 * Returns lse with ln prob[a] = logits[a] - lse, not finite if the logits are not.
 * logits and prob (actions), may be the same array. */
float policy_softmax(float *prob, const float *logits, uint32_t mask, int actions);

#endif
