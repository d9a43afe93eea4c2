/* mpc_brute.h - RobustMPC's plan by trying all of them (abr/deciders/mpc.h), and states to try it on.
 */
#ifndef TEST_MPC_BRUTE_H
#define TEST_MPC_BRUTE_H

#include "abr/deciders/mpc.h"
#include "base/rng.h"

struct mpc_brute {
    int level;    /* first level of the first of the best plans */
    double value; /* of it, in the rounded units of mpc.h */
    double
        best; /* highest sum of rewards, nothing rounded, over the sum of the weights */
};

struct mpc_brute mpc_brute(const struct mpc_task *t);

/* A state: ladder, link, sizes, buffer, last level, weights (a sixth of them 0) and any
 * utility. In a quarter of them whole seconds, so that plans are exactly equal. */
struct mpc_task mpc_brute_task(struct rng *r, int levels, int horizon);

#endif
