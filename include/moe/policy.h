/* policy.h - actor and critic as one value: what is trained, published, saved and served.
 *
 * The actor maps an observation to logits over levels; masked levels get -inf, so
 * pi(a|s) = softmax over the levels that exist. The critic maps the same observation to the
 * (normalised) return. Each is a struct mix with its own router.
 *
 * The value denormaliser (mean, std of returns) travels with the weights; V in reward units
 * is critic(s) * ret_std + ret_mean.
 *
 * Threads: const struct policy is shared read-only; struct policy_ws belongs to one thread.
 * policy_decide allocates nothing. */
#ifndef MOE_POLICY_H
#define MOE_POLICY_H

#include "moe/mix.h"

#define POLICY_ACTIONS 12 /* = VIEW_LEVELS; the moe layer knows no bitrates */

struct policy_cfg {
    int obs_dim, actions;
    int hidden, layers, experts;        /* actor */
    int critic_hidden, critic_experts;  /* critic, same number of layers */
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
    int expert;      /* the actor's chosen expert; the largest gate when dense */
    float prob[POLICY_ACTIONS]; /* 0 where masked */
    float gate[16];  /* gate probabilities of the first 16 experts */
    float logp;      /* ln prob[action] */
    float entropy;   /* nats */
    float value;     /* in reward units */
};

struct policy_cfg policy_cfg_default(int obs_dim);

struct policy *policy_new(const struct policy_cfg *cfg, struct err *e);
struct policy *policy_clone(const struct policy *p, struct err *e);
void policy_free(struct policy *p);
void policy_init(struct policy *p, uint64_t seed);

struct policy_ws *policy_ws_new(const struct policy_cfg *cfg, struct err *e);
void policy_ws_free(struct policy_ws *ws);

/* One decision. u in [0,1) samples by inverse transform; u < 0 takes the argmax (lowest
 * index on ties). No router noise. mask must have at least one bit below cfg.actions.
 * 0, or ERR_NUMERIC when the weights gave something that is not finite (*out then holds
 * action = lowest level of the mask and a uniform distribution). */
int policy_decide(struct policy_choice *out, const struct policy *p,
                  struct policy_ws *ws, const float *obs, uint32_t mask, double u);

/* softmax over the bits of mask; logits and prob (actions), may be the same array. */
void policy_softmax(float *prob, const float *logits, uint32_t mask, int actions);

#endif
