/* experiment.h - the arms of the labs `forgetting` and `edge`: repeated over threads, measured, drawn.
 *
 * An arm is one configuration of mixture.h, repeated. Arms lie in a grid, as lab/claims.h has them: a row
 * is a rule, a column a number of experts. What differs between continual learning and edge computing,
 * and between linear tasks and images, is a struct setting.
 *
 * A struct claims_number names a series of mixture.h at the last point of the grid, or a value of
 * enum experiment_end. Own kinds are those of enum experiment_kind.
 *
 * Threads: as lab.h. */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include "lab/claims.h"
#include "lab/forgetting/mixture.h"
#include "lab/lab.h"
#include "lab/reps.h"

#define EXPERIMENT_SIZES 4 /* at most */
#define EXPERIMENT_ROWS 4

/* How a repetition ended. */
enum experiment_end {
    EXPERIMENT_G = MIXTURE_SERIES, /* after the last task */
    EXPERIMENT_OFF_PRINTED,        /* G minus Proposition 9 as printed */
    EXPERIMENT_OFF_EXACT,          /* G minus the corrected form */
    EXPERIMENT_FORM,               /* the corrected form itself */
    EXPERIMENT_STOPPED, /* round after which the gate stood still; NaN: never */
    EXPERIMENT_T1,
    EXPERIMENT_MET, /* struct mixture_spread: home, even, served */
    EXPERIMENT_EVEN,
    EXPERIMENT_SERVED,
    EXPERIMENT_QUEUED, /* share of tasks that waited */
    EXPERIMENT_WAIT,   /* mean slots in line */
    EXPERIMENT_DELAY,  /* mean d_t */
    EXPERIMENT_SIGMA0,
    EXPERIMENT_COLUMNS,
};

enum experiment_kind {
    EXPERIMENT_AT = CLAIMS_OWN, /* arm a's mean at the time number b of the setting */
    EXPERIMENT_GAP_ONE,         /* arm a minus the first size of its row */
    EXPERIMENT_GAP_T2,          /* arm a minus arm b at T2 of arm a */
    EXPERIMENT_ABOVE,           /* points at which arm a's series is above its series b */
    EXPERIMENT_POINTS,          /* points of the grid */
};

struct experiment_row {
    const char *name;
    enum mixture_rule rule;
    bool common_names; /* images: all tasks use the same names for their digits */
};

struct experiment;

struct setting {
    bool edge, images;
    const char *note;              /* before the names of arms and checks */
    const char *reps, *rounds;     /* names of the options */
    int first;                     /* of the grid */
    double from, to;               /* share of the lab's progress */
    int experts[EXPERIMENT_SIZES]; /* M */
    int sizes, rows;
    const struct experiment_row *row;
    /* Which arms run; NULL: all. One expert has no gate to stop, so it runs in the first row alone. */
    bool (*wanted)(const struct lab_task *t, int row, int size);
    int (*when)(const struct mixture_cfg *c, int number); /* times of EXPERIMENT_AT */
    void (*mark)(const void *self, int mark, int size);   /* self: struct experiment */
    int (*draw)(const struct experiment *x, const struct claims_lab *l, struct err *e);
};

struct experiment_arm {
    struct mixture_cfg cfg;
    struct reps *reps; /* series * points columns, then the ends; NULL: not run */
    int points, series;
};

struct experiment {
    const struct setting *setting;
    struct lab_task *task;
    int reps, points, grid[REPS_POINTS];
    struct experiment_arm arm[EXPERIMENT_ROWS * EXPERIMENT_SIZES];
};

/* Runs the wanted arms and draws them. Without the images it says so and returns 0. */
int experiment_run(const struct setting *s, struct lab_task *t, struct err *e)
    __attribute__((warn_unused_result));

/* Repetitions of one arm over the task's threads, into arm->reps, which it makes: `series` series on the
 * grid, and the ends. pool NULL: each repetition has its own. */
int experiment_repeat(struct experiment_arm *arm, const struct task_pool *pool, int reps,
                      const int *grid, int points, int series, const struct lab_task *t,
                      struct err *e) __attribute__((warn_unused_result));

/* The column of a series at a point, or of an end (point is not used). */
int experiment_column(const struct experiment_arm *arm, int column, int point);

#endif
