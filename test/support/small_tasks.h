/* small_tasks.h - five tasks of two classes of 4 x 4 pixels, for learners of lab/gates. Included by each
 * test once: everything is static. Class c has ink in pixel c and in pixel (7 c + 3) mod 16. */
#ifndef TEST_SMALL_TASKS_H
#define TEST_SMALL_TASKS_H

#include "lab/gates/continual.h"
#include "lab/gates/encoder.h"

#include <check.h>

enum { SIDE = 4, SIZE = 16, TRAIN = 60, TEST = 20, PARAMS = 1024 };

struct small_tasks {
    struct continual_tasks s;
    float theta[PARAMS];
    struct continual_part all[2]; /* train, test: all tasks together */
    float pixels[2][CONTINUAL_TASKS * TRAIN * SIZE];
    int label[2][CONTINUAL_TASKS * TRAIN];
};

/* n images of task t. */
static inline void small_fill(float *pixels, int *label, int n, int t, struct rng *r)
{
    for (int i = 0; i < n; i++, pixels += SIZE) {
        int c = label[i] = 2 * t + i % 2;
        for (int k = 0; k < SIZE; k++)
            pixels[k] = (float)(0.1 * rng_normal(r));
        pixels[c] += 2;
        pixels[(7 * c + 3) % SIZE] += 2;
    }
}

/* theta: random weights of the encoder. */
static inline struct small_tasks *small_tasks(const struct encoder_cfg *encoder)
{
    static struct small_tasks w;
    struct rng r;
    rng_init(&r, 11, 1);
    ck_assert_uint_le(encoder_params(encoder), PARAMS);
    encoder_init(w.theta, encoder, &r);
    w.s.size = SIZE;
    for (int t = 0; t < CONTINUAL_TASKS; t++) {
        struct continual_part part[2];
        for (int k = 0; k < 2; k++) {
            int each = k ? TEST : TRAIN;
            part[k] = (struct continual_part){each, w.pixels[k] + t * each * SIZE,
                                              w.label[k] + t * each};
            small_fill(part[k].pixels, part[k].label, each, t, &r);
            w.all[k] =
                (struct continual_part){CONTINUAL_TASKS * each, w.pixels[k], w.label[k]};
        }
        w.s.task[t] = (struct continual_task){UINT32_C(3) << 2 * t, part[0], part[1]};
    }
    return &w;
}

#endif
