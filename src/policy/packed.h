/* packed.h - one decision at a time, fast: a policy packed for batches of one.
 *
 * The same function as policy_decide (policy/policy.h), which is its plain twin in the tests.
 * Weights are transposed, padded and quantized once, when they are packed; a decision then
 * reads the routers, the rows of the chosen experts whose input is not zero (nn/simd/vecmat.h)
 * and nothing else. Actor and critic share the list of the observation's non-zero entries
 * and go from layer to layer side by side.
 *
 * A decision costs what its weights cost to read, so the hidden layers are in 16 bits, as
 * their inputs are (nn/simd/vecmat.h: quantized layers); routers and heads, which compare a few
 * numbers, keep every bit. The policy that decides is thereby another one than the learner
 * updates, by little: of 120,000 decisions of the shipped policy 7 took another of two levels
 * that were nearly as likely, and a probability is off by 0.005 at most (`make bench`,
 * decide.agree). logp, entropy and value are those of the distribution really used, so the
 * learner's ratios are right for what was done.
 *
 * Results depend on weights, observation, mask, u and the CPU's instruction set alone:
 * every thread gives the same answer. Between instruction sets the last bits differ.
 *
 * Busy experts (policy/mix.h) stay out; an expert whose own parameters or whose gate's are not
 * finite is busy, too: the router takes the best idle one, argmax over idle m of h_m, as in
 * "Theory on Mixture-of-Experts in Mobile Edge Computing", step 2 (without its noise; step 5's
 * softmax is over the idle experts here, so that no probability is lost with the busy ones).
 * When all experts of actor or critic are busy, or the scale of the returns is not finite,
 * every decision fails with ERR_NUMERIC.
 *
 * Errors: ERR_RANGE, ERR_MEMORY. Ownership: a packed owns its copy of the weights. Threads: a const
 * struct packed is shared read-only after packed_load. Deciding allocates nothing. */
#ifndef MOE_SWIFT_H
#define MOE_SWIFT_H

#include "policy/policy.h"

struct packed;

/* Weights 0. ERR_RANGE for a configuration outside the limits. */
struct packed *packed_new(const struct policy_cfg *cfg, struct err *e);
void packed_free(struct packed *s);

/* Takes over weights and version of a policy with this configuration. */
void packed_load(struct packed *s, const struct policy *p);

uint64_t packed_version(const struct packed *s); /* of the policy */
const struct policy_cfg *packed_cfg(const struct packed *s);
/* Bit k: expert k is busy. */
uint64_t packed_actor_busy(const struct packed *s);
uint64_t packed_critic_busy(const struct packed *s);
const char *packed_isa(const struct packed *s); /* instruction set in use, for `bench` */

/* As policy_decide. obs (obs_dim). */
int packed_decide(struct policy_choice *out, const struct packed *s, const float *obs,
                  uint32_t mask, double u);

#endif
