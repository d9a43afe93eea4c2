#include "lab/gates.h"

#include "gates_priv.h"

static int run(struct lab_task *t, struct err *e)
{
    return gates_rates(t, e);
}

static const struct lab_option OPTIONS[] = {
    {"reps", "N", "repetitions of the regression", LAB_INT, .value = 40, .quick = 3,
     .lo = 2, .hi = 10000},
    {"starts", "N", "starts of each fit, half of them near the truth", LAB_INT,
     .value = 6, .quick = 2, .lo = 1, .hi = 100},
    {0},
};

const struct lab gates_lab = {
    .name = "gates",
    .about = "new experts beside frozen ones, with linear and non-linear residual gates",
    .title = "Non-linear residual gates",
    .source = "Le et al., Mixture of Experts Meets Prompt-Based Continual Learning, "
              "NeurIPS 2024",
    .options = OPTIONS,
    .run = run,
};
