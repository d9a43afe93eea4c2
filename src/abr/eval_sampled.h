/* eval_sampled.h - policies scored on sampled weights.
 *
 *   QOE_POINTS   each of the weights quality, switches, stalls, startup, relative to `standard`, is
 *                log-uniform in 1/4 .. 4, independent of the others
 *   the others   mu ~ Dirichlet(1, 1, 1): quality, switch and stall >= 0, their sum 1
 *
 * For each draw every policy and every bar plays every trace. A bar is a baseline that plays with the
 * same weights. A policy passes a draw when its mean over the traces is not below that of the best
 * bar.
 *
 * Intervals: bootstrap at 95 % (EVAL_SAMPLED_RESAMPLES). For the difference of one draw, traces are
 * resampled. For figures over all draws, traces and draws are resampled, since other weights could
 * have been drawn. The best bar is chosen again in every resample.
 *
 * Errors: those of eval_run, ERR_MEMORY, EVAL_STOPPED.
 * Ownership: eval_sampled_free releases what eval_sampled_run filled.
 * Threads: as eval_run; the result does not depend on them. */
#ifndef ABR_EVAL_SAMPLED_H
#define ABR_EVAL_SAMPLED_H

#include "abr/eval.h"
#include "base/stats.h"

#define EVAL_SAMPLED_RESAMPLES 1000
#define EVAL_SAMPLED_MAX 100000
#define EVAL_SAMPLED_FACTOR 4.0 /* farthest from `standard` */

struct eval_sampled_cfg {
    int n; /* weights drawn */
    uint64_t seed;
    enum qoe_utility utility;
    const char *const *policies; /* the policies to judge */
    int n_policies;
    const char *const *bars; /* the baselines, at least one */
    int n_bars;
};

struct eval_sampled_draw {
    struct qoe qoe;
    double mean, bar_mean;      /* of the policy, and of the best bar */
    int bar;                    /* index of the best bar */
    struct stats_interval diff; /* policy - best bar, over traces */
};

struct eval_sampled {
    int n, n_traces;
    struct eval_sampled_draw *draw; /* (n), the worst difference first; owned */
    struct stats_interval share;    /* of draws with mean >= bar_mean */
    struct stats_interval diff;     /* mean over draws */
    int below;                      /* draws whose whole interval is below 0 */
};

/* The weights of draw i: a pure function. */
struct qoe eval_sampled_weights(uint64_t seed, int i, enum qoe_utility utility);

/* out: (n_policies). eval->progress gets the finished share of the whole run. eval->resamples is
 * not used. */
int eval_sampled_run(struct eval_sampled *out, const struct eval_sampled_cfg *cfg,
                     const struct algo_ctx *ctx, const struct corpus *corpus,
                     const struct video *video, const struct eval_cfg *eval,
                     struct err *e) __attribute__((warn_unused_result));
void eval_sampled_free(struct eval_sampled *d, int n_policies);

/* The figures of one policy from its scores: own (n, traces) and bars (n_bars, n, traces),
 * row-major. Fills each draw[i] except its qoe, which the caller has set. Then sorts the draws. */
int eval_sampled_judge(struct eval_sampled *d, const double *own, const double *bars,
                       int n_bars, uint64_t seed, struct err *e)
    __attribute__((warn_unused_result));

#endif
