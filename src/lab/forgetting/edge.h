/* edge.h - the lab `edge`: specialised experts among busy edge servers.
 *
 * Reproduces the experiments of Li and Duan, "Theory on Mixture-of-Experts in Mobile Edge
 * Computing": G_t over the slots for M in {5, 10, 30, 60} with a gate that stops, a gate that does
 * not, the nearest idle and the most powerful idle server (edge_sim.h); Propositions 6 to 9 and
 * Theorem 2 beside the measurement. Then the same on MNIST, N = 3, M in {5, 15, 30}
 * (edge_images.h), when `make lab-data` has fetched it; without it the report and the terminal say
 * what is missing.
 *
 * Checks, at 95 % or 4 standard errors: with X isotropic and routing blind to tasks, G_T meets
 * Proposition 9 with its second term times (1 - 1/L) (recall.h) for T = 300 and 3000, and at 300
 * misses the printed form; with experts enough (Proposition 6) the gate that stops beats
 * the other three; more tasks find an idle expert of their set at M = 60 than at 10; more experts than
 * needed delay convergence. On MNIST the gate that stops beats the other three with experts enough.
 *
 * Threads: as lab.h. */
#ifndef LAB_EDGE_H
#define LAB_EDGE_H

#include "lab/lab.h"

extern const struct lab edge_lab;

#endif
