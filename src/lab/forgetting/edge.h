/* edge.h - the lab `edge`: specialised experts among busy edge servers.
 *
 * Reproduces Li and Duan, "Theory on Mixture-of-Experts in Mobile Edge Computing": G_t over the
 * slots for M in {5, 10, 30, 60} with a gate that stops, a gate that does not, the nearest idle and the
 * most powerful idle server; Propositions 6 to 9 and Theorem 2 next to the measurement. Then MNIST,
 * N = 3, M in {5, 15, 30}.
 *
 * Checks, at 95 % or 4 standard errors:
 *   - with X isotropic and routing blind to tasks, G_T meets Proposition 9 with its second term times
 *     (1 - 1/L) (recall.h) for T = 300 and 3000, and at 300 misses the printed form
 *   - with experts enough (Proposition 6) the gate that stops beats the other three; on MNIST, too
 *   - more tasks find an idle expert of their set at M = 60 than at 10
 *   - more experts than needed delay convergence
 *
 * The arms and their drawing are those of experiment.h, which the lab `forgetting` shares. Without
 * MNIST the report and the terminal say what is missing, as there.
 *
 * Threads: as lab.h. */
#ifndef LAB_EDGE_H
#define LAB_EDGE_H

#include "lab/lab.h"

extern const struct lab edge_lab;

#endif
