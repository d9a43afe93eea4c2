/* twin.h - how far the fast decision (policy/packed.h) is from its plain twin on what viewers
 * really see. */
#ifndef SUPPORT_TWIN_H
#define SUPPORT_TWIN_H

#include "policy/policy.h"

struct twin {
    int views;
    int other_level;          /* decisions that differ */
    int other_expert;         /* of the actor; not compared below */
    double prob, logp, value; /* the largest differences; value in shares of ret_std */
};

/* Records `views` observations (feat.h, FEAT_FULL) of emulated viewers on generated links:
 * ladders of 2 to 12 levels, chunks of 2 and 4 s, every profile, who mostly do what the
 * policy says; and compares both decisions on each. Exits when memory fails. */
struct twin twin_compare(const struct policy *p, int views, uint64_t seed);

#endif
