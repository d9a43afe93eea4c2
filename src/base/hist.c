#include "base/hist.h"

#include <assert.h>
#include <math.h>

void hist_init(struct hist *h, double first, double ratio, int n)
{
    assert(first > 0 && ratio > 1 && n >= 1 && n <= HIST_BUCKETS);
    h->n = n;
    double bound = first;
    for (int k = 0; k < n; k++, bound *= ratio)
        h->bound[k] = bound;
    for (int k = 0; k <= n; k++)
        atomic_init(&h->bucket[k], 0);
    atomic_init(&h->sum, 0);
}

/* the first bucket whose bound is not below x, n without one */
static int bucket_of(const struct hist *h, double x)
{
    int lo = 0, hi = h->n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (h->bound[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void hist_add(struct hist *h, double x)
{
    if (isnan(x)) return;
    atomic_fetch_add_explicit(&h->bucket[bucket_of(h, x)], 1, memory_order_relaxed);
    double sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
        &h->sum, &sum, sum + x, memory_order_relaxed, memory_order_relaxed))
        ;
}

void hist_read(struct hist_reading *out, const struct hist *h)
{
    out->n = h->n;
    out->count = 0;
    for (int k = 0; k < h->n; k++) {
        out->bound[k] = h->bound[k];
        out->count += atomic_load_explicit(&h->bucket[k], memory_order_relaxed);
        out->below[k] = out->count;
    }
    out->count += atomic_load_explicit(&h->bucket[h->n], memory_order_relaxed);
    out->sum = atomic_load_explicit(&h->sum, memory_order_relaxed);
}
