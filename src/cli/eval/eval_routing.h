/* eval_routing.h - abrd eval --routing: which expert decides for which profile, and what a newer version
 * changes.
 *
 * Per policy, network and profile: a row of the experts' shares. Per policy and network: a row over all
 * profiles with the information that experts hold about profiles (abr/routing.h) and, from the second
 * policy on, how many of 1000 states of the first policy go to another expert.
 * Errors: those of routing_run; ERR_INVALID for a policy without routers. Threads: main. */
#ifndef CLI_EVAL_EVAL_ROUTING_H
#define CLI_EVAL_EVAL_ROUTING_H

#include "abr/traces/corpus.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/setup.h"

struct eval_routing {
    const struct field_list *policies; /* moe or moe:FILE */
    const char *shipped;               /* the file of plain moe; may be NULL */
    const struct setup_profile *profiles;
    int n_profiles;
    struct emu_cfg emu;
    const struct corpus *corpus;
    const struct video *video;
};

/* Plays, and adds the rows; the caller finishes the table. */
int eval_routing_run(struct out *o, const struct eval_routing *r, struct err *e)
    __attribute__((warn_unused_result));

#endif
