/* shift_plan.h - which runs the experiment has, in the order in which they are done.
 *
 * A set is one arm over all seeds; its runs follow each other. First comes preset paper without hints,
 * then its noise sweep (pamoe) and what is shown once: the dense mixture over probabilities, the
 * plasticity noise on the critic as well, and the weight decay of the authors' code, which the paper
 * does not have. Then preset code, the hints, and tuned.
 *
 * Ownership: the plan owns all it points to; the strings of the request are borrowed. */
#ifndef LAB_SHIFT_PLAN_H
#define LAB_SHIFT_PLAN_H

#include "lab/shift/shift_run.h"

#define SHIFT_SEEDS 64

/* Where a set belongs in the report. */
enum shift_role {
    SHIFT_MAIN,  /* a variant of a preset */
    SHIFT_NOISE, /* of the noise sweep */
    SHIFT_ONCE,  /* shown once, next to the main ones */
};

struct shift_request {
    const char *presets;  /* "paper,code,tuned" */
    const char *variants; /* "mlp,moe,smoe,pamoe" */
    const char *hints;    /* "without", "with", "both" */
    bool noise_sweep, once;
    const char *set; /* changes to every arm; "" = none */
    int seeds;
    int64_t steps;
    int probe_every;
    uint64_t seed;   /* of the first run; the others follow */
    uint32_t worlds; /* CRC of links and videos: a run on others is another run */
};

struct shift_set {
    char label[24]; /* the variant, or what sets this one apart */
    enum shift_role role;
    struct shift_arm arm; /* its seed is that of the first run */
    char changes[96];
    double gamma; /* of the plasticity noise, as the arm has it */
    int n;
    struct shift_record *run; /* (n), after the sweep */
};

struct shift_plan {
    int sets, runs, seeds;
    struct shift_set *set;
    struct sweep_run *run; /* (runs): run i is seed i % seeds of set i / seeds */
    char (*name)[64];
    char (*config)[352];
    struct shift_record *record; /* (runs) */
};

/* ERR_INVALID for a word that is none of those above, and what an arm's recipe says. */
int shift_plan_make(struct shift_plan *out, const struct shift_request *q, struct err *e)
    __attribute__((warn_unused_result));
void shift_plan_free(struct shift_plan *p);

/* The arm of run i, with its seed. */
struct shift_arm shift_plan_arm(const struct shift_plan *p, int i);

/* The noise sweep's values: gamma of w += lr gamma eps. The first is 0. */
int shift_plan_gammas(const double **out);

/* NULL when the plan has none. */
const struct shift_set *shift_plan_find(const struct shift_plan *p, const char *preset,
                                        bool hint, const char *label);

#endif
