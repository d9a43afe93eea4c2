/* replay_bias.h - predicted against observed differences of a trial's arms: the bias of replays.
 *
 * A trial gave each session one arm by a draw. Session i of arm a(i) showed the value y_i. On the links of
 * all sessions an arm's decider is replayed and shows p_arm,i. With control 0:
 *
 *   predicted   mean over all sessions of p_arm,i - p_0,i
 *   observed    mean of y_i over sessions of the arm - mean of y_i over sessions of the control
 *   bias        predicted - observed
 *
 * The player's own rules cannot be replayed. If the control is the player's own, what it did is known on
 * its own sessions only: predicted = mean over the control's sessions of p_arm,i - y_i. The same, with the
 * signs changed, if the arm is. If both are, there is no prediction.
 *
 * A prediction misses what a replay cannot see (recorded.h). For an arm that ran, this error is measured.
 * For an arm that never ran, it is unknown.
 *
 * Intervals, 95 %: all three are sums of one share per session, x_i. Arms are strata of sizes n_k, so the
 * variance of a sum is sum_k n_k var_k(x). For the bias, x_i is the difference of the two shares, because
 * both figures are of the same sessions. Student's quantile with the smaller arm's n - 1. Unlike those of
 * compare.h, they hold at one look. The caller clips values as compare.h does.
 *
 * Errors: ERR_MEMORY. Threads: pure functions. */
#ifndef ABR_REPLAY_BIAS_H
#define ABR_REPLAY_BIAS_H

#include "abr/compare.h"
#include "base/err.h"
#include "base/stats.h"

#define REPLAY_BIAS_LEAST 30                /* sessions of an arm */
#define REPLAY_BIAS_ARMS (COMPARE_ARMS + 1) /* one that has not run may be among them */

struct replay_bias_in {
    int n;           /* sessions */
    const int *arm;  /* (n) 0 .. COMPARE_ARMS - 1; -1: in no arm, not used */
    const double *y; /* (n) observed; NaN: not known */
    const double *p[REPLAY_BIAS_ARMS]; /* (n) replayed; NULL: the player's own rules */
};

struct replay_bias {
    struct stats_interval predicted, observed, bias;
    int sessions[2]; /* of the control, of the arm */
    bool predicts;   /* predicted is known: enough sessions, and a decider to replay */
    bool known;      /* all is: both arms have REPLAY_BIAS_LEAST sessions, too */
};

int replay_bias(struct replay_bias *out, const struct replay_bias_in *in, int arm,
                struct err *e) __attribute__((warn_unused_result));

/* The bias to print next to the prediction for an arm that has not run: the largest of the arms that ran (n),
 * with an interval from the lowest lo to the highest hi. known = false: none is known. */
struct replay_bias replay_bias_worst(const struct replay_bias *of, int n);

/* A value within the bounds of its figure (compare.h). */
double replay_bias_clip(double value, enum compare_figure figure);

#endif
