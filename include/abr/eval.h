/* eval.h - policies scored on traces, with statistics.
 *
 * Every policy plays every trace of a corpus once per profile in the deterministic emulator
 * (start row 1, no noise). Per-chunk QoE: by default chunk 0 is fetched at level 1 and not
 * counted, as in the peers' test code; count_first lets the policy choose it and counts it.
 *
 * Intervals: paired bootstrap over traces (10,000 resamples, 95 %), see base/stats.h.
 *
 * Threads: eval_run spreads traces over cfg.threads; the result does not depend on it. */
#ifndef ABR_EVAL_H
#define ABR_EVAL_H

#include "abr/algo.h"
#include "abr/corpus.h"
#include "abr/emu.h"

struct eval_cfg {
    struct emu_cfg emu;
    bool count_first;
    int threads;
    uint64_t seed;
};

struct eval_cfg eval_cfg_default(void);

/* One policy on one profile: per-trace means per counted chunk. */
struct eval_row {
    char policy[128], profile[64];
    struct qoe qoe;
    int n;             /* traces */
    double *trace_qoe; /* (n) owned */
    double mean_qoe, ci_lo, ci_hi;
    double bitrate_mbps, stall_s, switch_mbps; /* means per chunk */
    double oracle_gap; /* oracle rows: stated gap (upper bound - value), else 0 */
};

/* policy may be "oracle". progress may be NULL: called with 0..1, returns true to stop. */
int eval_run(struct eval_row *out, const char *policy, const struct algo_ctx *ctx,
             const char *profile, const struct qoe *qoe, const struct corpus *corpus,
             const struct video *video, const struct eval_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void eval_row_free(struct eval_row *row);

/* Paired difference a - b over traces: mean and 95 % interval. */
void eval_paired(double *mean, double *lo, double *hi, const struct eval_row *a,
                 const struct eval_row *b, uint64_t seed);

#endif
