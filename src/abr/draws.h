/* draws.h - policies scored on weights that nobody named: mu drawn from the simplex.
 *
 *   mu ~ Dirichlet(1, 1, 1): quality, switch and stall >= 0, their sum 1
 *
 * For each draw every policy and every bar (a baseline that plays with the same weights)
 * plays every trace; a policy holds its own on a draw when its mean over the traces is not
 * below that of the best bar.
 *
 * Intervals: bootstrap at 95 % over traces (DRAWS_RESAMPLES), for a draw's difference over
 * traces alone; for figures over all draws, traces and draws are both resampled, as other
 * weights could have been drawn. The best bar is chosen anew in every resample.
 *
 * Ownership: draws_free releases what draws_run filled. Errors: those of eval_run,
 * ERR_MEMORY, EVAL_STOPPED. Threads: as eval_run; the result does not depend on them. */
#ifndef ABR_DRAWS_H
#define ABR_DRAWS_H

#include "abr/eval.h"
#include "base/stats.h"

#define DRAWS_RESAMPLES 1000
#define DRAWS_MAX 100000

struct draws_cfg {
    int n; /* weights drawn */
    uint64_t seed;
    enum qoe_utility utility;
    const char *const *policies; /* those that are judged */
    int n_policies;
    const char *const *bars; /* those they are judged by, at least one */
    int n_bars;
};

struct draw {
    struct qoe qoe;
    double mean, bar_mean;      /* of the policy, and of the best bar */
    int bar;                    /* which one */
    struct stats_interval diff; /* policy - best bar, over traces */
};

struct draws {
    int n, n_traces;
    struct draw *draw;           /* (n), the worst difference first; owned */
    struct stats_interval share; /* of draws with mean >= bar_mean */
    struct stats_interval diff;  /* mean over draws */
    int below;                   /* draws whose whole interval is below 0 */
};

/* The weights of draw i: a pure function. */
struct qoe draws_weights(uint64_t seed, int i, enum qoe_utility utility);

/* out: (n_policies). eval's progress counts the whole. eval->resamples is not used. */
int draws_run(struct draws *out, const struct draws_cfg *cfg, const struct algo_ctx *ctx,
              const struct corpus *corpus, const struct video *video,
              const struct eval_cfg *eval, struct err *e)
    __attribute__((warn_unused_result));
void draws_free(struct draws *d, int n_policies);

/* The figures of one policy from its scores: own (n, traces) and bars (n_bars, n, traces),
 * row-major. Fills draw[i] but for qoe, which the caller has put there, and sorts. */
int draws_judge(struct draws *d, const double *own, const double *bars, int n_bars,
                uint64_t seed, struct err *e) __attribute__((warn_unused_result));

#endif
