/* bank.h - arithmetic on the experts of a mixture as whole parameter vectors.
 *
 *   merge   theta_out = sum_k x_k theta_k
 *
 * Source: expert merging in the Tanbr paper (task-aware expert merging for online MoE
 * inference): y = E(u; W), W = sum_k x_k W_k, so that one expert of the usual size
 * answers for the whole mixture. Adding and freezing experts belong here when they come.
 *
 * Shapes: x (experts), theta_out mix_expert(cfg, 0).n floats. Sums in double.
 * Errors: ERR_NUMERIC when a weight or a merged parameter is not finite.
 * Ownership: all memory is the caller's. Threads: pure function. */
#ifndef MOE_BANK_H
#define MOE_BANK_H

#include "moe/mix.h"

int bank_merge(float *theta_out, const struct mix *m, const float *x)
    __attribute__((warn_unused_result));

#endif
