/* merge_priv.h - what merge.c (the experiment) and merge_report.c (its report) share. */
#ifndef LAB_MERGE_PRIV_H
#define LAB_MERGE_PRIV_H

#include "lab/merge/merge_bounds.h"
#include "lab/merge/merge_sim.h"
#include "lab/reps.h"

enum {
    MERGE_MIXES = 2, /* fixed, drifting */
    MERGE_LINE = 21, /* points of a line between two experts */
    MERGE_PAIRS = 6,
    MERGE_SIZES = 7,
    MERGE_RHOS = 4,
    MERGE_BOUND_RHOS = 4,
    MERGE_BOUND_ROUNDS = 3,
    MERGE_ETAS = 4,
    MERGE_STARTS = 3, /* of bandits on several nodes: prior, misleading prior, none */
    /* every method on both mixes, then Tanbr with each rho and eta on the drifting mix */
    MERGE_SWEEP = MERGE_MIXES * MERGE_METHODS,
    MERGE_ARMS = MERGE_SWEEP + MERGE_RHOS * MERGE_ETAS,
};

extern const double merge_rho[MERGE_RHOS], merge_eta[MERGE_ETAS];
extern const int merge_experts[MERGE_SIZES];
extern const int merge_bound_rounds[MERGE_BOUND_ROUNDS];
extern const enum merge_method merge_start[MERGE_STARTS];

/* Columns of an arm, one row per seed. From MERGE_CURVE on: cumulative regret at the grid's slots. */
enum merge_column {
    MERGE_REGRET,      /* against the best weights of each slot's true mix, all slots */
    MERGE_REGRET_LATE, /* the same per slot over the last fifth */
    MERGE_FIXED,       /* against the best fixed weights in hindsight, all slots */
    MERGE_SHARE,       /* score over that of the best fixed weights, last fifth */
    MERGE_SLOPE,       /* of ln cumulative regret over ln t, last half */
    MERGE_LEAVES,
    MERGE_DEPTH,
    MERGE_ACCURACY, /* of the guesses, last fifth */
    MERGE_EQUAL,    /* share of choices that full and diagonal Z share */
    MERGE_APART,    /* how far apart they are, |x - x'|_1 / 2 */
    MERGE_LOST,     /* what the diagonal's are worth less */
    MERGE_CURVE
};

struct merge_found {
    struct lab_task *task;
    struct merge_world *world;
    struct merge_grid *merged, *hinted, *plain;
    float *fisher, *regmean; /* (sessions, V) */
    float *obs;              /* (sessions, FEAT_FULL_DIM), for guesses */
    struct merge_field field;
    int slots, seeds, nodes;
    int full;                    /* seeds of MERGE_TANBR_FULL; 0: none */
    int at[REPS_POINTS], points; /* slots of a curve */

    struct reps *arm[MERGE_ARMS]; /* NULL: did not run */
    /* regret of bandits on several nodes: rows are seeds, columns enum merge_nodes_how */
    struct reps *shared[MERGE_MIXES][MERGE_STARTS];
    double line[MERGE_PAIRS][MERGE_LINE][MERGE_TASKS];
    double off; /* mean error of the grid's means at points that are not on it */
    struct merge_bounds bounds[MERGE_BOUND_RHOS][MERGE_BOUND_ROUNDS][2]; /* by order */
    struct mix_cfg actor; /* of the policy whose experts are merged */
    int steps
        [2][MERGE_SIZES]; /* to 20 leaves: ours, the paper's settings; -1 = not reached */
};

static inline int merge_arm(int mix, enum merge_method m)
{
    return mix * MERGE_METHODS + (int)m;
}

void merge_report(const struct merge_found *f);

#endif
