/* gates_priv.h - what the sources of the lab `gates` share. */
#ifndef LAB_GATES_PRIV_H
#define LAB_GATES_PRIV_H

#include "lab/lab.h"

#define GATES_RATES_SHARE .25 /* of the lab's time */

/* gates_rates.c: the regression of Section 4.2 and Appendix A */
int gates_rates(struct lab_task *t, struct err *e);

/* gates_split.c: measures that no sample tells from the truth (Appendix A's sequence) */
void gates_split(struct report *r);

#endif
