/* join.h - policies of one expert each as one policy of K experts, and merged again.
 *
 *   join    expert k of actor and critic is the k-th policy's
 *   merge   theta = sum_k x_k theta_k, actor and critic                (policy/bank.h)
 *
 * Weights average well only between policies that were tuned from one common start. The joined
 * policy is a container: its routers are 0. Served as it is (route dense), it is a uniform mixture
 * of logits. A one-expert policy merged from a vertex of the simplex is the policy that was joined,
 * up to the rounding of the critic's head.
 *
 * Each policy's critic is on the scale of its own returns; the joined one has the mean of their
 * ret_mean and the largest ret_std, and the heads are scaled to it, so that values keep their
 * meaning: V_k = (w_k h + b_k) std_k + mean_k.
 *
 * Errors: ERR_CONFLICT (configurations differ, or have more than one expert), ERR_RANGE (fewer
 * than 2 or more than MIX_EXPERTS_MAX), ERR_NUMERIC (weights or x not finite), ERR_MEMORY.
 * Threads: pure functions. */
#ifndef POLICY_JOIN_H
#define POLICY_JOIN_H

#include "policy/policy.h"

/* Owned by the caller; version 0. */
struct policy *join_new(const struct policy *const *single, int n, struct err *e);

/* The configuration of what join_merge gives. */
struct policy_cfg join_merged_cfg(const struct policy_cfg *joined);

/* x (experts). out has join_merged_cfg; also takes over ret_mean, ret_std and version. */
int join_merge(struct policy *out, const struct policy *joined, const float *x)
    __attribute__((warn_unused_result));

#endif
