/* edge_images.h - one repetition of edge_sim.h with images and small networks.
 *
 * The same edge servers, delays, rules and line as there (servers.h); a task is one of N kinds, its
 * data are a round of images and an expert is a small network (digits.h). Every kind has names of its
 * own, so that no single network can serve all.
 *
 * Source: Li and Duan, "Theory on Mixture-of-Experts in Mobile Edge Computing", experiments on
 * MNIST: "the dynamics of overall generalization errors under our Algorithm 1 and the existing MEC
 * offloading strategies, using DNNs". Nothing else is said there; so N = 3, s = 100 and the gate's
 * input as in the continual-learning part, alpha = 0 as in the edge part (Definition 2), eta =
 * sigma0^.5, the noise Unif[0, sigma0^2], and T1, T2, M_th of edge_sim.h for N = 3.
 *
 * The series, one value per slot of the grid; tasks count when completed:
 *   ERROR            G_t of the share of test images named wrongly
 *   READY, HOME      share of the tasks routed since the last point that found an idle expert of
 *                    their set, and that went to one; of the two gates only, else NaN
 *   SPECIAL          share of them whose kind the chosen expert has learned most often
 *   MOVED            mean ||w_t - w_(t-1)|| of the rounds learned since the last point
 *   INSIDE, ACROSS   gate gaps of the last routed task
 *
 * Streams: kinds, servers and each task depend on (seed, repetition) and the task's number alone, so
 * every rule meets the same tasks. Errors: ERR_MEMORY. Threads: pure function of the set. */
#ifndef LAB_EDGE_IMAGES_H
#define LAB_EDGE_IMAGES_H

#include "lab/forgetting/digits.h"
#include "lab/forgetting/edge_sim.h"

enum edge_images_series {
    EDGE_IMAGES_ERROR,
    EDGE_IMAGES_READY,
    EDGE_IMAGES_HOME,
    EDGE_IMAGES_SPECIAL,
    EDGE_IMAGES_MOVED,
    EDGE_IMAGES_INSIDE,
    EDGE_IMAGES_ACROSS,
    EDGE_IMAGES_SERIES,
};

struct edge_images_cfg {
    struct digits_cfg digits;
    int experts, slots; /* M, T */
    enum edge_rule rule;
};

/* T1, T2, M_th and the number of experts of Proposition 6 are those of edge_sim_* for this. */
struct edge_sim_cfg edge_images_theory(const struct edge_images_cfg *c);

struct edge_images_end {
    double error; /* G after the last task */
    double sigma0;
    int waited;   /* tasks that found no idle expert */
    double wait;  /* slots in line, mean over all tasks */
    double delay; /* d_t, mean over all tasks */
};

/* out (EDGE_IMAGES_SERIES, points) by rows at the slots of `grid` (ascending). */
int edge_images_run(double *out, struct edge_images_end *end,
                    const struct edge_images_cfg *c, const struct digits_set *set,
                    const int *grid, int points, uint64_t seed, int repetition,
                    struct err *e) __attribute__((warn_unused_result));

#endif
