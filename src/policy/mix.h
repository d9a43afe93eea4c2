/* mix.h - a mixture of experts as one differentiable function, batched.
 *
 *   single  y = E_0(x)                                    (experts = 1: a plain MLP)
 *   dense   y = sum_k p_k(x) E_k(x)
 *   top-1   y = p_c(x) E_c(x),  c = argmax_k (g_k(x) + z_k),  p = softmax(g)
 *   dense-probs  y = ln sum_k p_k(x) softmax(E_k(x))      (probs.h)
 *   g(x) = W x + b
 *
 * E_k: in -> hidden (ReLU) x layers -> out, linear head. Dense is Eq. 4-7 of PA-MoE with
 * the mixture over outputs (logits); top-1 is Eq. 5 with Switch's scaling by the gate's
 * probability (Fedus et al. 2022), which is what gives the router a gradient: PA-MoE's
 * own softmax over one selected logit is constant 1 and gives none (MIX_TOP1_UNSCALED
 * keeps that form for the reproduction). z is router noise, drawn and kept by the caller.
 *
 * Eq. 7 can also be read as a mixture of distributions over actions: dense-probs, whose y
 * are log-probabilities over all `out` outputs. Masking outputs and renormalising gives
 * sum_k p_k q_k restricted to those that exist. An expert that spends its probability on
 * masked outputs counts for less, unlike masking each expert's logits first. It needs
 * out >= 2, as the softmax of one output is constant: a critic mixes values instead.
 *
 * Shapes: x (n, in), y (n, out), chosen (n), z (n, experts) or NULL, gate (n, experts).
 * One flat float block holds all parameters: [W, b, expert 0, expert 1, ...]; each expert
 * is [W1, b1, ..., Whead, bhead]; weights (fan_out, fan_in) row-major. mix_expert and
 * mix_router give the ranges, so that optimiser, noise injection, merging and added experts
 * address them.
 *
 * The gate's own losses, added to the task's by mix_backward_gate (n rows):
 *   balance   alpha K sum_k f_k P_k            f_k the share chosen, P_k the mean of p_k
 *   cost      1/n sum_i sum_k p_k(x_i) c_k     c_k the cost of using expert k (policy/gate.h)
 * Balance is Switch's loss; f_k and c_k are constants to the gate.
 *
 * Busy experts (bits of mix.busy) are left out: g_k counts as minus infinity, so they are never
 * chosen, their p_k is 0, and neither forward nor backward reads their parameters. At least one
 * expert is idle. The bits are no part of theta.
 *
 * In all routes but single, chosen is the expert with the largest g_k + z_k (both dense
 * routes: z is not used, and every expert is reached); gate is p. In single both are 0 and 1.
 *
 * Determinism: a row's result depends on the row, the parameters, the number of rows that
 * go through the same product and the CPU's BLAS kernels: its last bits may differ
 * between a batch of 1 and one of 64, or when its neighbours choose other experts. It
 * never depends on the number of threads.
 *
 * Errors: ERR_RANGE for a configuration outside the limits below, ERR_MEMORY. Values that
 * are not finite are not looked for here: they show in y. Ownership: struct mix owns its
 * theta; struct mix_ws is scratch for batches up to its size. Nothing allocates after
 * _new. Threads: const struct mix is shared read-only; a mix_ws belongs to one thread. */
#ifndef POLICY_MIX_H
#define POLICY_MIX_H

#include "base/err.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MIX_IN_MAX 4096
#define MIX_HIDDEN_MAX 1024
#define MIX_LAYERS_MAX 3
#define MIX_OUT_MAX 4096
#define MIX_EXPERTS_MAX 64

enum mix_route { MIX_SINGLE, MIX_DENSE, MIX_TOP1, MIX_TOP1_UNSCALED, MIX_DENSE_PROBS };

/* A fixed prior of the outputs, whatever the route: y_a += gain x[at + a stride]. It is no part of theta and
 * has no gradient. gain 0: none. */
struct mix_prior {
    int at, stride, gain;
};

struct mix_cfg {
    int in, hidden, layers, out, experts; /* layers: hidden layers, 1 .. 3 */
    enum mix_route route;
    struct mix_prior prior;
};

struct mix_range {
    size_t at, n; /* floats within theta */
};

struct mix {
    struct mix_cfg cfg;
    size_t n;      /* floats in theta */
    float *theta;  /* owned */
    uint64_t busy; /* bit k: expert k is busy; 0 at first */
};

/* The gate's own losses. */
struct mix_gate_losses {
    float balance;     /* alpha */
    const float *cost; /* (experts) c_k, or NULL */
    bool still; /* the gate does not learn: its gradient is 0, and so are these losses */
};

struct mix_ws;

/* "single", "dense", "top1", "top1-unscaled", "dense-probs"; NULL for another number. */
const char *mix_route_word(enum mix_route route);
/* ERR_INVALID for another word; *out is then unchanged. */
int mix_route_parse(enum mix_route *out, const char *word, struct err *e)
    __attribute__((warn_unused_result));

/* 0, or ERR_RANGE naming the member (single has exactly one expert, dense-probs at
 * least two outputs). */
int mix_cfg_check(const struct mix_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
size_t mix_size(const struct mix_cfg *cfg); /* floats in theta */

/* theta starts as 0. */
struct mix *mix_new(const struct mix_cfg *cfg, struct err *e);
void mix_free(struct mix *m);

/* Orthogonal hidden layers (gain sqrt 2), head with gain head_gain, biases 0, router
 * N(0, .01^2). */
void mix_init(struct mix *m, float head_gain, struct rng *r);
/* Router and experts initialised as PyTorch's Linear (mlp_init_uniform). */
void mix_init_uniform(struct mix *m, struct rng *r);

struct mix_range mix_router(const struct mix_cfg *cfg);        /* n = 0 when single */
struct mix_range mix_expert(const struct mix_cfg *cfg, int k); /* whole expert */
struct mix_range mix_trunk(const struct mix_cfg *cfg, int k);  /* without its head */

struct mix_ws *mix_ws_new(const struct mix_cfg *cfg, int max_batch, struct err *e);
void mix_ws_free(struct mix_ws *ws);

/* g = W x + b of n rows, without noise, busy experts included: g (n, experts). Not when single. */
void mix_scores(float *g, const struct mix *m, const float *x, int n);

/* 1 <= n <= max_batch. chosen, gate may be NULL. What backward needs stays in ws until
 * the next forward (x is copied); m must not change in between. */
void mix_forward(float *y, int *chosen, float *gate, const struct mix *m,
                 struct mix_ws *ws, const float *x, const float *z, int n);

/* grad (m->n floats) becomes dL/dtheta for the batch of the last forward; dy (n, out) is
 * dL/dy. used[k] is set to the number of samples that reached expert k (may be NULL); the
 * gradient of an expert with none is 0.
 * Returns the value of the balance loss that was added (0 when balance is 0). */
float mix_backward(float *grad, int *used, const struct mix *m, struct mix_ws *ws,
                   const float *dy, float balance);
/* The same with all of the gate's losses; returns their sum. */
float mix_backward_gate(float *grad, int *used, const struct mix *m, struct mix_ws *ws,
                        const float *dy, const struct mix_gate_losses *losses);

/* Bit k: an output of expert k in the last forward was not finite. */
uint64_t mix_nonfinite(const struct mix *m, const struct mix_ws *ws);

/* Hidden activations (after ReLU) of the last forward, for plasticity diagnostics: (rows,
 * hidden), rows = samples that reached expert k, in the order of the batch; NULL when
 * none. Borrowed until the next forward. */
const float *mix_hidden(const struct mix_ws *ws, int k, int layer, int *rows);

#endif
