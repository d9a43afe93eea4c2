/* ceiled.h - an algorithm under the ceilings of the profile, for fair comparisons: "ceiled:SPEC".
 *
 * SPEC decides. If the guard (guard.h) withholds its level, or first_level_most (first_level.h) does for
 * the first chunk, the highest level below that is allowed is taken. moe decides so by itself.
 *
 * Errors: those of algo_new for SPEC.
 * Threads: as SPEC. */
#ifndef ABR_CEILED_H
#define ABR_CEILED_H

#include "abr/deciders/algo.h"

int ceiled_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
               struct err *e) __attribute__((warn_unused_result));

#endif
