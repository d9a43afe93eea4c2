#include "lab/merge/merge_bounds.h"

#include "policy/tree.h"

#include <math.h>

/* The leaf that the order visits next. */
static int bounds_next(const struct tree *t, enum merge_bounds_order order, int round)
{
    int n = tree_leaves(t);
    if (order == MERGE_IN_TURN) return tree_leaf_at(t, round % n).node;
    struct tree_leaf deepest = tree_leaf_at(t, 0);
    for (int i = 1; i < n; i++) {
        struct tree_leaf leaf = tree_leaf_at(t, i);
        if (leaf.depth > deepest.depth) deepest = leaf;
    }
    return deepest.node;
}

int merge_bounds_grow(struct merge_bounds *out, int dim, double rho, double c, int rounds,
                      enum merge_bounds_order order, struct err *e)
{
    struct tree_cfg cfg = tree_cfg_default(dim);
    cfg.split = TREE_RANDOM;
    cfg.border = 0;
    cfg.c = c;
    cfg.nu1 = cfg.delta = 1;
    cfg.rho = rho;
    cfg.max_nodes = TREE_NODES_MAX;
    struct tree *t = tree_new(&cfg, 1, e);
    if (!t) return e->code;
    for (int round = 1; round <= rounds; round++)
        (void)tree_visit(t, bounds_next(t, order, round), round);

    double x = rounds / (c * c * log(rounds));
    struct tree_stats s = tree_stats(t);
    *out = (struct merge_bounds){.depth = s.depth,
                                 .leaves = s.leaves,
                                 .depth_bound = log(x) / (1 - rho),
                                 .leaves_bound = pow(2, 1 / (1 - rho)) * x};
    tree_free(t);
    return 0;
}

struct merge_cost merge_cost(const struct mix_cfg *actor, int active)
{
    double expert = (double)mix_expert(actor, 0).n, router = (double)mix_router(actor).n;
    double held = active ? router + expert * actor->experts : expert;
    return (struct merge_cost){.products = active ? router + active * expert : expert,
                               .bytes = held * sizeof(float)};
}
