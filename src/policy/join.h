/* join.h - joining policies of one expert each into one policy of K experts, merging it, and leaving
 * experts out.
 *
 *   join    expert k of actor and critic is that of policy k
 *   merge   theta = sum_k x_k theta_k, actor and critic                (policy/bank.h)
 *   keep    some experts with their rows of the router; gates are renormalised over them
 *
 * Averaged weights work well only for policies that were tuned from a common start. The joined policy
 * is a container with routers of 0. With the route dense it decides as a uniform mixture of logits.
 * Merged with a vertex of the simplex, it is the joined policy of that vertex, up to the rounding of
 * the critic's head.
 *
 * Each policy's critic is on the scale of its own returns. The joined policy has the mean of their
 * ret_mean and the largest ret_std. The heads are scaled, so that values stay the same:
 * V_k = (w_k h + b_k) std_k + mean_k.
 *
 * Errors: ERR_CONFLICT (different configurations, or more than one expert), ERR_RANGE (fewer than 2
 * policies or more than MIX_EXPERTS_MAX), ERR_NUMERIC (weights or x not finite), ERR_MEMORY.
 * Threads: pure functions. */
#ifndef POLICY_JOIN_H
#define POLICY_JOIN_H

#include "policy/policy.h"

/* Owned by the caller; version 0. */
struct policy *join_new(const struct policy *const *single, int n, struct err *e);

/* The configuration of the result of join_merge. */
struct policy_cfg join_merged_cfg(const struct policy_cfg *joined);

/* x (experts). out has join_merged_cfg; ret_mean, ret_std and version are copied to it. */
int join_merge(struct policy *out, const struct policy *joined, const float *x)
    __attribute__((warn_unused_result));

/* The experts of the bits `actor` and `critic`, in their order. One expert is routed "single". ERR_RANGE:
 * no such expert, or none. Owned by the caller. */
struct policy *join_keep(const struct policy *p, uint64_t actor, uint64_t critic,
                         struct err *e);

#endif
