/* shift_stat.h - statistics of runs under shifts: curves, segments, adaptation, late means.
 *
 * Time is in iterations. A segment is a tenth of the run. Its plateau is the mean of its last
 * fifth. The late probes of a run are the probes in its last fifth.
 *
 * Adaptation lag of a segment:
 *   q    QoE per iteration, averaged over the last SHIFT_SMOOTH iterations of the segment,
 *        or over fewer at its start
 *   b    mean QoE of the first SHIFT_SMOOTH iterations
 *   p    the plateau
 *   lag  number of iterations up to and including the first with q >= b + 0.9 (p - b)
 * If p - b is not above twice the standard deviation within the plateau, the gain may be noise:
 * then there is no lag (NaN). A policy that does not change has no lag either. So lags are reported
 * with the share of segments that have one.
 *
 * Means skip NaN. A mean is NaN if no value is left.
 *
 * Threads: pure functions. */
#ifndef LAB_SHIFT_STAT_H
#define LAB_SHIFT_STAT_H

#include "lab/shift/shift_plan.h"

#include "base/stats.h"

#define SHIFT_SMOOTH 5
#define SHIFT_SEEDS_NEEDED 5 /* for a verdict */
#define SHIFT_ALL (-1)       /* experts, layers: the mean over them */

/* ---- curves ---- */

enum shift_curve {
    SHIFT_QOE,
    SHIFT_RECENT,
    SHIFT_QUALITY, /* three parts, weighted as in the reward */
    SHIFT_CHANGE,
    SHIFT_STALL,
    SHIFT_LEVEL,
    SHIFT_BUFFER,
    SHIFT_THROUGHPUT,
    SHIFT_DOWNLOAD,
    SHIFT_ENTROPY,
    SHIFT_CLIP,
    SHIFT_FIRST_CLIP,
    SHIFT_ROUTER,
    SHIFT_CRITIC_ROUTER,
    SHIFT_CURVES
};

double shift_value(const struct shift_point *p, enum shift_curve c);

/* out (n): means of n equal parts of the run. */
void shift_bins(double *out, int n, const struct shift_record *r, enum shift_curve c);

/* rows (runs, n). For each column: its mean, 10th and 90th percentile over the runs. */
void shift_band(double *mean, double *lo, double *hi, const double *rows, int runs,
                int n);

/* The adaptation lag of one segment. q (n): its QoE per iteration. */
double shift_lag(const double *q, int n);

/* A measure of one probe. net = SHIFT_NETS: the mean of both networks. measure = SHIFT_MEASURES:
 * the mean absolute weight. */
double shift_probed(const struct shift_probe *p, int net, int expert, int layer,
                    int measure);

/* ---- one number of a run ---- */

enum shift_kind {
    SHIFT_MEAN, /* of a curve over the run */
    SHIFT_TIME, /* trimmed mean over the points of the 50-episode curve, as the authors do */
    SHIFT_LATE,      /* shift_probed, mean over the late probes */
    SHIFT_LATE_ALL,  /* the same with every state shown to every expert (shift_probe.h) */
    SHIFT_BUSIEST,   /* the same for the expert with the most states, mean over layers */
    SHIFT_TOP_SHARE, /* largest share of an expert, mean over the late probes */
    SHIFT_GROWTH,    /* mean of late probes minus mean of the run's second fifth */
    SHIFT_LAGS,      /* mean lag over the shifts that have one */
    SHIFT_ADAPTED,   /* share of the shifts that have one */
    SHIFT_SEGMENT_LAG,   /* of one segment, 0 .. 9 */
    SHIFT_SEGMENT_GAIN,  /* 1 when it has a lag, else 0 */
    SHIFT_PLATEAU,       /* QoE of a segment's plateau */
    SHIFT_PROFILE_QOE,   /* mean QoE of a profile's chunks over the run */
    SHIFT_PROFILE_LEVEL, /* share of a level in the plateaus of a profile's segments */
    SHIFT_SWING, /* how far the level follows the profile: mean_level in the plateaus of segments
                    5 .. 10, averaged per profile; the largest minus the smallest average */
};

struct shift_number {
    enum shift_kind of;
    int net, expert, layer, measure; /* probes */
    int curve, segment, profile, level;
    struct stats_cut cut; /* SHIFT_TIME */
};

/* Initialiser of a struct shift_number for probes. */
#define SHIFT_PROBED(kind_, net_, expert_, layer_, measure_)          \
    {                                                                 \
        .of = kind_, .net = net_, .expert = expert_, .layer = layer_, \
        .measure = measure_                                           \
    }

double shift_number(const struct shift_record *r, const struct shift_number *of);

/* Mean QoE of a part of each segment: [from, to), as shares 0 .. 1 of the segment. */
void shift_segments(double out[SHIFT_SEGMENTS], const struct shift_record *r, double from,
                    double to);

/* Share of the chunks at the levels lo .. hi, in the plateaus from the second round of profiles on.
 * It is near 1 if the policy stays at these levels. */
double shift_frozen_share(const struct shift_record *r, int lo, int hi);

/* ---- sets of runs ---- */

/* Fills x (s->n) with the number of every run. Returns how many there are. If `known` is true, NaN
 * are left out. */
int shift_per_run(double *x, const struct shift_set *s, const struct shift_number *of,
                  bool known);

/* Selects the number of bootstrap samples. A claim gets more, since its verdict depends on the
 * interval. A figure gets fewer, since it has hundreds of intervals. */
enum shift_care { SHIFT_CLAIM, SHIFT_FIGURE };

/* 95 % interval of the mean of x (n) by the bootstrap. */
struct stats_interval shift_mean_of(const double *x, int n, enum shift_care care);

/* With 95 % intervals: the mean over the runs, the ratio of the means of two sets, and the mean of
 * their differences. The bootstrap resamples seeds, in pairs if there are two sets. A run whose
 * number is NaN is left out. Its partner in the other set is left out, too. If a set is NULL, all
 * results are NaN. So is a ratio whose means are not both positive (the upper one may be 0). */
struct stats_interval shift_mean(const struct shift_set *s, const struct shift_number *of,
                                 enum shift_care care);
struct stats_interval shift_ratio(const struct shift_set *a, const struct shift_set *b,
                                  const struct shift_number *of, enum shift_care care);
struct stats_interval shift_difference(const struct shift_set *a,
                                       const struct shift_set *b,
                                       const struct shift_number *of);

/* Mean QoE of one profile over the runs, with its 95 % interval. profile = SHIFT_PROFILES: all
 * profiles together, with one stratum for each. */
struct stats_interval shift_profiles(const struct shift_set *s, int profile,
                                     struct stats_cut cut);

#endif
