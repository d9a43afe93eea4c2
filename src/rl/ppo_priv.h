/* ppo_priv.h - one network with its optimiser, as ppo.c steps it. */
#ifndef RL_PPO_PRIV_H
#define RL_PPO_PRIV_H

#include "moe/policy.h"
#include "rl/ppo.h"

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
};

int ppo_net_init(struct ppo_net *l, struct mix *net, int minibatch, int max_batch,
                 uint64_t seed, uint64_t id, struct err *e);
void ppo_net_release(struct ppo_net *l);

/* A new random order of 0 .. n-1 in l->order. */
void ppo_net_shuffle(struct ppo_net *l, int n);

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

#endif
