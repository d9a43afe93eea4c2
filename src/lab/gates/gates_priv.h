/* gates_priv.h - the three experiments of the lab `gates`. */
#ifndef LAB_GATES_PRIV_H
#define LAB_GATES_PRIV_H

#include "lab/claims.h"
#include "lab/lab.h"
#include "lab/reps.h"

/* The initialiser of a claim by the interval of its first number (CLAIMS_SIGN, CLAIMS_SURE): last that
 * number. */
#define GATES_CLAIM(text, paper, rule, claimed, digits, ...)                           \
    {                                                                                  \
        text, NULL, paper, NULL, {{__VA_ARGS__}}, rule, claimed, 0, 0, 0, digits, NULL \
    }

/* The regression of Section 4.2 and Appendix A. */
int gates_rates(struct lab_task *t, struct err *e);

/* Class-incremental learning on images; left out, with a line that says so, without them. */
int gates_images(struct lab_task *t, struct err *e);

/* New kinds of viewer on a policy that was there before. */
int gates_profiles(struct lab_task *t, struct err *e);

#endif
