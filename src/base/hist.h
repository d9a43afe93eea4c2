/* hist.h - a histogram with growing buckets.
 *
 *   bucket k counts  bound[k-1] < x <= bound[k],   bound[k] = first * ratio^k
 *
 * One more bucket counts values above the last bound. hist_read gives the cumulative counts of
 * Prometheus' `le` buckets. NaN is not counted.
 *
 * Threads: hist_add is lock-free and safe in any thread, also during hist_read. Such a reading may
 * count a value that is not in its sum yet. */
#ifndef BASE_HIST_H
#define BASE_HIST_H

#include <stdatomic.h>
#include <stdint.h>

#define HIST_BUCKETS 40

struct hist {
    int n; /* bounds; buckets are n + 1 */
    double bound[HIST_BUCKETS];
    atomic_uint_fast64_t bucket[HIST_BUCKETS + 1];
    _Atomic double sum;
};

struct hist_reading {
    int n;
    double bound[HIST_BUCKETS];
    uint64_t below[HIST_BUCKETS]; /* number of values <= bound[k] */
    uint64_t count;
    double sum;
};

/* first > 0, ratio > 1, 1 <= n <= HIST_BUCKETS. For example 1 us, 2 and 25 reach 16.8 s. */
void hist_init(struct hist *h, double first, double ratio, int n);
void hist_add(struct hist *h, double x);
void hist_read(struct hist_reading *out, const struct hist *h);

#endif
