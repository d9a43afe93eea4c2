/* incremental.h - a learner meets the tasks one after the other, and is examined after each.
 *
 * After task t it is asked for the class of every test image of the tasks so far, without being told
 * the task (class-incremental: S of lab/gates/continual.h); at the end once more with the task named, when
 * only that task's classes can be answered (task-incremental: NoRGa's Table 4).
 *
 * Source: NoRGa (lab/gates/residual.h), Section 2 and Appendices E and F.
 * Threads: pure function of its learner. */
#ifndef LAB_INCREMENTAL_H
#define LAB_INCREMENTAL_H

#include "lab/gates/continual.h"
#include "lab/gates/splits.h"

#include <stdbool.h>

struct incremental_learner {
    void *self;
    /* Learns task t, which it sees only now. True: leave. */
    bool (*learn)(void *self, int t);
    /* The class of each of n images, one of those learned so far, or of task's when task >= 0. */
    void (*classify)(void *self, int *label, const float *pixels, int n, int task);
};

struct incremental {
    struct continual blind;    /* task not told */
    double told[SPLITS_TASKS]; /* accuracy at the end with the task told */
};

/* Returns true when the learner asked to leave. */
bool incremental_run(struct incremental *out, const struct splits *s,
                     const struct incremental_learner *l);

/* Mean accuracy at the end with the task told. */
double incremental_told(const struct incremental *i);

#endif
