/* ppo_priv.h - the learner's parts: one network with its optimiser, and what watches the gates.
 */
#ifndef RL_PPO_PRIV_H
#define RL_PPO_PRIV_H

#include "policy/policy.h"
#include "learn/ppo.h"

/* A mixture in training: gradient, Adam moments and step counts per range (router, then
 * one per expert), its own random stream, and room for one minibatch. */
struct ppo_net {
    struct mix *net; /* borrowed */
    struct mix_ws *ws;
    float *block; /* all floats below, owned */
    float *grad, *m, *v;
    float *x, *z, *y, *dy; /* (minibatch, in / experts / out / out) */
    double router_norm;    /* sum over the steps of this update */
    int64_t *steps;        /* (1 + experts) */
    int *order, *used;
    struct rng rng;
    struct gate gate;
    float *before; /* theta as the update began; NULL when nobody asks */
    uint64_t sick; /* experts with an output or a gradient that was not finite */
};

/* Of the actor's minibatch, per row: the distribution, its entropy, pi / pi_old. */
struct ppo_scratch {
    float *pi, *ln_pi; /* (minibatch, actions) */
    float *entropy, *log_ratio, *ratio;
    uint32_t *mask;
};

enum { ACTOR, CRITIC, TUTOR, NETS };

struct ppo {
    struct ppo_cfg cfg;
    struct policy *policy;
    struct tutor *tutor;
    int max_batch, nets;
    struct ppo_net net[NETS];
    struct tutor_scale returns;
    struct drift drift;
    struct ppo_scratch scratch;
    float *advantage, *target, *tutor_target; /* (max_batch), normalised */
    float *unit; /* (max_batch): what q is multiplied with to be normalised */

    /* of the update that is running */
    const struct ppo_batch *batch;
    struct ppo_stats stats;
    int rc[NETS];
};

int ppo_net_init(struct ppo_net *l, struct mix *net, const struct ppo_cfg *cfg,
                 int max_batch, uint64_t seed, uint64_t id, struct err *e);
void ppo_net_release(struct ppo_net *l);

/* A new random order of 0 .. n-1 in l->order. */
void ppo_net_shuffle(struct ppo_net *l, int n);

bool ppo_net_latched(const struct ppo_net *l, const struct ppo_cfg *cfg);

/* A round of the gate (policy/gate.h) around the minibatches of one update. */
void ppo_net_begin(struct ppo_net *l, const struct ppo_cfg *cfg, const float *x,
                   const int *tag, int n);
void ppo_net_end(struct ppo_net *l);

/* After a loss that is not finite: whose outputs were not? */
void ppo_net_blame(struct ppo_net *l);

/* Router noise for n rows into l->z, N(0, std^2). */
void ppo_net_draw_z(struct ppo_net *l, int n, double std);

/* Gives every expert the head of expert 0. */
void ppo_net_tie_heads(struct ppo_net *l);

/* Backward from l->dy, clip, Adam, noise. Returns the gradient's norm before clipping, or
 * a number that is not finite: then nothing was stepped. `balance` receives the balance
 * loss. */
double ppo_net_step(struct ppo_net *l, const struct ppo_cfg *cfg, double lr,
                    double gamma_noise, float *balance);

size_t ppo_net_state_size(const struct ppo_net *l);
char *ppo_net_state_get(const struct ppo_net *l, char *out);
const char *ppo_net_state_put(struct ppo_net *l, const char *in);

/* Before an update: the batch is watched while a gate is latched, and an alarm wakes them. */
void ppo_gate_watch(struct ppo *p);
/* After it: what the figures say of the gates. */
void ppo_gate_report(struct ppo *p);

#endif
