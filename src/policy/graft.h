/* graft.h - new experts for one profile on a frozen policy: actor and critic as one value.
 *
 *   pi(a|x) = softmax over the levels that exist of ln pi0(a|x) + y(x)_a
 *   V(x)    = V0(x) + ret_std v(x)
 *
 * pi0, V0, ret_std are the frozen policy's (policy.h), y and v the sums over new experts of
 * norga.h. ln pi0 is the frozen logits but for a shift that softmax does not see, so this is
 * Eq. 11 of that page for the actor, and pi is proportional to pi0(a) e^(y_a): new experts
 * say how much likelier a level is than it was. ln pi0 is not taken below GRAFT_FLOOR,
 * so that what the frozen policy never does can still be learnt.
 *
 * A graft belongs to the weights it was grown on: their version and CRC go with it, and
 * with other weights it is meaningless.
 *
 * At first pi = pi0 and V = V0, to rounding, for every observation: the new experts' heads
 * are 0 (norga_init). Their hidden layers are those of the frozen experts that the router
 * sends the profile's observations to, the most used ones first: the frozen policy reads the
 * profile's weights in its observation, so that these are the experts of what is nearest.
 *
 * a and tau are learned with the first graft of a daemon; later ones get its values and leave
 * them as they are (appendix J of the paper: learned with the first task): shape_learns.
 *
 * Experts are numbered on: 0 .. N-1 are the frozen ones of the actor, N .. N+L-1 the new.
 *
 * Errors: ERR_RANGE, ERR_MEMORY. Threads: const struct graft is shared read-only; a graft_ws
 * belongs to one thread. graft_decide allocates nothing. */
#ifndef MOE_GRAFT_H
#define MOE_GRAFT_H

#include "policy/norga.h"
#include "policy/policy.h"

#include <stdbool.h>

#define GRAFT_FLOOR (-30.0f) /* nats */

struct graft_cfg {
    struct policy_cfg base;
    int experts; /* new ones, of the actor and of the critic; with the frozen ones at most
                  * POLICY_GATES */
    enum norga_sigma sigma;
};

struct graft {
    struct graft_cfg cfg;
    struct norga *actor, *critic; /* owned */
    bool shape_learns;
    uint64_t version;      /* of the graft: 1 at first */
    uint64_t base_version; /* of the frozen policy */
    uint32_t base_crc;
};

struct graft_ws;

int graft_cfg_check(const struct graft_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
struct norga_cfg graft_actor_cfg(const struct graft_cfg *cfg);
struct norga_cfg graft_critic_cfg(const struct graft_cfg *cfg);

/* Weights 0, version 1, shape_learns. */
struct graft *graft_new(const struct graft_cfg *cfg, struct err *e);
struct graft *graft_clone(const struct graft *g, struct err *e);
void graft_free(struct graft *g);
/* Weights, flag and versions of `from`; the configurations are equal. */
void graft_copy(struct graft *g, const struct graft *from);
size_t graft_floats(const struct graft *g); /* of all parameters */

/* Fresh experts on `base`. obs (n, obs_dim): observations of the profile, n >= 0; with none
 * the experts are taken in their order. ERR_MEMORY. */
int graft_init(struct graft *g, const struct policy *base, const float *obs, int n,
               uint64_t seed, struct err *e) __attribute__((warn_unused_result));

/* a and tau of both networks from another graft; they are not learned here. */
void graft_take_shape(struct graft *g, const struct graft *from);

/* CRC-32 of a policy's weights, actor first. */
uint32_t graft_crc(const struct policy *p);
/* Is `base` what g was grown on? */
bool graft_fits(const struct graft *g, const struct policy *base);

struct graft_ws *graft_ws_new(const struct graft_cfg *cfg, struct err *e);
void graft_ws_free(struct graft_ws *ws);

/* As policy_decide, of which it is the grown form. gate holds (1 - m) p_k and behind them
 * q_j; expert is the larger of the frozen one in charge and the largest q_j. */
int graft_decide(struct policy_choice *out, const struct graft *g,
                 const struct policy *base, struct graft_ws *ws, const float *obs,
                 uint32_t mask, double u);

/* What the new experts say of one observation. */
struct graft_word {
    const float *y;    /* (actions) */
    const float *gate; /* (experts) q of the actor */
    float share;       /* m of the actor */
    float v;           /* times ret_std: in reward units */
};

/* *c is the frozen policy's choice and becomes the grown one's. Returns as policy_decide. */
int graft_settle(struct policy_choice *c, const struct graft_cfg *cfg,
                 const struct graft_word *w, uint32_t mask, double u);

/* ln max(prob, e^GRAFT_FLOOR) */
float graft_ln(float prob);

#endif
