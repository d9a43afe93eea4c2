/* edge_priv.h - what the sources of the lab `edge` share. */
#ifndef LAB_EDGE_PRIV_H
#define LAB_EDGE_PRIV_H

#include "lab/forgetting/edge_sim.h"
#include "lab/lab.h"
#include "lab/reps.h"

enum { EDGE_SIZES = 4, EDGE_RULES = 4 };

/* how a repetition ended, beside its series */
enum edge_column {
    EDGE_LAST,         /* G after the last task */
    EDGE_LAST_PRINTED, /* G minus Proposition 9 as printed */
    EDGE_LAST_EXACT,   /* G minus the corrected form */
    EDGE_LAST_FORM,    /* the corrected form itself */
    EDGE_QUEUED,       /* share of tasks that waited */
    EDGE_WAIT,         /* mean slots in line */
    EDGE_DELAY,        /* mean d_t */
    EDGE_ENDS,
};

struct edge_arm {
    struct edge_sim_cfg cfg;
    struct reps *series; /* EDGE_SERIES * points columns; NULL when points is 0 */
    struct reps *end;    /* EDGE_ENDS columns */
};

struct edge_plan {
    struct lab_task *task;
    int reps, points, grid[REPS_POINTS];
    struct edge_arm arm[EDGE_RULES][EDGE_SIZES];
};

/* Repetitions of one arm over the task's threads, into arm->series and arm->end, which it makes.
 * pool NULL: each repetition has its own. */
int edge_repeat(struct edge_arm *arm, const struct task_pool *pool, int reps,
                const int *grid, int points, const struct lab_task *t, struct err *e);
void edge_drop(struct edge_arm *arm);

/* edge_exact.c: Proposition 9 */
int edge_exact(struct lab_task *t, struct err *e);

/* edge_mnist.c: the rules again on real images; says so when they are not there */
int edge_mnist(struct lab_task *t, struct err *e);

/* edge_draw.c: figures, tables and checks of the rules */
void edge_draw(const struct edge_plan *p);

#endif
