/* eval.h - policies scored on traces, with statistics.
 *
 * Every policy plays every trace of a corpus once per profile in the deterministic emulator (start row
 * 1, no noise). The score is the QoE per chunk. By default chunk 0 is fetched at level 1 and not
 * counted, as in Pensieve's test code. With count_first the policy chooses it and it counts. A
 * session's key is the trace's place in the corpus, so excluding others changes nothing.
 *
 * What a viewer sees of a session (struct eval_seen):
 *
 *   start-up     wait for chunk 0 [s]. Known with count_first only
 *   stalls       waits for later chunks [s]. The start-up is no stall here, also where the QoE counts it
 *                as one (the papers' utilities)
 *   stall ratio  sum of stalls / (sum of stalls + media played)
 *   quality      mean points of the counted chunks (emulator/quality.h)
 *   switches     changes of level per minute of media
 *
 * A session is link-bound if the lowest level, played from the start on the same trace, itself stalls
 * more than the ceiling: stall_ratio_max of the profile, or of `standard` if the profile has none. No
 * policy can keep the ceiling there, so the row has the stall ratio of the other sessions as well. A row's
 * ratios are those of the sums over its sessions.
 *
 * Intervals: paired bootstrap over traces (10,000 resamples, 95 %), see base/stats.h. "Paired" means
 * over the differences trace by trace: traces differ far more than policies do.
 *
 * Errors: those of algo_new, ERR_ABSENT when no trace remains, ERR_INVALID for a policy that cannot
 * play, ERR_MEMORY, and EVAL_STOPPED.
 * Ownership: a row owns its arrays, eval_row_free releases them; the policy's name is borrowed.
 * Threads: eval_run spreads traces over cfg.threads; the result does not depend on it. progress is
 * called from the caller's thread. */
#ifndef ABR_EVAL_H
#define ABR_EVAL_H

#include "abr/compare.h"
#include "abr/deciders/algo.h"
#include "abr/traces/corpus.h"
#include "abr/emulator/emu.h"

#define EVAL_STOPPED 1 /* progress returned true: no row, no error */

struct eval_cfg {
    struct emu_cfg emu;
    bool count_first;
    int threads;
    uint64_t seed; /* of the bootstrap */
    int resamples; /* of a row's interval; 0 = none, ci_lo and ci_hi are then the mean */
    /* names of traces to leave out; unknown names are no error */
    const char *const *exclude;
    int n_exclude;
    /* Called from time to time with the finished share; true stops. May be NULL. */
    bool (*progress)(void *progress_ctx, double share);
    void *progress_ctx;
};

struct eval_cfg eval_cfg_default(void);

/* For callers that replay scored sessions (replay.h). eval_first_level returns the level of chunk
 * 0, or -1 if the policy chooses it. eval_excludes returns true if the trace is left out. */
int eval_first_level(const struct eval_cfg *cfg);
bool eval_excludes(const struct eval_cfg *cfg, const char *name);

struct eval_seen {
    double startup_s; /* NaN without count_first */
    double stall_s, media_s;
    double quality, switches_per_min;
    bool link_bound;
};

/* One policy on one profile: per-trace means per counted chunk. */
struct eval_row {
    const char *policy; /* borrowed, since moe:FILE may be as long as a path */
    char profile[64];
    struct qoe qoe;
    int n;             /* traces */
    double *trace_qoe; /* (n) owned */
    double mean_qoe, ci_lo, ci_hi;
    double *trace_stall;                       /* (n) owned; stall per chunk [s] */
    double bitrate_mbps, stall_s, switch_mbps; /* means per chunk */
    double stalled;                   /* share of chunks that stalled, mean over traces */
    double session_stall_s;           /* stall of a whole session, mean over traces */
    struct eval_seen *seen;           /* (n) owned */
    double quality, switches_per_min; /* means over traces */
    double startup_median_s, startup_p90_s; /* NaN without count_first */
    double stall_ratio,
        stall_ratio_carried; /* of all; without the link-bound ones, NaN: none left */
    int link_bound;          /* sessions */
    double *trace_bound; /* (n) owned; oracle rows: no plan scores above it; else NULL */
    double oracle_gap;   /* oracle rows: mean of bound - value; else 0 */
};

/* policy may be "oracle". */
int eval_run(struct eval_row *out, const char *policy, const struct algo_ctx *ctx,
             const char *profile, const struct qoe *qoe, const struct corpus *corpus,
             const struct video *video, const struct eval_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));
void eval_row_free(struct eval_row *row);

/* A session with a link, a video, a player and a viewer of its own, for example a recorded one. */
struct eval_session {
    const struct trace *trace; /* borrowed, as all of it */
    const struct video *video;
    struct emu_cfg emu;
    struct qoe qoe;
    uint64_t key;
    int chunks;        /* after which the viewer leaves; at most those of the video */
    const int *levels; /* (chunks) of the policy EVAL_RECORDED */
    /* (chunks) whether the player knew the sizes of that chunk; it never knows later ones, like a daemon.
     * NULL: it knows the whole video */
    const uint8_t *sized;
};
/* A policy that plays the levels that were played. */
#define EVAL_RECORDED "recorded"

/* The same over sessions. The policy chooses chunk 0, and it counts. No oracle. Each session has passed
 * emu_check. */
int eval_run_sessions(struct eval_row *out, const char *policy,
                      const struct algo_ctx *ctx, const char *profile,
                      const struct eval_session *sessions, int n,
                      const struct eval_cfg *cfg, struct err *e)
    __attribute__((warn_unused_result));

/* What session i of a row showed, as a trial counts it; not clipped. Start-up is NaN without count_first.
 */
struct compare_session eval_values(const struct eval_row *row, int i);

/* The ceiling of stalls that link_bound is about. */
double eval_stall_ceiling(const struct qoe *k);

/* Paired difference a - b over traces: mean and 95 % interval. a->n == b->n. */
void eval_paired(double *mean, double *lo, double *hi, const struct eval_row *a,
                 const struct eval_row *b, uint64_t seed);

/* The same for stalls per chunk. */
void eval_paired_stall(double *mean, double *lo, double *hi, const struct eval_row *a,
                       const struct eval_row *b, uint64_t seed);

/* A row's share of the oracle's score on the same profile and traces: the ratio of their sums.
 * Traces are resampled in pairs. Meaningful only if the oracle's mean is above 0. */
void eval_share(double *share, double *lo, double *hi, const struct eval_row *a,
                const struct eval_row *oracle, uint64_t seed);

/* The share of the possible gain over b: sum(a - b) / sum(oracle - b). Unlike the share and the gain it
 * does not depend on the zero of the score. NaN when b is the oracle. */
void eval_gap_closed(double *share, double *lo, double *hi, const struct eval_row *a,
                     const struct eval_row *b, const struct eval_row *oracle,
                     uint64_t seed);

/* Number of traces on which a row scored above the oracle's bound by more than rounding. It is 0 unless
 * the bound is wrong. */
int eval_above_bound(const struct eval_row *a, const struct eval_row *oracle);

/* Paired relative gain of a over b: (mean a - mean b) / |mean b|. For the interval, each resample
 * of the traces serves both means. */
void eval_gain(double *gain, double *lo, double *hi, const struct eval_row *a,
               const struct eval_row *b, uint64_t seed);

/* The sum of a's means divided by the sum of b's means, for k pairs of rows (profiles). Each
 * resample of the traces serves all rows. Meaningful only if b's sum is above 0. */
void eval_ratio(double *ratio, double *lo, double *hi, const struct eval_row *const *a,
                const struct eval_row *const *b, int k, uint64_t seed);

/* Mean gain over k pairs of rows (profiles). Each resample of the traces serves all profiles, since
 * they were played on the same traces. All a[i]->n are equal. */
void eval_gain_mean(double *gain, double *lo, double *hi, const struct eval_row *const *a,
                    const struct eval_row *const *b, int k, uint64_t seed);

#endif
