/* shift_probe.h - a policy in the middle of a run: its plasticity, and an exam.
 *
 * Plasticity is measured on the states of the iteration, each expert on those that reach it,
 * routed as in training: with router noise where the recipe has it. That is what the figures of
 * PA-MoE show. Eq. 41 can also mean all data: mean_all is that other reading, with every state shown
 * to every expert, whatever the router chooses.
 *
 * The exam plays SHIFT_EXAM episodes of each profile greedily, without router noise, always the
 * same draws of trace, start and delays.
 *
 * Ownership: shift_prober_obs is where the states go, borrowed. Threads: not shared. */
#ifndef LAB_SHIFT_PROBE_H
#define LAB_SHIFT_PROBE_H

#include "lab/shift/shift_run.h"

#define SHIFT_EXAM 8

struct shift_prober;

/* world is borrowed for the prober's life. */
struct shift_prober *shift_prober_new(const struct recipe_world *world, int max_rows,
                                      struct err *e);
void shift_prober_free(struct shift_prober *p);

/* (max_rows, obs_dim) */
float *shift_prober_obs(struct shift_prober *p);

/* The first `rows` states; `when` chooses the router noise. Fills all but iteration. */
int shift_prober_take(struct shift_probe *out, struct shift_prober *p,
                      const struct policy *policy, int rows, uint64_t when, struct err *e)
    __attribute__((warn_unused_result));

#endif
