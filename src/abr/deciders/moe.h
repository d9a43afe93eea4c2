/* moe.h - a trained policy behind the interface of algo.h.
 *
 * The checkpoint's metadata key "layout" ("full", "paper", "paper-hint" or "blind"; full when it is
 * missing) names the observation that the policy was trained on (feat.h). Decisions are greedy: the
 * most probable level, the lowest one on ties. A network whose output is not finite chooses the
 * lowest level. Of a ladder of more than 12 levels the policy sees a window (window.h). Levels beyond those
 * of the training are not chosen.
 *
 * The checkpoint of a profile with added experts (learn/ckpt.h) is played with these experts;
 * it reads the full observation.
 *
 * Errors: those of ckpt.h, and ERR_INVALID when the network does not fit the layout.
 * Threads: as algo.h says; each algo holds its own copy of the weights. */
#ifndef ABR_MOE_H
#define ABR_MOE_H

#include "abr/deciders/algo.h"

/* arg: the checkpoint's path; "" = ctx->policy_path. */
int moe_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
    __attribute__((warn_unused_result));

#endif
