/* merge_static.h - merging of experts by statistics of data, once: Fisher and RegMean.
 *
 *   Fisher    theta_i = sum_k F_k,i theta_k,i / sum_k F_k,i
 *             F_k,i = mean over states of (d ln pi_k(a | s) / d theta_i)^2, a drawn from pi_k
 *   RegMean   of each layer, W = (sum_k G_k)^-1 sum_k G_k W_k,   G_k = X_k' X_k
 *             X_k its inputs when expert k plays; entries off G's diagonal times alpha
 *
 * Sources: Matena and Raffel, Merging models with Fisher-weighted averaging, NeurIPS 2022; Jin et
 * al., Dataless knowledge fusion by merging weights of language models (RegMean), ICLR 2023,
 * alpha = 0.9. Biases are a column of X that is 1. Parameters without information (F or a diagonal
 * of G is 0) are averaged.
 *
 * states: of each expert (K), n of (obs_dim) and their masks. Errors: ERR_NUMERIC (a system that
 * is not positive definite, or weights that are not finite), ERR_MEMORY.
 * Threads: pure functions. */
#ifndef LAB_MERGE_STATIC_H
#define LAB_MERGE_STATIC_H

#include "policy/join.h"

struct merge_states {
    int n;
    const float *obs;     /* (n, obs_dim) */
    const uint32_t *mask; /* (n) */
};

/* out has join_merged_cfg(joined); its critic is the uniform average. states (experts). */
int merge_static_fisher(struct policy *out, const struct policy *joined,
                        const struct merge_states *states, uint64_t seed, struct err *e)
    __attribute__((warn_unused_result));
int merge_static_regmean(struct policy *out, const struct policy *joined,
                         const struct merge_states *states, struct err *e)
    __attribute__((warn_unused_result));

#endif
