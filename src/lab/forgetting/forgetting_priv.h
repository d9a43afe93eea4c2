/* forgetting_priv.h - what the sources of the lab `forgetting` share. */
#ifndef LAB_FORGETTING_PRIV_H
#define LAB_FORGETTING_PRIV_H

#include "lab/forgetting/forgetting_sim.h"
#include "lab/lab.h"
#include "lab/reps.h"

enum { FORGETTING_SIZES = 4, FORGETTING_ENDS = 4 };

/* how a repetition ended, beside its series */
enum forgetting_column {
    FORGETTING_STOPPED, /* round, NaN: never */
    FORGETTING_HOME,
    FORGETTING_EVEN,
    FORGETTING_SERVED,
};

struct forgetting_arm {
    struct forgetting_sim_cfg cfg;
    struct reps *series; /* FORGETTING_SERIES * points columns */
    struct reps *end;    /* FORGETTING_ENDS columns */
};

struct forgetting_plan {
    struct lab_task *task;
    int reps, points, grid[REPS_POINTS];
    struct forgetting_arm stop[FORGETTING_SIZES], on[FORGETTING_SIZES];
};

/* Repetitions of one arm over the task's threads, into arm->series and arm->end, which it makes.
 * pool NULL: each repetition has its own. */
int forgetting_repeat(struct forgetting_arm *arm, const struct task_pool *pool, int reps,
                      const int *grid, int points, const struct lab_task *t,
                      struct err *e);
void forgetting_drop(struct forgetting_arm *arm);

/* forgetting_exact.c: one expert against its expectations */
int forgetting_exact(struct lab_task *t, struct err *e);

/* forgetting_mnist.c: the mixtures again on real images; says so when they are not there */
int forgetting_mnist(struct lab_task *t, struct err *e);

/* forgetting_draw.c: figures, tables and checks of the mixtures */
void forgetting_draw(const struct forgetting_plan *p);

#endif
