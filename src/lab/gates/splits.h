/* splits.h - labelled images as a sequence of tasks with classes of their own.
 *
 * The ten classes in an order drawn from the stream, two by two (tasks = 5); of each class `train`
 * images drawn without replacement from one part of a set and `test` from the other. Class-incremental
 * learning in the sense of NoRGa (lab/gates/residual.h), Section 2. Pixels are 0 to 1.
 *
 * A class with fewer images gives what it has.
 *
 * Errors: ERR_MEMORY. Ownership: splits_free. Threads: shared read-only once made. */
#ifndef LAB_SPLITS_H
#define LAB_SPLITS_H

#include "base/rng.h"
#include "lab/images.h"

#define SPLITS_TASKS 5

struct splits_part {
    int n;
    float *pixels; /* (n, size), classes mixed */
    int *label;
};

struct splits_task {
    uint32_t classes; /* bit c: class c */
    struct splits_part train, test;
};

struct splits {
    int size; /* pixels of an image */
    struct splits_task task[SPLITS_TASKS];
};

struct splits *splits_new(const struct images *train, const struct images *test,
                          int train_each, int test_each, struct rng *r, struct err *e);
void splits_free(struct splits *s);

/* `each` images of every class of the mask, mixed. */
int splits_draw(struct splits_part *out, const struct images *from, uint32_t classes,
                int each, struct rng *r, struct err *e)
    __attribute__((warn_unused_result));
void splits_part_free(struct splits_part *p);

/* 0 .. n - 1 in random order. */
void splits_order(int *order, int n, struct rng *r);

#endif
