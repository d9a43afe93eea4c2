/* shift_stat.h - figures of runs under shifts: curves, segments, adaptation, late means.
 *
 * Time is in iterations. A segment is a tenth of them, its plateau the mean of its last fifth.
 *
 * Adaptation lag of a segment: q is the QoE per iteration, smoothed over SHIFT_SMOOTH iterations
 * (those before it in the same segment count, as many as there are). It begins at b, the mean of the
 * first SHIFT_SMOOTH iterations, and ends at the plateau p. The lag is the number of iterations up to
 * and with the first whose smoothed q reaches b + .9 (p - b). Where p - b is below twice the
 * deviation within the plateau, nothing was learned that stands out of the noise: no lag (NaN).
 * A policy that stays as it was has no lag either, so lags are told with the share of segments
 * that have one.
 *
 * Threads: pure functions. */
#ifndef LAB_SHIFT_STAT_H
#define LAB_SHIFT_STAT_H

#include "lab/shift/shift_plan.h"

#include "base/stats.h"

#define SHIFT_SMOOTH 5
#define SHIFT_SEEDS_NEEDED 5 /* for a verdict */

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

/* out (n): means of n equal parts of the run. NaN values are passed over. */
void shift_bins(double *out, int n, const struct shift_record *r, enum shift_curve c);

/* rows (runs, n): mean and 10 and 90 % over the runs of every column; NaN are passed over. */
void shift_band(double *mean, double *lo, double *hi, const double *rows, int runs,
                int n);

/* Mean QoE within [from, to) of each segment, 0 .. 1. */
void shift_segments(double out[SHIFT_SEGMENTS], const struct shift_record *r, double from,
                    double to);

/* q (n) of one segment. NaN as told above. */
double shift_lag(const double *q, int n);

/* That of segment 0 .. 9 of a run. */
double shift_segment_lag(const struct shift_record *r, int segment);

/* Mean over the shifts 2 .. 10 that have one (NaN: none), and their share in *adapted. */
double shift_lags(const struct shift_record *r, double *adapted);

/* Mean QoE of a profile's chunks over the whole run. */
double shift_profile_qoe(const struct shift_record *r, int profile);

/* Share of a level among the chunks of the last fifths of a profile's segments. */
double shift_level_share(const struct shift_record *r, int profile, int level);

/* Trimmed mean over the time points of the 50-episode curve, as the authors take it. */
double shift_over_time(const struct shift_record *r, struct stats_cut cut);

/* Mean over the probes of the last fifth. net: SHIFT_NETS for both; expert, layer: -1 = the mean
 * over them; measure SHIFT_MEASURES is the mean absolute weight. */
double shift_late(const struct shift_record *r, int net, int expert, int layer,
                  int measure);
/* The mean over experts and layers with every state shown to every expert (shift_probe.h). */
double shift_late_all(const struct shift_record *r, int net, int measure);
/* The largest share of an expert, mean over the last fifth's probes. */
double shift_late_top_share(const struct shift_record *r, int net);

/* A measure of one probe, with the same conventions. */
double shift_probed(const struct shift_probe *p, int net, int expert, int layer,
                    int measure);

/* Share of the chunks at the levels lo .. hi in the plateaus from the second round on: near 1
 * when a policy froze there. */
double shift_frozen_share(const struct shift_record *r, int lo, int hi);

/* How far the mean level follows the profile: over the segments 5 .. 10, the largest less the
 * smallest profile's mean of plateaus of mean_level. */
double shift_swing(const struct shift_record *r);

/* The same measure of the expert that the most states reach, mean over layers. */
double shift_late_busiest(const struct shift_record *r, int net, int measure);

/* One number of a run. */
struct shift_figure {
    double (*of)(const struct shift_record *r, const void *arg);
    const void *arg;
};

/* x (n): that of every run of a set. */
void shift_per_run(double *x, const struct shift_set *s, struct shift_figure f);

/* 95 % interval of the mean of x (n) by the bootstrap. */
struct stats_interval shift_mean_of(const double *x, int n);

/* Mean over the runs, ratio of the means and mean of the differences of two sets, with 95 %
 * intervals (bootstrap over seeds, paired where there are two sets). NaN where a run has none:
 * it is left out. NULL for a set: all NaN. */
struct stats_interval shift_mean(const struct shift_set *s, struct shift_figure f);
struct stats_interval shift_ratio(const struct shift_set *a, const struct shift_set *b,
                                  struct shift_figure f);
struct stats_interval shift_difference(const struct shift_set *a,
                                       const struct shift_set *b, struct shift_figure f);

#endif
