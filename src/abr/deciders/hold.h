/* hold.h - the plan with the highest mean value: one chunk now, then the best level held.
 *
 *   level = argmax_k  mean_i V_i(k)          (plan.h)
 *
 * Settings (settings.h): factor, tail, reach, caution; PLAN_DEFAULT for every kind of viewer.
 *
 * Threads: pure functions; an algo is not shared. No allocation after hold_new. */
#ifndef ABR_HOLD_H
#define ABR_HOLD_H

#include "abr/deciders/algo.h"
#include "abr/deciders/plan.h"

/* The best level; the lowest when nothing was measured. */
int hold_level(const struct plan_cfg *cfg, const struct view *v);

int hold_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
