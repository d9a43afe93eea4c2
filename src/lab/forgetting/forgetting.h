/* forgetting.h - the lab `forgetting`: do experts forget less when their router stops learning?
 *
 * Reproduces Li et al., "Theory on Mixture-of-Experts in Continual Learning". F_t is the forgetting up
 * to round t, G_T the generalisation error after all T rounds (recall.h). M is the number of experts.
 * The report shows:
 *   - F_t and G_T over the rounds for M in {1, 5, 10, 20}, with and without termination of the gate,
 *     next to Proposition 4 and Theorem 1 as printed
 *   - gate gaps and expert sets (Propositions 1 and 2), and selection shares (Proposition 3)
 *   - one expert on a fixed pool, next to its exact expectations (exact.h), with and without the
 *     feature signal
 *   - MNIST with N = 3 and M in {1, 4, 7}
 * The lab `edge` shares the code that runs the arms and draws them (experiment.h).
 *
 * Checks, at 95 % or 4 standard errors:
 *   - the simulation meets the exact forms at every point and misses the printed ones
 *   - with termination M > N beats one expert in F and G
 *   - without termination the error after T1 has a lowest point, and rises again from there
 *   - every gate that is allowed to stop stops
 *   - on MNIST tasks contradict each other: with termination, M = 4 and 7 beat one expert in F and G
 *   - on MNIST the same two also beat the gate that goes on learning, in G
 *
 * MNIST is read when `make lab-data` has fetched it. Without it the report and the terminal say what is
 * missing.
 *
 * Threads: as lab.h. */
#ifndef LAB_FORGETTING_H
#define LAB_FORGETTING_H

#include "lab/lab.h"

extern const struct lab forgetting_lab;

#endif
