/* shift_stat.h - numbers of runs under shifts: curves, segments, adaptation, late means.
 *
 * Time is in iterations. A segment is a tenth of them, its plateau the mean of its last fifth. The late
 * probes of a run are those of its last fifth.
 *
 * Adaptation lag of a segment: q is the QoE per iteration, smoothed over SHIFT_SMOOTH iterations
 * (as many of them as there are in the same segment). It begins at b, the mean of the first SHIFT_SMOOTH
 * iterations, and ends at the plateau p. The lag is the number of iterations up to and with the first
 * whose smoothed q reaches b + 0.9 (p - b). Where p - b is below twice the deviation within the plateau,
 * nothing was learned that stands out of the noise: no lag (NaN). A policy that stays as it was has no
 * lag either, so lags are reported with the share of segments that have one.
 *
 * Means leave NaN out and are NaN when nothing is left.
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
    SHIFT_QUALITY, /* weighted, as the reward has them */
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

/* rows (runs, n): mean and 10 and 90 % over the runs of every column. */
void shift_band(double *mean, double *lo, double *hi, const double *rows, int runs,
                int n);

/* q (n) of one segment. */
double shift_lag(const double *q, int n);

/* A measure of one probe. net: SHIFT_NETS for the mean of both; measure SHIFT_MEASURES is the mean
 * absolute weight. */
double shift_probed(const struct shift_probe *p, int net, int expert, int layer,
                    int measure);

/* ---- one number of a run ---- */

enum shift_kind {
    SHIFT_MEAN, /* of a curve over the run */
    SHIFT_TIME, /* trimmed mean over the points of the 50-episode curve, as the authors' */
    SHIFT_LATE,      /* shift_probed, mean over the late probes */
    SHIFT_LATE_ALL,  /* the same with every state shown to every expert (shift_probe.h) */
    SHIFT_BUSIEST,   /* the same of the expert that most states reach, mean over layers */
    SHIFT_TOP_SHARE, /* largest share of an expert, mean over the late probes */
    SHIFT_GROWTH,    /* the measure, late less that of the second fifth of the run */
    SHIFT_LAGS,      /* mean lag over the shifts that have one */
    SHIFT_ADAPTED,   /* share of the shifts that have one */
    SHIFT_SEGMENT_LAG,   /* of one segment, 0 .. 9 */
    SHIFT_SEGMENT_GAIN,  /* 1 when it has a lag, else 0 */
    SHIFT_PLATEAU,       /* QoE of a segment's plateau */
    SHIFT_PROFILE_QOE,   /* mean QoE of a profile's chunks over the run */
    SHIFT_PROFILE_LEVEL, /* share of a level in the plateaus of a profile's segments */
    SHIFT_SWING, /* how far the level follows the profile: over the segments 5 .. 10 the largest less
                    the smallest profile's mean of plateaus of mean_level */
};

struct shift_number {
    enum shift_kind of;
    int net, expert, layer, measure; /* probes */
    int curve, segment, profile, level;
    struct stats_cut cut; /* SHIFT_TIME */
};

/* The initialiser of a number of the probes. */
#define SHIFT_PROBED(kind_, net_, expert_, layer_, measure_)          \
    {                                                                 \
        .of = kind_, .net = net_, .expert = expert_, .layer = layer_, \
        .measure = measure_                                           \
    }

double shift_number(const struct shift_record *r, const struct shift_number *of);

/* Mean QoE within [from, to) of each segment, 0 .. 1. */
void shift_segments(double out[SHIFT_SEGMENTS], const struct shift_record *r, double from,
                    double to);

/* Share of the chunks at the levels lo .. hi in the plateaus from the second round of profiles on: near
 * 1 when a policy froze there. */
double shift_frozen_share(const struct shift_record *r, int lo, int hi);

/* ---- sets of runs ---- */

/* x (s->n): the number of every run. Returns their count; with `known` without the NaN. */
int shift_per_run(double *x, const struct shift_set *s, const struct shift_number *of,
                  bool known);

/* How many bootstrap samples: a claim's verdict hangs on its interval, a figure has hundreds. */
enum shift_care { SHIFT_CLAIM, SHIFT_FIGURE };

/* 95 % interval of the mean of x (n) by the bootstrap. */
struct stats_interval shift_mean_of(const double *x, int n, enum shift_care care);

/* Mean over the runs, ratio of the means and mean of the differences of two sets, with 95 % intervals
 * (bootstrap over seeds, paired where there are two sets). A run without the number is left out, and of
 * two sets its partner, too. NULL for a set: all NaN. */
struct stats_interval shift_mean(const struct shift_set *s, const struct shift_number *of,
                                 enum shift_care care);
struct stats_interval shift_ratio(const struct shift_set *a, const struct shift_set *b,
                                  const struct shift_number *of, enum shift_care care);
struct stats_interval shift_difference(const struct shift_set *a,
                                       const struct shift_set *b,
                                       const struct shift_number *of);

/* The same of a QoE per profile over all profiles: one stratum each; profile SHIFT_PROFILES pools them. */
struct stats_interval shift_profiles(const struct shift_set *s, int profile,
                                     struct stats_cut cut);

#endif
