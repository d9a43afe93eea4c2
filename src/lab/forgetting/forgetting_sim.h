/* forgetting_sim.h - one repetition of the mixture of experts in linear continual learning.
 *
 * A round: draw a task and its data, let the router pick an expert with noise, the expert learns
 * with the least change, then (unless terminated) the gate takes a step. After `settle` rounds an
 * expert within gamma of the chosen one is flagged; with `terminate` the gate stops for good when
 * every flag is up.
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", Algorithm 1 and the
 * synthetic experiment; task.h, router.h and recall.h hold its parts.
 * The series, one value per point of the grid of rounds:
 *   FORGOT, ERROR       F_t and G_t                           BOUND_F, BOUND_G  Theorem 1
 *   INSIDE, ACROSS      mean gate gaps in a set and between sets (Propositions 1, 2)
 *   MOVED               share of experts that changed their set since the last point (Prop. 1)
 *   TRAVEL              mean ||w_t - w_(last point)|| over experts (Prop. 1 says 0 after T1)
 *   LARGEST, SMALLEST   share of the experts in the largest and in the smallest expert set
 *   RUNNING             1 while the gate learns
 * An expert's set is the cluster of its specialty. Theorem 1 as printed: for t > T1, F_t =
 * (T1 - 1)/(t - 1) F_T1 and L frozen at T1 in G; A and B are those of the repetition's pool.
 *
 * Streams: pool, data and noise of repetition i depend on (seed, i) alone and are drawn apart, so
 * two configurations see the same pool and the same data (paired comparison).
 * Threads: pure function. */
#ifndef LAB_FORGETTING_SIM_H
#define LAB_FORGETTING_SIM_H

#include "lab/forgetting/router.h"

enum forgetting_series {
    FORGETTING_FORGOT,
    FORGETTING_ERROR,
    FORGETTING_BOUND_F,
    FORGETTING_BOUND_G,
    FORGETTING_INSIDE,
    FORGETTING_ACROSS,
    FORGETTING_MOVED,
    FORGETTING_TRAVEL,
    FORGETTING_LARGEST,
    FORGETTING_SMALLEST,
    FORGETTING_RUNNING,
    FORGETTING_SERIES,
};

struct forgetting_sim_cfg {
    struct task_cfg task;
    struct router_cfg router;
    bool terminate;
    int settle; /* T1: flags are raised in the rounds after it */
    int rounds; /* T */
};

/* The slides' setting with M experts: d 10, s 6, sigma0 .4, sigma_t .1, 6 tasks in 3 clusters,
 * v = 3 w, eta .5, alpha .5, noise .3, gamma = sigma0^1.25, T1 = ceil(M / eta), T 1000. */
struct forgetting_sim_cfg forgetting_sim_default(int experts, bool terminate);

struct forgetting_sim_end {
    int stopped;             /* round after which the gate stood still; 0: never */
    int set[RECALL_EXPERTS]; /* expert sets at the end, as clusters */
    int chosen[RECALL_EXPERTS]
              [TASK_POOL]; /* picks of m for a cluster, second half of the run */
};

/* out (FORGETTING_SERIES, points) by rows, at the rounds of `grid` (ascending, from 2 on). What is
 * not defined at a point (a gap without a pair) is NaN. pool NULL: one of the repetition's own. */
void forgetting_sim_run(double *out, struct forgetting_sim_end *end,
                        const struct forgetting_sim_cfg *c, const struct task_pool *pool,
                        const int *grid, int points, uint64_t seed, int repetition);

/* set (points, experts): the cluster of each expert's specialty at the points of the grid, in that
 * repetition. */
void forgetting_sim_sets(int *set, const struct forgetting_sim_cfg *c, const int *grid,
                         int points, uint64_t seed, int repetition);

/* How the picks of a cluster's tasks spread, means over the clusters that have experts:
 * home: share that went to the cluster's own set; even: exp(entropy of the shares inside the set)
 * / |set|, 1 when all are chosen equally often (Proposition 3). served: share of the clusters that
 * have an expert set at all. */
struct forgetting_sim_spread {
    double home, even, served;
};
struct forgetting_sim_spread forgetting_sim_spread(const struct forgetting_sim_end *end,
                                                   int experts, int clusters);

#endif
