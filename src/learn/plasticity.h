/* plasticity.h - the plasticity of a policy: dormant units, ranks and sizes of its weights.
 *
 * For one layer let H (n, units) be the activations after ReLU of the n rows that reached
 * an expert, sigma_1 >= sigma_2 >= ... the singular values of H, not centred.
 *
 *   score      s_i = E|H_i| / (1/units sum_j E|H_j|)
 *   dormant    share of units with s_i <= tau, tau = 0, .025, .1, .5
 *   rank       #{sigma_k > max(n, units) FLT_EPSILON sigma_1}
 *   effective  exp(-sum_k p_k ln p_k),  p_k = sigma_k / sum sigma
 *   approx     least r with sum_{k<=r} sigma_k^2 >= .99 sum sigma^2
 *   abs_approx least r with sum_{k<=r} sigma_k >= .99 sum sigma
 *   feature    #{sigma_k / sqrt(n) > .01}
 *   weight     mean |w| and root mean square of a layer's weights, biases left out
 *
 * Sources: dormant: Sokar et al., ICML 2023, Def. 3.1 (PA-MoE, Eq. 41; Figs. 3, 11).
 * rank: PA-MoE, Def. F.1, Eq. 42 (Fig. 12). effective: Roy and Vetterli, EUSIPCO 2007
 * (Eq. 43-44; Fig. 13). approx: Yang et al., ICLR 2020 (Eq. 45-46; Fig. 14). abs_approx:
 * Eq. 47-48 (Fig. 15), which is srank of Kumar et al., ICLR 2021. feature: Lyle et al.,
 * ICLR 2022, Def. 2; the only one that depends on the scale of H. weight: Fig. 16.
 *
 * Differs: Eq. 42 counts sigma > 0, which in floating point counts rounding errors; the
 * tolerance here is numpy's for float32. PA-MoE says "below" tau, Sokar "<=", and only
 * the latter makes tau = 0 mean never active. Fig. 16 does not define "weight mean": a
 * signed mean would show nothing of size, so the mean of |w| as Dohare et al. 2024 do.
 *
 * A layer whose units are all 0 has dormant share 1 at every tau and every rank 0. An
 * expert that no row reached has rows 0 and NaN in all but the sizes of its weights. With
 * single and dense routes every row reaches every expert.
 *
 * Row weights: a row of weight w counts as w equal rows.
 *
 * Figs. 8 and 9 ("internal state") are of the streaming session (level, buffer,
 * throughput), not of the network.
 *
 * Errors: ERR_NUMERIC names the network, and the expert and layer or the router, with a value
 * that is not finite; *out is then undefined. ERR_RANGE and ERR_MEMORY from _new.
 * Ownership: struct plasticity is the caller's (about 40 kB: too large for small stacks), struct
 * plasticity_ws is scratch; nothing allocates after _new.
 * Threads: not shared, one ws per thread; const struct policy is shared read-only. */
#ifndef LEARN_PLASTICITY_H
#define LEARN_PLASTICITY_H

#include "base/err.h"
#include "policy/policy.h"

#define PLASTICITY_TAUS 4

/* One layer of one expert, over the rows that reach it. */
struct plasticity_layer {
    double dormant[PLASTICITY_TAUS]; /* share of units, 0 .. 1 */
    double rank, effective, approx, abs_approx, feature;
    double activation; /* mean of H */
};

struct plasticity_weight {
    double abs, rms;
};

struct plasticity_expert {
    double rows;  /* weight of the rows that reached it */
    double share; /* of the rows, those that chose it */
    double gate;  /* mean gate probability */
    struct plasticity_layer layer[MIX_LAYERS_MAX];       /* [0 .. layers-1] */
    struct plasticity_weight weight[MIX_LAYERS_MAX + 1]; /* [layers] is the head */
};

/* Means are over experts that rows reached (weights: over all); experts are of one size,
 * so a mean of shares is the share over all units. */
struct plasticity_net {
    int layers, experts, hidden, reached;
    double rows; /* weight of the batch */
    struct plasticity_expert expert[MIX_EXPERTS_MAX];
    struct plasticity_layer mean_layer[MIX_LAYERS_MAX];
    struct plasticity_layer mean; /* over layers too */
    struct plasticity_weight mean_weight[MIX_LAYERS_MAX + 1];
    struct plasticity_weight router; /* NaN when single */
};

struct plasticity {
    struct plasticity_net actor, critic;
};

/* A batch of observations. */
struct plasticity_batch {
    const float *obs;                /* (n, obs_dim) */
    const double *weight;            /* (n), >= 0 with a sum > 0; NULL: 1 each */
    const float *z_actor, *z_critic; /* (n, experts) router noise, or NULL */
    int n;                           /* 1 .. max_rows */
};

struct plasticity_ws;

struct plasticity_ws *plasticity_ws_new(const struct policy_cfg *cfg, int max_rows,
                                        struct err *e);
void plasticity_ws_free(struct plasticity_ws *ws);

int plasticity_measure(struct plasticity *out, struct plasticity_ws *ws,
                       const struct policy *p, const struct plasticity_batch *b,
                       struct err *e) __attribute__((warn_unused_result));

/* The thresholds of dormant: 0, .025, .1, .5. */
double plasticity_tau(int i);

/* The single measures, for any matrix or spectrum. rows of H: the sum of its row
 * weights; sigma (n) largest first; larger_side: max(rows, cols) of the matrix. */
void plasticity_dormant(double dormant[PLASTICITY_TAUS], const double *mean_abs,
                        int units);
void plasticity_ranks(struct plasticity_layer *out, const double *sigma, int n,
                      int larger_side, double rows);
struct plasticity_weight plasticity_weight(const float *w, size_t n);

#endif
