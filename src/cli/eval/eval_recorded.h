/* eval_recorded.h - abrd eval --sessions: policies on recorded sessions, and how wrong such replays are.
 *
 * Rows for CSV and JSON, behind those of the policies: policy, arm, figure, predicted, observed, bias, each
 * with _lo and _hi (abr/recorded/replay_bias.h). For people, a line each:
 *
 *   arms that ran       predicted and observed difference to the control, and the bias
 *   other policies      the predicted difference, and next to it the bias of the arms that ran
 *
 * Without a trial, differences are to the sessions as they were, and no bias is known, which a line says.
 * Where sessions explored, each policy has an off-policy estimate of its QoE (abr/recorded/off_policy.h), in
 * the columns off_policy, off_policy_lo, off_policy_hi and off_policy_effective of the rows of qoe, or a line
 * that says why not.
 *
 * The figures are those of a trial's report without the watched time, which a replay does not change.
 *
 * Errors: those of the modules. Threads: main thread. */
#ifndef CLI_EVAL_EVAL_RECORDED_H
#define CLI_EVAL_EVAL_RECORDED_H

#include "abr/eval.h"
#include "abr/recorded/off_policy.h"
#include "cli/out.h"
#include "cli/recordings.h"

/* Owned by the caller, borrows the recordings; NULL: no memory. abandon: as --abandon. */
struct eval_session *eval_recorded_sessions(const struct recordings *s, bool abandon,
                                            struct err *e);

struct eval_recorded {
    const struct recordings *recordings;
    const struct eval_row *rows; /* (n) a policy each */
    int n;
    const struct algo_ctx *ctx;
    struct eval_recorded_line {
        const char *policy; /* borrowed */
        int arm;            /* -1: has not run */
        struct replay_bias_figures *of;
        struct off_policy off;
    } * line; /* of eval_recorded_compare, owned */
    int lines;
};

/* Compares, and adds the rows to o. eval_recorded_free releases what it holds, also after a failure. */
int eval_recorded_compare(struct eval_recorded *r, struct out *o, struct err *e)
    __attribute__((warn_unused_result));
/* After out_finish. */
void eval_recorded_say(const struct eval_recorded *r, struct out *o);
void eval_recorded_free(struct eval_recorded *r);

/* Predicted against observed differences of the arms that ran, as lines for people. trial NULL: as
 * recordings.h finds it. labels: of the sessions that are used, as --label. */
int eval_recorded_trial(struct out *o, const char *data, const char *trial,
                        const struct field_list *labels, struct err *e)
    __attribute__((warn_unused_result));

#endif
