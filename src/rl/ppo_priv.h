/* ppo_priv.h - one network with its optimiser, as ppo.c steps it. */
#ifndef RL_PPO_PRIV_H
#define RL_PPO_PRIV_H

#include "moe/policy.h"
#include "rl/inject.h"
#include "rl/ppo.h"

/* A mixture in training: gradient, Adam moments and step counts per range (router, then
 * one per expert), its own random stream, and room for one minibatch. */
struct learner {
    struct mix *net; /* borrowed */
    struct mix_ws *ws;
    float *block; /* all floats below, owned */
    float *grad, *m, *v;
    float *x, *z, *y, *dy; /* (minibatch, in / experts / out / out) */
    int64_t *steps;        /* (1 + experts) */
    int *order, *used;
    struct rng rng;
};

int learner_init(struct learner *l, struct mix *net, int minibatch, int max_batch,
                 uint64_t seed, uint64_t id, struct err *e);
void learner_release(struct learner *l);

/* A new random order of 0 .. n-1 in l->order. */
void learner_shuffle(struct learner *l, int n);

/* Backward from l->dy, clip, Adam, noise. Returns the gradient's norm before clipping, or
 * a number that is not finite: then nothing was stepped. `balance` receives the balance
 * loss. */
double learner_step(struct learner *l, const struct ppo_cfg *cfg, double lr,
                    double gamma_noise, const struct inject *inject, float *balance);

size_t learner_state_size(const struct learner *l);
char *learner_state_get(const struct learner *l, char *out);
const char *learner_state_put(struct learner *l, const char *in);

#endif
