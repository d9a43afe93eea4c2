/* algo_moe.h - a trained policy behind the interface of algo.h.
 *
 * The checkpoint's metadata key "layout" ("full", "paper", "paper-hint" or "blind"; missing
 * = full) says which
 * observation it was trained on, see feat.h. Decisions are greedy: the most probable level,
 * the lowest on ties. A network whose answer is not finite gives the lowest level; levels
 * beyond those it was trained for are not chosen.
 *
 * A checkpoint with added experts (policy/policy.h) decides with them; it reads the full observation.
 *
 * Errors: those of ckpt.h, and ERR_INVALID when the network does not fit the layout.
 * Threads: as algo.h says; each algo holds its own copy of the weights. */
#ifndef ABR_ALGO_MOE_H
#define ABR_ALGO_MOE_H

#include "abr/deciders/algo.h"

/* arg: the checkpoint's path; "" = ctx->policy_path. */
int algo_moe_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                 struct err *e) __attribute__((warn_unused_result));

#endif
