/* hist.h - how often values fell where: a histogram with growing buckets.
 *
 *   bucket k counts  bound[k-1] < x <= bound[k],   bound[k] = first * ratio^k
 *
 * and one bucket more takes what is above the last bound: Prometheus' `le` buckets, before they
 * are summed up. NaN is not counted.
 *
 * Threads: hist_add is lock-free and may run anywhere, hist_read beside it; a reading taken
 * meanwhile may hold a value in count and not yet in sum. */
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
    uint64_t below[HIST_BUCKETS]; /* values <= bound[k]: summed up, as Prometheus wants */
    uint64_t count;
    double sum;
};

/* first > 0, ratio > 1, 1 <= n <= HIST_BUCKETS. 1 us, doubling, 25: up to 16.8 s. */
void hist_init(struct hist *h, double first, double ratio, int n);
void hist_add(struct hist *h, double x);
void hist_read(struct hist_reading *out, const struct hist *h);

/* Where a share p of the values lies below, p in 0 .. 1: interpolated within its bucket, so
 * right to a factor of `ratio`. NaN when empty; the last bound when it lies above. */
double hist_quantile(const struct hist_reading *r, double p);

#endif
