/* packed.h - one decision at a time, fast: a policy packed for batches of one.
 *
 * The same function as policy_decide (policy/policy.h), which is its plain twin in the tests.
 * Packing transposes, pads and quantizes the weights once. A decision then reads the routers,
 * the rows of the chosen experts whose input is not zero (nn/simd/vecmat.h), and nothing else.
 * Actor and critic share the list of the observation's non-zero entries and go from layer to
 * layer together.
 *
 * A decision costs what its weights cost to read. So the hidden layers of the mixture and their
 * inputs have 16 bits (nn/simd/vecmat.h: quantized layers). Routers and heads compare a few
 * numbers and keep every bit. The policy that decides thereby differs a little from the one that
 * the learner updates: of 120,000 decisions of the shipped policy 7 took the other of two levels
 * that were nearly as likely, and a probability is off by 0.005 at most (`make bench`,
 * decide.agree). logp, entropy and value are those of the distribution in use, so the learner's
 * ratios are right.
 *
 * Added experts (policy/policy.h) keep every bit, too. The scores of the actor's and of the
 * critic's are one product.
 *
 * Results depend on weights, observation, mask, u and the CPU's instruction set alone: every
 * thread gives the same answer. Between instruction sets the last bits differ.
 *
 * Busy experts (policy/mix.h) stay out. An expert of the mixture whose own parameters or whose
 * gate's are not finite is busy, too. The router takes the best idle one, argmax over idle m of
 * h_m, as in "Theory on Mixture-of-Experts in Mobile Edge Computing", step 2 (without its noise;
 * step 5's softmax is over the idle experts here, so that no probability is lost). Every decision
 * fails with ERR_NUMERIC if all experts of actor or critic are busy, if the scale of the returns
 * is not finite, or if any added expert is not.
 *
 * Errors: ERR_RANGE, ERR_MEMORY. Ownership: a packed owns its copy of the weights. Threads: a const
 * struct packed is shared read-only after packed_load. Deciding allocates nothing. */
#ifndef POLICY_PACKED_H
#define POLICY_PACKED_H

#include "policy/policy.h"

struct packed;

/* Weights 0. ERR_RANGE for a configuration outside the limits. */
struct packed *packed_new(const struct policy_cfg *cfg, struct err *e);
void packed_free(struct packed *s);

/* Takes over weights and version of a policy with this configuration. A policy without added
 * experts may be loaded where there is room for them. */
void packed_load(struct packed *s, const struct policy *p);

uint64_t packed_version(const struct packed *s); /* policy_version */
size_t packed_bytes(const struct packed *s);
const struct policy_cfg *packed_cfg(const struct packed *s);
/* Bit k: expert k is busy. */
uint64_t packed_actor_busy(const struct packed *s);
uint64_t packed_critic_busy(const struct packed *s);
const char *packed_isa(const struct packed *s); /* instruction set in use, for `bench` */

/* As policy_decide. obs (obs_dim). */
int packed_decide(struct policy_choice *out, const struct packed *s, const float *obs,
                  uint32_t mask, double u);

#endif
