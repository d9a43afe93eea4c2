/* drift.h - has what the learner sees changed? A self-starting CUSUM of the critic's surprise.
 *
 *   x_n   ln of the mean |advantage| of one tag's steps in batch n
 *   t_n = (x_n - mean_{n-1}) / sd_{n-1} * sqrt((n - 1) / n)        Student, n - 2 degrees
 *   u_n = its normal score, approximated by
 *         sign(t) sqrt(v ln(1 + t^2 / v)) (8 v + 1) / (8 v + 3),   v = n - 2
 *   S_n = max(0, S_{n-1} + u_n - k),  alarm when S_n > h
 *
 * Source: Hawkins, "Self-starting CUSUM charts for location and scale", 1987 (mean and deviation
 * are those of the series so far, so nothing has to be known before); the normal score:
 * Wallace, 1959. One-sided: a critic that suddenly errs more, whether the links became worse or
 * better. In the logarithm the series is closer to normal, and scales with the rewards.
 *
 * False alarms: for independent normal x the mean number of batches to one is, by Siegmund's
 * approximation, (exp(2 k b) - 2 k b - 1) / (2 k^2) with b = h + 1.166: 338 for k = .5, h = 4;
 * 938 for h = 5; 19,100 for h = 8 - of each tag, so divide by the number of tags. A rise by s
 * deviations is found after some h / (s - k) batches. Two batches of a tag go by before the first
 * score. Slow learning makes x fall, which raises no alarm; a series that depends on its past
 * alarms more often than this.
 *
 * The series of a tag has gaps where a batch holds nothing of it. Threads: not shared. */
#ifndef LEARN_DRIFT_H
#define LEARN_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#define DRIFT_TAGS 64

struct drift_cfg {
    double slack, limit; /* k, h; limit 0: nothing is watched */
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

/* k .5, h 0: off. */
struct drift_cfg drift_cfg_default(void);

/* Takes in x; true: alarm. A value that is not finite is passed over. */
bool drift_add(struct drift_series *s, const struct drift_cfg *cfg, double x);

/* One batch: advantage (n), tag (n) or NULL: one tag, 0. The tag with an alarm, else -1. */
int drift_batch(struct drift *d, const struct drift_cfg *cfg, const float *advantage,
                const int *tag, int n);

/* The largest S of all tags. */
double drift_level(const struct drift *d);

#endif
