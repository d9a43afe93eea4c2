/* eval_why.h - abrd eval --why TRACE: one session of a policy explained chunk by chunk (abr/why.h).
 *
 * The table has a line per chunk: what was known, what the policy took, and the rivals that choose
 * another level there. "mpc 2850 +20.1/-12.4": mpc would take the level of 2850 kbit/s; this chunk
 * would have earned 20.1 more, the session 12.4 less. The lines behind it name the chunks that cost most.
 *
 * CSV and JSON have a row per chunk and policy:
 *   profile, trace, chunk, start_s, buffer_s, last_kbps   the state: buffer and throughput measured last
 *   forecast_low_kbps, forecast_mid_kbps, forecast_high_kbps
 *                            one download in six is slower than low, half are slower than mid, one in
 *                            five is faster than high
 *   policy, level, kbps, by, prob   what it chooses there; by as in abr/why.h, prob of a network
 *   qoe, stall_s             of the chunk at that level
 *   qoe_diff                 less that of the level taken
 *   session_qoe, session_stall_s    of the session with that level, if the first policy goes on; sums
 *   session_diff, stall_diff less those of the session
 *   lost                     against the best plan from this state, with the best plan afterwards
 *
 * --report makes a page of the same session: tables, timeline, choices and what they would have earned.
 *
 * Errors: those of the modules; --why, if there is no such trace. Threads: main thread. */
#ifndef CLI_EVAL_EVAL_WHY_H
#define CLI_EVAL_EVAL_WHY_H

#include "abr/eval.h"
#include "cli/out.h"
#include "cli/setup.h"

struct eval_why {
    const char *trace;                 /* name in the corpus, or a file */
    const struct field_list *policies; /* the first is explained; up to WHY_POLICIES */
    const struct setup *setup;
    const struct setup_profile *profiles;
    int n_profiles;
    const struct video *video;
    const struct eval_cfg *cfg;
    const struct algo_ctx *ctx;
    int worst;        /* chunks that the summary names */
    const char *page; /* FOLDER/NAME.html; NULL: none */
    bool quiet;       /* no progress bar */
};

/* Prints everything, out_finish included. */
int eval_why_run(struct out *o, const struct eval_why *w, struct err *e)
    __attribute__((warn_unused_result));

#endif
