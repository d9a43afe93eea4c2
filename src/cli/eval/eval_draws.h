/* eval_draws.h - abrd eval --draws and --mu-draws: scores policies on weights drawn at random.
 *
 * A row per policy: the share of draws on which it is not below the best of buffer, bola and mpc with
 * the same weights, and the mean difference. Then the draws on which it did worst.
 * Errors: those of eval_sampled_run. Threads: main thread. */
#ifndef CLI_EVAL_EVAL_DRAWS_H
#define CLI_EVAL_EVAL_DRAWS_H

#include "abr/eval_sampled.h"
#include "cli/opt.h"
#include "cli/out.h"

struct eval_draws {
    int n, worst; /* draws; rows of the worst per policy */
    uint64_t seed;
    enum qoe_utility utility;
    const struct field_list
        *policies; /* buffer, bola and mpc among them are not judged */
    const struct corpus *corpus;
    const struct video *video;
};

/* How many policies of the list are judged. */
int eval_draws_judged(const struct field_list *policies);

/* Plays, and adds the rows; the caller finishes the table. */
int eval_draws_run(struct out *o, const struct eval_draws *d, const struct algo_ctx *ctx,
                   const struct eval_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

#endif
