/* finetune.h - the encoder and one output layer, all of them trained on task after task.
 *
 * The baseline of continual learning: cross entropy over all classes seen so far, by Adam, on the data
 * of the current task alone.
 *
 * finetune_pretrain does the same on one part of images of any classes and gives the encoder its weights
 * before the first task. Its rate falls to 0 along half a cosine.
 *
 * Errors: _new and _pretrain ERR_MEMORY. Ownership: splits are borrowed, theta is copied.
 * Threads: not shared. */
#ifndef LAB_FINETUNE_H
#define LAB_FINETUNE_H

#include "lab/gates/encoder.h"
#include "lab/gates/continual.h"

#define FINETUNE_BATCH 256 /* at most */

struct finetune_cfg {
    struct encoder_cfg encoder;
    int epochs, batch;
    double lr;
};

struct finetune;

/* tick borrowed; its share is of all tasks; may be NULL. */
struct finetune *finetune_new(const struct finetune_cfg *c, const float *theta,
                              const struct continual_tasks *s, struct rng r,
                              const struct lab_tick *tick, struct err *e);
void finetune_free(struct finetune *f);

struct continual_learner finetune_learner(struct finetune *f);

/* Trains theta on `train`; *accuracy is that on `test` at the end. Returns 0, 1 (tick stopped it) or
 * ERR_MEMORY. */
int finetune_pretrain(float *theta, double *accuracy, const struct finetune_cfg *c,
                      const struct continual_part *train,
                      const struct continual_part *test, struct rng r,
                      const struct lab_tick *tick, struct err *e)
    __attribute__((warn_unused_result));

#endif
