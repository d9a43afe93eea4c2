/* eval_sessions.h - output of abrd eval about sessions: trajectories as a file (--trajectories, trajectories.h)
 * and a page with charts (--report).
 *
 * The page NAME.html, with NAME.csv and NAME.json next to it (report/report.h), holds: the scores, the
 * distribution of QoE over traces, what viewers see (eval.h), stalls against quality, the gap to the
 * oracle if it is among the policies, and the timelines of one policy on its best, median and worst
 * trace.
 *
 * Sessions are played again, one after the other: the emulator is deterministic.
 * Errors: those of the modules. Threads: main thread. */
#ifndef CLI_EVAL_EVAL_SESSIONS_H
#define CLI_EVAL_EVAL_SESSIONS_H

#include "abr/eval.h"
#include "cli/setup.h"

struct eval_sessions {
    const struct eval_row *rows; /* (n_profiles, n_policies) */
    int n_profiles, n_policies;
    const struct setup_profile *profiles;
    const char *shown; /* the policy whose timelines are drawn */
    const struct corpus *corpus;
    const struct video *video;
    const struct eval_cfg *cfg;
    const struct algo_ctx *ctx;
    /* called with the share of sessions that were exported; true stops. May be NULL */
    bool (*progress)(void *progress_ctx, double share);
    void *progress_ctx;
};

/* with: TRAJECTORIES_PROBS and _OBS. Prints nothing; *rows is their number. */
int eval_sessions_export(int64_t *rows, const struct eval_sessions *s, const char *path,
                         int with, struct err *e) __attribute__((warn_unused_result));

/* path: FOLDER/NAME.html. */
int eval_sessions_page(const struct eval_sessions *s, const char *path, struct err *e)
    __attribute__((warn_unused_result));

#endif
