/* merge_bounds.h - Tanbr's Lemmas 1 and 2 on trees that are grown to hurt them, and what a decision
 * costs.
 *
 *   Lemma 1   N_t <= 2^(1 / (1 - rho)) T nu1^2 / (C^2 ln(T / delta))
 *   Lemma 2   H(t) <= 1 / (1 - rho) ln(T nu1^2 / (C^2 ln(T / delta)))
 *
 * A tree may be visited in any order, so the lemmas must hold for the order that is worst for them:
 * always a deepest leaf (depth), each leaf in turn (leaves). The proof of Lemma 2 bounds the depth of
 * nodes that are halved; their children are one deeper.
 *
 * merge_bounds_grow visits T times with Eq. 2 as printed and returns depth and leaves. The bound is the
 * lemma's for that T; it is -INFINITY or less where the logarithm's argument is below 1.
 *
 * Costs are counted, not timed (a lab reads no clock): products per decision of the actor, and bytes of
 * weights that a node has to hold. make bench BENCH_ONLY=merge times the same.
 *
 * Threads: pure functions. */
#ifndef LAB_MERGE_BOUNDS_H
#define LAB_MERGE_BOUNDS_H

#include "policy/policy.h"

enum merge_bounds_order { MERGE_DEEPEST, MERGE_IN_TURN };

struct merge_bounds {
    int depth, leaves;
    double depth_bound, leaves_bound; /* Lemmas 2 and 1 */
};

/* nu1 1, delta 1 and the simplex of `dim` experts, as in the paper's Sec. V. */
int merge_bounds_grow(struct merge_bounds *out, int dim, double rho, double c, int rounds,
                      enum merge_bounds_order order, struct err *e)
    __attribute__((warn_unused_result));

struct merge_cost {
    double products; /* per decision */
    double bytes;    /* of weights that are loaded */
};

/* A router that chooses `active` of the experts; active 0: one merged expert, without a router. */
struct merge_cost merge_cost(const struct mix_cfg *actor, int active);

#endif
