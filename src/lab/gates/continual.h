/* continual.h - continual learning: tasks made of images, a learner that meets them, its measures.
 *
 * The ten classes of a set, in an order drawn from the stream, are five tasks of two. Of each class,
 * `train` images are drawn without replacement from one part of the set and `test` from the other;
 * a class with fewer images gives what it has. Pixels are 0 to 1.
 *
 * A learner sees the tasks one after the other. After each it classifies the test images of all
 * tasks so far without knowing the task (class-incremental). At the end it classifies them once
 * more with the task named and only that task's classes possible (task-incremental: NoRGa's Table 4).
 *
 *   S_(i,t) accuracy on task i after learning task t >= i,  A_t = 1/t sum_(i<=t) S_(i,t)
 *   FA = A_T,   CA = 1/T sum_t A_t,   FM = 1/(T-1) sum_(i<T) max_(t<T) (S_(i,t) - S_(i,T))
 *
 * S_(i,t) is not defined for t < i, so the maximum runs over i <= t < T. FM of one task is 0. Tasks
 * count from 0 here.
 *
 * Source: NoRGa (lab/gates/residual.h), Section 2 and Appendices E and F.
 * Errors: ERR_MEMORY. Ownership: continual_tasks_free. Threads: tasks are shared read-only once
 * made; the rest are pure functions. */
#ifndef LAB_CONTINUAL_H
#define LAB_CONTINUAL_H

#include "base/rng.h"
#include "lab/images.h"

#include <stdbool.h>

#define CONTINUAL_TASKS 5 /* of images, and at most of scores */

/* ---- tasks ---- */

struct continual_part {
    int n;
    float *pixels; /* (n, size), classes mixed */
    int *label;
};

struct continual_task {
    uint32_t classes; /* bit c: class c */
    struct continual_part train, test;
};

struct continual_tasks {
    int size; /* pixels of an image */
    struct continual_task task[CONTINUAL_TASKS];
};

struct continual_tasks *continual_tasks_new(const struct images *train,
                                            const struct images *test, int train_each,
                                            int test_each, struct rng *r, struct err *e);
void continual_tasks_free(struct continual_tasks *s);

/* `each` images of every class of the mask, mixed. */
int continual_draw(struct continual_part *out, const struct images *from,
                   uint32_t classes, int each, struct rng *r, struct err *e)
    __attribute__((warn_unused_result));
void continual_part_free(struct continual_part *p);

/* The n images of these places, and their labels: pixels (n, size), label (n). */
void continual_batch(float *pixels, int *label, const struct continual_part *p,
                     const int *place, int n, int size);

/* 0 .. n - 1 in random order. */
void continual_order(int *order, int n, struct rng *r);

/* ---- measures ---- */

struct continual_scores {
    int tasks;
    double s[CONTINUAL_TASKS][CONTINUAL_TASKS]; /* s[i][t] */
};

double continual_after(const struct continual_scores *c, int t); /* A_t */
double continual_fa(const struct continual_scores *c);
double continual_ca(const struct continual_scores *c);
double continual_fm(const struct continual_scores *c);

/* ---- a learner ---- */

struct continual_learner {
    void *self;
    /* Learns task t, which it sees only now. True: stop. */
    bool (*learn)(void *self, int t);
    /* The class of each of n images: one learned so far, or one of the task if task >= 0. */
    void (*classify)(void *self, int *label, const float *pixels, int n, int task);
};

struct continual_result {
    struct continual_scores blind; /* without knowing the task */
    double told[CONTINUAL_TASKS];  /* accuracy at the end with the task named */
};

/* Returns true if the learner stopped. */
bool continual_run(struct continual_result *out, const struct continual_tasks *s,
                   const struct continual_learner *l);

/* Mean of told. */
double continual_told(const struct continual_result *r);

/* Share of right answers on images of `size` pixels; task as for classify. */
double continual_accuracy(const struct continual_learner *l,
                          const struct continual_part *p, int size, int task);

#endif
