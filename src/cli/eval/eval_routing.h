/* eval_routing.h - abrd eval --routing: who is asked for what, and what a newer version changed.
 *
 * Per policy, network and profile a row of the experts' shares; per policy and network a row of all
 * profiles with the information that experts hold about profiles (abr/routing.h), and, from the
 * second policy on, of 1000 states how many the first one sends to another expert.
 * Errors: those of routing_run; ERR_INVALID for a policy that has no routers. Threads: main. */
#ifndef CLI_EVAL_ROUTING_H
#define CLI_EVAL_ROUTING_H

#include "abr/traces/corpus.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/setup.h"

struct eval_routing {
    const struct field_list *policies; /* moe or moe:FILE */
    const char *shipped;               /* behind plain moe; may be NULL */
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
