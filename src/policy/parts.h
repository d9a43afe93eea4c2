/* parts.h - the parameters of a policy as named tensors, in the order they lie in memory.
 *
 *   actor.router.weight (experts, in), actor.router.bias (experts)      none when single
 *   actor.expert.K.L.weight (fan_out, fan_in), actor.expert.K.L.bias (fan_out)
 *   critic. ...                                     L = 0 .. layers, the last is the head
 *
 * The parts tile the actor's theta and then the critic's without gaps.
 * Threads: pure functions. */
#ifndef POLICY_PARTS_H
#define POLICY_PARTS_H

#include "policy/policy.h"

#include <stdbool.h>

struct parts_part {
    char name[64];
    size_t at;      /* floats; those of the critic follow on those of the actor */
    int rows, cols; /* cols 0: a vector */
};

int parts_count(const struct policy_cfg *cfg);

/* Part i of 0 .. count-1; false for another i. cfg must pass policy_cfg_check. */
bool parts_get(struct parts_part *out, const struct policy_cfg *cfg, int i);
float *parts_view(struct policy *p, const struct parts_part *part); /* borrowed */

#endif
