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
    {"reps", "N", "repetitions of the regression", LAB_INT, .value = 20, .quick = 3,
     .lo = 2, .hi = 10000},
    {"starts", "N", "starts of each fit, half of them near the truth", LAB_INT,
     .value = 4, .quick = 2, .lo = 1, .hi = 100},
    {"seeds", "N", "runs of each method on images and viewers", LAB_INT, .value = 5,
     .quick = 1, .lo = 1, .hi = 1000},
    {"images", "N", "images of a digit to learn from", LAB_INT, .value = 200, .quick = 80,
     .lo = 2, .hi = 6000},
    {"tests", "N", "images of a digit to be examined on", LAB_INT, .value = 100,
     .quick = 50, .lo = 1, .hi = 1000},
    {"epochs", "N", "epochs of each task", LAB_INT, .value = 10, .quick = 5, .lo = 1,
     .hi = HIDE_EPOCHS},
    {"pretrain-images", "N", "images of a class that the encoder is pre-trained on",
     LAB_INT, .value = 1000, .quick = 100, .lo = 1, .hi = 6000},
    {"pretrain-epochs", "N", "epochs of pre-training", LAB_INT, .value = 10, .quick = 5,
     .lo = 1, .hi = 1000},
    {"steps", "N", "steps of each kind of viewer that a learner gets", LAB_INT,
     .value = 100000, .quick = 4096, .lo = 2048, .hi = 1e8},
    {"sessions", "N", "sessions of each kind that it is examined on", LAB_INT,
     .value = 20, .quick = 4, .lo = 1, .hi = 10000},
    {0},
};

const struct lab gates_lab = {
    .name = "gates",
    .about = "new experts beside frozen ones, with linear and non-linear residual gates",
    .title = "Non-linear residual gates",
    .source = "Le et al., Mixture of Experts Meets Prompt-Based Continual Learning, "
              "NeurIPS 2024",
    .options = OPTIONS,
    .run = gates_run,
};
