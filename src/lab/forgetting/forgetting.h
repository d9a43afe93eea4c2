/* forgetting.h - the lab `forgetting`: experts that forget less once their router stops.
 *
 * Reproduces Li et al., "Theory on Mixture-of-Experts in Continual Learning": F_t and G_T
 * over the rounds for M in {1, 5, 10, 20}, with and without termination of the gate, next to
 * Proposition 4 and Theorem 1 as printed; gate gaps and expert sets (Propositions 1, 2), selection
 * shares (Proposition 3). One expert on a fixed pool is compared with its exact expectations (exact.h),
 * with and without the feature signal. Then MNIST, N = 3, M in {1, 4, 7}. The arms and their drawing
 * are those of experiment.h, which the lab `edge` shares.
 *
 * Checks, at 95 % or 4 standard errors:
 *   - the simulation meets the exact forms at every point and misses the printed ones
 *   - with termination M > N beats one expert in F and G
 *   - without termination the error rises again after its lowest point behind T1
 *   - every gate that may stop does
 *   - on MNIST, where tasks contradict each other, M = 4 and 7 with termination beat one expert in F and
 *     G, and the gate that goes on in G
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
