/* gates_priv.h - what the sources of the lab `gates` share. */
#ifndef LAB_GATES_PRIV_H
#define LAB_GATES_PRIV_H

#include "lab/gates/hide.h"
#include "lab/lab.h"
#include "lab/reps.h"

/* gates_rates.c: the regression of Section 4.2 and Appendix A */
int gates_rates(struct lab_task *t, struct err *e);

/* gates_split.c: measures that no sample tells from the truth (Appendix A's sequence) */
void gates_split(struct report *r);

/* gates_images.c: class-incremental learning on images; left out, with words, without them */
int gates_images(struct lab_task *t, struct err *e);

/* gates_profiles.c: viewers of new kinds, on a policy that was there before */
int gates_profiles(struct lab_task *t, struct err *e);

/* ---- of gates_images.c and gates_images_draw.c */

enum gates_method { GATES_FINETUNE, GATES_FROZEN, GATES_PREFIX };

struct gates_arm {
    const char *name;       /* in tables and figures */
    const char *short_name; /* in file names */
    enum gates_method method;
    enum residual_kind gate; /* of GATES_PREFIX, as what follows */
    bool alpha, tau;         /* learned, or 1 */
    bool contrast;
    bool quick; /* part of --quick */
};

enum gates_column {
    GATES_FA,
    GATES_CA,
    GATES_FM,
    GATES_TOLD,     /* accuracy with the task told */
    GATES_INFERRED, /* share of images whose task was inferred */
    GATES_ALPHA,    /* of the first block, at the end */
    GATES_TAU,
    GATES_AFTER,                                /* A_1 .. A_T */
    GATES_LOSS = GATES_AFTER + CONTINUAL_TASKS, /* of the first task, epochs + 1 */
    GATES_COLUMNS = GATES_LOSS + HIDE_EPOCHS + 1,
};

#define GATES_ARMS 16 /* at most */

struct gates_images {
    struct lab_task *task;
    int seeds, epochs, arms;
    const struct gates_arm *arm[GATES_ARMS];
    struct reps *reps[GATES_ARMS]; /* one row per seed, GATES_COLUMNS */
    struct encoder_cfg encoder;
    double pretrained; /* accuracy on the test images of what it was pre-trained on */
};

void gates_images_draw(const struct gates_images *p);

#endif
