#include "lab/gates/finetune.h"

#include "lab/gates/block.h"
#include "lab/gates/softhead.h"
#include "nn/adam.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = IMAGES_CLASSES, EXAM = 128 };

struct finetune {
    struct finetune_cfg c;
    const struct continual_tasks *s;
    struct rng rng;
    const struct lab_tick *tick;
    struct encoder *encoder;
    struct softhead *head;
    uint32_t seen;
    int64_t t; /* steps */
    size_t n;  /* parameters */
    float *theta, *m, *v, *grad;
    float *pixels, *x, *dx; /* of a batch */
    int *order;
    float block[];
};

static size_t finetune_cut(struct finetune *f, int rows, float *block)
{
    size_t n = f->n, side = (size_t)f->c.encoder.side, most = (size_t)rows;
    size_t wide = most * (size_t)f->c.encoder.dim;
    const struct block_part part[] = {{&f->theta, n},
                                      {&f->m, n},
                                      {&f->v, n},
                                      {&f->grad, n},
                                      {&f->x, wide},
                                      {&f->dx, wide},
                                      {&f->pixels, most * side * side}};
    return block_cut(block, part, 7);
}

/* Room for `images` images of a task. */
static struct finetune *finetune_make(const struct finetune_cfg *c, const float *theta,
                                      int images, struct rng r, struct err *e)
{
    assert(c->batch >= 1 && c->batch <= FINETUNE_BATCH);
    int most = c->batch > EXAM ? c->batch : EXAM;
    struct finetune want = {.c = *c, .rng = r, .n = encoder_params(&c->encoder)};
    size_t floats = finetune_cut(&want, most, NULL);
    struct finetune *f =
        calloc(1, sizeof *f + floats * sizeof(float) + (size_t)images * sizeof(int));
    if (!f) {
        err_set(e, ERR_MEMORY, "no memory for an encoder in training");
        return NULL;
    }
    *f = want;
    finetune_cut(f, most, f->block);
    f->order = (int *)(f->block + floats);
    memcpy(f->theta, theta, f->n * sizeof *theta);
    f->encoder = encoder_new(&c->encoder, most, 0, e);
    f->head = softhead_new(c->encoder.dim, CLASSES, most, e);
    if (f->encoder && f->head) return f;
    finetune_free(f);
    return NULL;
}

struct finetune *finetune_new(const struct finetune_cfg *c, const float *theta,
                              const struct continual_tasks *s, struct rng r,
                              const struct lab_tick *tick, struct err *e)
{
    int images = 0;
    for (int t = 0; t < CONTINUAL_TASKS; t++)
        if (s->task[t].train.n > images) images = s->task[t].train.n;
    struct finetune *f = finetune_make(c, theta, images, r, e);
    if (!f) return NULL;
    f->s = s;
    f->tick = tick;
    return f;
}

void finetune_free(struct finetune *f)
{
    if (!f) return;
    encoder_free(f->encoder);
    softhead_free(f->head);
    free(f);
}

static void learn_batch(struct finetune *f, const struct continual_part *p,
                        const int *order, int n, double lr)
{
    int label[FINETUNE_BATCH];
    continual_batch(f->pixels, label, p, order, n, f->c.encoder.side * f->c.encoder.side);
    encoder_forward(f->encoder, f->x, f->theta, f->pixels, n, NULL);
    softhead_learn(f->head, f->dx, f->x, label, f->seen, n, lr);
    encoder_backward(f->encoder, &(struct encoder_grad){.theta = f->grad}, f->dx);
    struct adam_cfg c = adam_cfg_default();
    c.lr = lr;
    adam_step(f->theta, f->m, f->v, f->grad, f->n, &c, ++f->t, 1);
}

static void epoch(struct finetune *f, const struct continual_part *p, double lr)
{
    continual_order(f->order, p->n, &f->rng);
    for (int at = 0; at < p->n; at += f->c.batch) {
        int n = p->n - at < f->c.batch ? p->n - at : f->c.batch;
        learn_batch(f, p, f->order + at, n, lr);
    }
}

static bool finetune_learn(void *self, int t)
{
    struct finetune *f = self;
    f->seen |= f->s->task[t].classes;
    for (int k = 0; k < f->c.epochs; k++) {
        if (lab_tick(f->tick, (t + (double)k / f->c.epochs) / CONTINUAL_TASKS))
            return true;
        epoch(f, &f->s->task[t].train, f->c.lr);
    }
    return false;
}

static void classify(void *self, int *label, const float *pixels, int n, int task)
{
    struct finetune *f = self;
    encoder_forward(f->encoder, f->x, f->theta, pixels, n, NULL);
    softhead_classify(f->head, label, f->x, task < 0 ? f->seen : f->s->task[task].classes,
                      n);
}

struct continual_learner finetune_learner(struct finetune *f)
{
    return (struct continual_learner){f, finetune_learn, classify};
}

int finetune_pretrain(float *theta, double *accuracy, const struct finetune_cfg *c,
                      const struct continual_part *train,
                      const struct continual_part *test, struct rng r,
                      const struct lab_tick *tick, struct err *e)
{
    struct finetune *f = finetune_make(c, theta, train->n, r, e);
    if (!f) return ERR_MEMORY;
    int rc = 0;
    f->seen = (UINT32_C(1) << CLASSES) - 1;
    for (int k = 0; k < c->epochs && !rc; k++) {
        double part = (double)k / c->epochs;
        rc = lab_tick(tick, part);
        if (!rc) epoch(f, train, c->lr * .5 * (1 + cos(3.14159265358979 * part)));
    }
    if (!rc) {
        memcpy(theta, f->theta, f->n * sizeof *theta);
        struct continual_learner l = finetune_learner(f);
        *accuracy = continual_accuracy(&l, test, c->encoder.side * c->encoder.side, -1);
    }
    finetune_free(f);
    return rc;
}
