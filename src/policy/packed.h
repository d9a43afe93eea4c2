/* packed.h - one decision at a time, fast: a policy packed for batches of one.
 *
 * It computes policy_decide (policy/policy.h), which is its plain twin in the tests. Packing
 * transposes, pads and quantizes the weights once. A decision reads the routers and the rows of the
 * chosen experts whose input is not zero (nn/simd/vecmat.h). Actor and critic share the list of the
 * observation's non-zero entries and are computed layer by layer together.
 *
 * Reading the weights dominates the time of a decision. So the hidden layers of the mixture and their
 * inputs have 16 bits (nn/simd/vecmat.h: quantized layers). Routers, heads and added experts keep
 * every bit. So decisions differ slightly from those of the learner's policy. Measured (`make bench`,
 * decide.agree): 7 of 120,000 decisions of the shipped policy took the other of two nearly equally
 * likely levels; probabilities differ by at most 0.005. logp, entropy and value describe the
 * distribution in use, so the learner's ratios are right.
 *
 * The scores of the actor's and of the critic's added experts are one product.
 *
 * Results depend only on weights, observation, mask, u and the CPU's instruction set. So every thread
 * gives the same answer; between instruction sets the last bits differ.
 *
 * Busy experts (policy/mix.h) are left out. An expert of the mixture is also busy if its own or its
 * gate's parameters are not finite. The router takes the best idle expert, argmax over idle m of h_m,
 * as in "Theory on Mixture-of-Experts in Mobile Edge Computing", step 2, without its noise. Differs
 * from its step 5: the softmax is over the idle experts, so that the probabilities sum to 1. Every
 * decision fails with ERR_NUMERIC if all experts of actor or critic are busy, or if the scale of the
 * returns or an added expert is not finite.
 *
 * Errors: ERR_RANGE, ERR_MEMORY. Ownership: struct packed owns its copy of the weights.
 * Threads: const struct packed is shared read-only after packed_load. Deciding allocates nothing. */
#ifndef POLICY_PACKED_H
#define POLICY_PACKED_H

#include "policy/policy.h"

struct packed;

/* Weights 0. ERR_RANGE for a configuration outside the limits. */
struct packed *packed_new(const struct policy_cfg *cfg, struct err *e);
void packed_free(struct packed *s);

/* Copies weights and version of a policy with this configuration. It may lack the added experts. */
void packed_load(struct packed *s, const struct policy *p);

uint64_t packed_version(const struct packed *s); /* policy_version */
size_t packed_bytes(const struct packed *s);
const struct policy_cfg *packed_cfg(const struct packed *s);
/* The policy's input (policy.h) if it has n numbers, else NULL; borrowed. */
const float *packed_input(const struct packed *s, int n);
/* Bit k: expert k is busy. */
uint64_t packed_actor_busy(const struct packed *s);
uint64_t packed_critic_busy(const struct packed *s);
const char *packed_isa(const struct packed *s); /* instruction set in use, for `bench` */

/* As policy_decide. obs (obs_dim). */
int packed_decide(struct policy_choice *out, const struct packed *s, const float *obs,
                  uint32_t mask, double u);

#endif
