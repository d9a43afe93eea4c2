/* tree.h - a binary partition tree over the weights that experts are merged with.
 *
 *   node (h, i)   a box lo <= x <= hi within [0, 1]^K; the root is all of it
 *   simplex       sum_k x_k = 1                                         (Eq. 1a)
 *   active        the box meets the simplex: sum lo <= 1 <= sum hi
 *   candidate     x = lo + s (hi - lo),  s = (1 - sum lo) / (sum hi - sum lo)
 *   expansion     a leaf visited P >= tau_h(t) times becomes two,       (Eq. 2)
 *                 tau_h(t) = C^2 ln(t / delta) / nu1^2 * rho^(-2h)
 *
 * Source: Han et al., Faster, Smaller, and Smarter: Task-Aware Expert Merging for Online MoE
 * Inference (Tanbr), Sec. IV-B.
 *
 * Open choices and differences:
 * - "Active": x_k moves freely between its bounds, so sum x takes every value between sum lo
 *   and sum hi; no linear programme is needed. A box that only touches the simplex is active.
 * - Candidate: the paper takes a feasible point of a linear programme. Here it is on the box's
 *   diagonal, inside the cell, and does not depend on a solver; the root's is uniform. The best
 *   weights often have zeros, which inner points reach only in the limit of depth. So in a cell that
 *   touches x_k = 0 and is narrow (hi_k <= border), the candidate has x_k = 0 and is on the diagonal
 *   of the other coordinates, if these can sum to 1.
 * - Side: TREE_RANDOM halves a side drawn at random, as the paper does; children that miss the
 *   simplex are kept, inactive, and never visited. TREE_LONGEST first trims the box to the
 *   smallest one around its intersection with the simplex,
 *     x_k in [max(lo_k, 1 - sum_{j!=k} hi_j), min(hi_k, 1 - sum_{j!=k} lo_j)],
 *   and halves its longest side (one drawn among equals): no child is inactive.
 * - With delta = 1 the threshold is 0 at t = 1. Only a visit expands a leaf, so the first visit
 *   halves the root.
 * - At most `keep` weights are not 0 (Eq. 1b, B): the largest are kept, the first among equals, and
 *   divided by their sum. That point may be outside the cell; this is reported and counted.
 *
 * Bounds: max_nodes nodes. A leaf without room, or with all sides below 2^-20, stays a leaf and is
 * counted. Nothing allocates after _new.
 *
 * Numbers: bounds are sums of powers of two and exact in double; x is float.
 * Errors: ERR_RANGE for a configuration outside the limits, ERR_MEMORY, ERR_CORRUPT for a state
 * that no tree of this configuration can have. Determinism: seed and visits decide.
 * Threads: not shared, one per thread. */
#ifndef POLICY_TREE_H
#define POLICY_TREE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TREE_DIM_MAX 256
#define TREE_NODES_MAX 8192

enum tree_split { TREE_LONGEST, TREE_RANDOM };

struct tree_cfg {
    int dim;       /* K, 1 .. TREE_DIM_MAX */
    int keep;      /* B, 1 .. K */
    int max_nodes; /* 1 .. TREE_NODES_MAX; leaves are at most (max_nodes + 1) / 2 */
    enum tree_split split;
    double border;             /* 0 .. 1; 0 = candidates lie inside their cells */
    double c, delta, nu1, rho; /* of Eq. 2; delta in (0, 1], rho in (0, 1) */
};

struct tree;

/* A leaf that may be chosen. */
struct tree_leaf {
    int node;  /* its number, also after it was halved */
    int depth; /* h */
    int64_t visits;
    const float *x; /* (dim) candidate, borrowed for the tree's life */
    bool left;      /* x is outside the cell, as only the largest weights are kept */
    bool active;    /* false: the box misses the simplex, and x is 0 */
};

struct tree_stats {
    int nodes, leaves, inactive; /* leaves: active ones */
    int depth;                   /* of the deepest active leaf */
    int left;                    /* active leaves whose candidate left its cell */
    int64_t refused;             /* due expansions without room */
};

/* K dimensions, all kept, 511 nodes, TREE_LONGEST, border .25, C .01, delta 1, nu1 .05, rho .7. */
struct tree_cfg tree_cfg_default(int dim);
int tree_cfg_check(const struct tree_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

struct tree *tree_new(const struct tree_cfg *cfg, uint64_t seed, struct err *e);
void tree_free(struct tree *t);

/* The number of active leaves, at least 1. Only visits change their order. */
int tree_leaves(const struct tree *t);
struct tree_leaf tree_leaf_at(const struct tree *t, int i); /* 0 .. leaves - 1 */
/* A node by its number, leaf or not. */
struct tree_leaf tree_node(const struct tree *t, int node);
int tree_nodes(const struct tree *t);
/* The first half of a node; the second follows. -1: a leaf. */
int tree_child(const struct tree *t, int node);

/* The leaf whose candidate is x (dim, of the simplex), else a leaf whose cell contains x. */
int tree_find(const struct tree *t, const float *x);

/* Eq. 2 for round t = 1, 2, ... */
double tree_threshold(const struct tree_cfg *cfg, int depth, int64_t t);

/* Counts a visit in round t, and expands the leaf if its visits are enough; true: expanded. A node
 * that is not a leaf only counts. */
bool tree_visit(struct tree *t, int node, int64_t round);

/* Does the box lo .. hi (dim) meet the simplex? Pure. */
bool tree_meets(const double *lo, const double *hi, int dim);
/* The box of a node. lo, hi (dim). */
void tree_box(double *lo, double *hi, const struct tree *t, int node);

struct tree_stats tree_stats(const struct tree *t);

/* Flat bytes, the same number for the same configuration. _put: 0, or ERR_CORRUPT, and then
 * the tree is a root without visits. */
size_t tree_state_size(const struct tree_cfg *cfg);
void tree_state_get(const struct tree *t, void *out);
int tree_state_put(struct tree *t, const void *in, struct err *e)
    __attribute__((warn_unused_result));

#endif
