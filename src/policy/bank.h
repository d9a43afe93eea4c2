/* bank.h - merging the experts of a mixture: weighted sums of their parameters.
 *
 *   merge   theta_out = sum_k x_k theta_k
 *
 * Source: expert merging in the Tanbr paper (Han et al., task-aware expert merging for online MoE
 * inference): y = E(u; W), W = sum_k x_k W_k. One expert of the usual size replaces the mixture.
 *
 * A whole policy is merged with the same x in actor and critic; a critic of one expert is copied. The
 * result has one expert each and no router.
 *
 * Shapes: x (experts), theta_out mix_expert(cfg, 0).n floats. Sums in double.
 * Errors: ERR_NUMERIC if a weight or a merged parameter is not finite; ERR_INVALID for a policy whose
 * critic has neither one expert nor as many as the actor.
 * Ownership: all memory is the caller's. Threads: pure functions. */
#ifndef POLICY_BANK_H
#define POLICY_BANK_H

#include "policy/mix.h"
#include "policy/policy.h"

int bank_merge(float *theta_out, const struct mix *m, const float *x)
    __attribute__((warn_unused_result));

/* The configuration of what bank_policy makes of a policy of `experts`. */
int bank_policy_cfg(struct policy_cfg *out, const struct policy_cfg *experts,
                    struct err *e) __attribute__((warn_unused_result));
/* out is of that configuration; its version stays. After ERR_NUMERIC its weights are void. */
int bank_policy(struct policy *out, const struct policy *experts, const float *x)
    __attribute__((warn_unused_result));

#endif
