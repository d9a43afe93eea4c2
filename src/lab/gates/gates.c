#include "lab/gates/gates.h"

#include "gates_priv.h"

#include "lab/gates/hide.h"

static int gates_run(struct lab_task *t, struct err *e)
{
    int rc = gates_rates(t, e);
    if (!rc) rc = gates_images(t, e);
    if (!rc) rc = gates_profiles(t, e);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    LAB_NUMBER(LAB_INT, "reps", "N", 20, 3, 2, 10000, "repetitions of the regression"),
    LAB_NUMBER(LAB_INT, "starts", "N", 4, 2, 1, 100,
               "starts of each fit, half of them near the truth"),
    LAB_NUMBER(LAB_INT, "seeds", "N", 5, 1, 1, 1000,
               "runs of each method on images and viewers"),
    LAB_NUMBER(LAB_INT, "images", "N", 200, 80, 2, 6000, "training images of each digit"),
    LAB_NUMBER(LAB_INT, "tests", "N", 100, 50, 1, 1000, "test images of each digit"),
    LAB_NUMBER(LAB_INT, "epochs", "N", 10, 5, 1, HIDE_EPOCHS, "epochs of each task"),
    LAB_NUMBER(LAB_INT, "pretrain-images", "N", 1000, 100, 1, 6000,
               "images of each class in pre-training"),
    LAB_NUMBER(LAB_INT, "pretrain-epochs", "N", 10, 5, 1, 1000, "epochs of pre-training"),
    LAB_NUMBER(LAB_INT, "steps", "N", 100000, 4096, 2048, 1e8,
               "training steps for each kind of viewer"),
    LAB_NUMBER(LAB_INT, "sessions", "N", 20, 4, 1, 10000,
               "test sessions of each kind of viewer"),
    {0},
};

const struct lab gates_lab = {
    .name = "gates",
    .about = "new experts next to frozen ones, with linear and non-linear residual gates",
    .title = "Non-linear residual gates",
    .source = "Le et al., Mixture of Experts Meets Prompt-Based Continual Learning, "
              "NeurIPS 2024",
    .options = OPTIONS,
    .run = gates_run,
};
