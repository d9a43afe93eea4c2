/* forgetting_images.h - one repetition of forgetting_sim.h with images and small networks.
 *
 * The same round as in the linear model: draw a task and its images, let the router pick an expert
 * with noise, the expert learns the round, the gate takes a step unless it was terminated.
 *
 * Source: Li et al., "Theory on Mixture-of-Experts in Continual Learning", real-data validation:
 * MNIST, N = 3, M in {1, 4, 7}, s = 100; digits.h says what a task, the gate's input and an expert
 * are. As there, sigma0 is measured on the inputs and sets the constants, each by the order that
 * Algorithm 1 gives:
 *   eta = alpha = sigma0^.5,  lambda = Gamma = sigma0^1.25,  T1 = ceil(M / eta)
 * Each repetition draws its own digits for the tasks, so its sigma0 is its own (about .036).
 *
 * The series, one value per point of the grid of rounds:
 *   FORGOT, ERROR    F_t and G_t of the share of test images named wrongly (tally.h)
 *   HOME             share of the rounds since the last point that went to an expert of the task's
 *                    set; NaN for M = 1
 *   SPECIAL          share of them whose task the chosen expert learned most often
 *   MOVED            mean ||w_t - w_(t-1)|| of the chosen expert over them
 *   INSIDE, ACROSS   mean gate gaps in a set and between sets, last round
 *   RUNNING          1 while the gate learns
 *
 * Streams: tasks, data and noise depend on (seed, repetition) alone and are drawn apart, so two
 * configurations meet the same digits and the same images.
 * Errors: ERR_MEMORY. Threads: pure function of the set. */
#ifndef LAB_FORGETTING_IMAGES_H
#define LAB_FORGETTING_IMAGES_H

#include "lab/forgetting/digits.h"
#include "lab/forgetting/router.h"

enum forgetting_images_series {
    FORGETTING_IMAGES_FORGOT,
    FORGETTING_IMAGES_ERROR,
    FORGETTING_IMAGES_HOME,
    FORGETTING_IMAGES_SPECIAL,
    FORGETTING_IMAGES_MOVED,
    FORGETTING_IMAGES_INSIDE,
    FORGETTING_IMAGES_ACROSS,
    FORGETTING_IMAGES_RUNNING,
    FORGETTING_IMAGES_SERIES,
};

struct forgetting_images_cfg {
    struct digits_cfg digits;
    int experts, rounds;
    bool terminate;
};

struct forgetting_images_end {
    double sigma0;
    int settle;  /* T1 */
    int stopped; /* round after which the gate stood still; 0: never */
};

/* The gate's constants for that sigma0. */
struct router_cfg forgetting_images_router(int experts, int pixels, double sigma0);

/* out (FORGETTING_IMAGES_SERIES, points) by rows, at the rounds of `grid` (ascending, from 2 on). */
int forgetting_images_run(double *out, struct forgetting_images_end *end,
                          const struct forgetting_images_cfg *c,
                          const struct digits_set *set, const int *grid, int points,
                          uint64_t seed, int repetition, struct err *e)
    __attribute__((warn_unused_result));

#endif
