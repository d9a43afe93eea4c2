/* merge_nodes.h - the bandit on several nodes that each see a share of the viewers.
 *
 *   one      all viewers on one node: one bandit (policy/tanbr.h) learns from all
 *   shared   N nodes with a bandit each; viewer i of a slot is on node i mod N. A bandit learns from its
 *            own slot when it ends, and from the same slot of the others one slot later, as what the
 *            daemon shares has arrived by then (serve/cluster/slot_log.h): tanbr_learn_at
 *   apart    the same nodes, each learns from its own slots alone
 *
 * World, mixes, rewards and trust are those of lab/merge/merge_sim.h. What is compared is the bandit: the mix
 * is estimated from all viewers in every arrangement (the daemon's nodes estimate their own). All
 * arrangements of a seed see the same viewers.
 *
 *   regret   sum over slots of the grid's best for the true mix, less the mean over nodes of what their
 *            weights are worth for it
 *
 * Errors: ERR_MEMORY, those of tanbr_new and tanbr_learn. Determinism: seed and configuration decide.
 * Threads: pure but for its output; what it reads is shared read-only. */
#ifndef LAB_MERGE_NODES_H
#define LAB_MERGE_NODES_H

#include "lab/merge/merge_sim.h"

#define MERGE_NODES_MAX 16

enum merge_nodes_how {
    MERGE_NODES_ONE,
    MERGE_NODES_SHARED,
    MERGE_NODES_APART,
    MERGE_NODES_HOWS
};

struct merge_nodes_cfg {
    struct merge_sim_cfg
        sim;   /* method: MERGE_TANBR, MERGE_TANBR_MISLED or MERGE_TANBR_BARE */
    int nodes; /* 1 .. MERGE_NODES_MAX */
    enum merge_nodes_how how;
};

extern const char *const merge_nodes_says[MERGE_NODES_HOWS];

int merge_nodes_run(double *regret, const struct merge_field *f,
                    const struct merge_nodes_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

#endif
