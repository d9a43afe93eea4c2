/* drift.h - detects changes of the learner's data: a self-starting CUSUM of the critic's error.
 *
 *   x_n   ln of the mean |advantage| of one tag's steps in batch n
 *   t_n = (x_n - mean_{n-1}) / sd_{n-1} * sqrt((n - 1) / n)        Student, n - 2 degrees
 *   u_n = its normal score, approximated by
 *         sign(t) sqrt(v ln(1 + t^2 / v)) (8 v + 1) / (8 v + 3),   v = n - 2
 *   S_n = max(0, S_{n-1} + u_n - k),  alarm when S_n > h
 *
 * Source: Hawkins, "Self-starting CUSUM charts for location and scale", 1987: mean and deviation are
 * those of the series so far, so no earlier data are needed. The normal score: Wallace, 1959. It is
 * one-sided: it detects a sudden rise of the critic's error, whether the links became better or worse.
 * The logarithm makes the series closer to normal, and turns a factor of the rewards into a constant.
 *
 * False alarms: for independent normal x, the mean number of batches to an alarm is, by Siegmund's
 * approximation, (exp(2 k b) - 2 k b - 1) / (2 k^2) with b = h + 1.166: 338 for k = 0.5, h = 4; 938 for
 * h = 5; 19,100 for h = 8. This is for each tag; divide by the number of tags. A rise by s deviations
 * is detected after about h / (s - k) batches. The first score of a tag is that of its third batch.
 * Slow learning decreases x and raises no alarm. A series that depends on its past has more alarms.
 *
 * The series of a tag skips batches without the tag. Threads: not shared. */
#ifndef LEARN_DRIFT_H
#define LEARN_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#define DRIFT_TAGS 64

struct drift_cfg {
    double slack, limit; /* k, h; limit 0: off */
};

struct drift_series {
    int64_t n;
    double mean, m2; /* of x so far; m2: sum of squared deviations */
    double sum;      /* S */
};

/* Plain data without padding. */
struct drift {
    struct drift_series tag[DRIFT_TAGS];
};

/* k 0.5, h 0: off. */
struct drift_cfg drift_cfg_default(void);

/* Adds x; true: alarm. A value that is not finite is ignored. */
bool drift_add(struct drift_series *s, const struct drift_cfg *cfg, double x);

/* Adds a batch: advantage (n), tag (n); tag NULL: all 0. Returns the tag with an alarm, or -1. */
int drift_batch(struct drift *d, const struct drift_cfg *cfg, const float *advantage,
                const int *tag, int n);

/* The largest S of all tags. */
double drift_level(const struct drift *d);

#endif
