/* pair.h - two policies side by side in one, chosen by one entry of the observation.
 *
 *   g_k(x) = g_k(x) + K x_e - K     experts of `on`, first
 *   g_k(x) = g_k(x) - K x_e         experts of `off`, behind them
 *
 * x_e is 0 or 1 and K = PAIR_APART, so the router chooses among the experts of one policy, as that policy
 * does, and the gate probabilities of the others are below e^(-K/2). The pair learns like any other
 * mixture. A step in states of one policy does not move the experts of the other.
 *
 * `off` may observe less than `on`: the first entries of the same observation. Its weights for the rest
 * are 0. The critics' heads are rescaled to the returns of `on`: V = (w h + b) std + mean. With the route
 * top1 that is exact up to the gate's factor on the difference of the means.
 *
 * Errors: ERR_CONFLICT (other networks or routes, `off` observes more, no router), ERR_RANGE (more
 * experts than POLICY_GATES), ERR_MEMORY. Threads: pure function. */
#ifndef POLICY_PAIR_H
#define POLICY_PAIR_H

#include "policy/policy.h"

#define PAIR_APART 64.0f

/* Owned by the caller; version 0. entry < on->cfg.obs_dim. */
struct policy *pair_new(const struct policy *on, const struct policy *off, int entry,
                        struct err *e);

#endif
