/* merge_priv.h - what merge.c (experiment), merge_sizes.c (many experts), merge_several.c (several nodes) and merge_report.c (what
 * is shown) share. */
#ifndef LAB_MERGE_PRIV_H
#define LAB_MERGE_PRIV_H

#include "lab/merge/merge_sim.h"
#include "lab/reps.h"

enum {
    MERGE_MIXES = 2, /* fixed, drifting */
    MERGE_LINE = 21, /* points of a line between two experts */
    MERGE_PAIRS = 6,
    MERGE_SIZES = 7,
    MERGE_RHOS = 4,
    MERGE_ETAS = 4,
    MERGE_STARTS = 3, /* of bandits on several nodes: prior, misleading prior, none */
};

extern const double merge_rho[MERGE_RHOS], merge_eta[MERGE_ETAS];
extern const int merge_experts[MERGE_SIZES];

/* Columns of an arm behind its curve. */
enum merge_column {
    MERGE_REGRET,      /* against the best weights of each slot's true mix, all slots */
    MERGE_REGRET_LATE, /* the same per slot over the last fifth */
    MERGE_FIXED,       /* against the best fixed weights in hindsight, all slots */
    MERGE_SHARE,       /* score over that of the best fixed weights, last fifth */
    MERGE_SLOPE,       /* of ln cumulative regret over ln t, last half */
    MERGE_LEAVES,
    MERGE_DEPTH,
    MERGE_LEFT,
    MERGE_ACCURACY, /* of the guesses, last fifth */
    MERGE_EQUAL,    /* share of choices that full and diagonal Z share */
    MERGE_APART,    /* how far apart they are, |x - x'|_1 / 2 */
    MERGE_LOST,     /* what the diagonal's are worth less */
    MERGE_WEIGHT,   /* + k: mean weight of expert k, last fifth */
    MERGE_COLUMNS = MERGE_WEIGHT + MERGE_TASKS
};

/* One method on one kind of mix: rows are seeds; cumulative regret at the grid's slots, then
 * the columns above. */
struct merge_arm {
    struct merge_sim_cfg cfg;
    int seeds;
    struct reps *reps; /* NULL when there are none */
};

struct merge_found {
    struct lab_task *task;
    struct merge_world *world;
    struct merge_grid *merged, *hinted, *plain;
    float *fisher, *regmean;          /* (sessions, V) */
    float *obs;                       /* (sessions, FEAT_FULL_DIM), for guesses */
    struct tanbr_prior prior, misled; /* values owned */
    int slots, seeds;
    int at[REPS_POINTS], points; /* slots of a curve */

    struct merge_arm arm[MERGE_MIXES][MERGE_METHODS];
    /* regret of bandits on several nodes: rows are seeds, columns enum merge_nodes_how */
    int nodes;
    struct reps *shared[MERGE_MIXES][MERGE_STARTS];
    struct merge_arm sweep[MERGE_RHOS][MERGE_ETAS]; /* drifting mix */
    double line[MERGE_PAIRS][MERGE_LINE][MERGE_TASKS];
    double
        interpolation; /* largest error of the grid's means at points that are not on it */
    double off;        /* its mean */
    int steps
        [2][MERGE_SIZES]; /* to 20 leaves: ours, the paper's settings; -1 = not reached */
};

/* Slots to 20 leaves for every number of experts: f->steps. */
int merge_sizes(struct merge_found *f, struct err *e);
struct merge_sim_cfg merge_configure(const struct merge_found *f, bool drift,
                                     enum merge_method m);
/* Bandits on several nodes: f->shared, and the table of it. */
int merge_several(struct merge_found *f, struct err *e);
void merge_several_report(struct merge_found *f);
void merge_report(struct merge_found *f);

#endif
