#include "abr/traces/trace_stats.h"

#include <math.h>
#include <stdlib.h>

struct slot {
    double mbps, s;
};

static int by_rate(const void *a, const void *b)
{
    double x = ((const struct slot *)a)->mbps, y = ((const struct slot *)b)->mbps;
    return (x > y) - (x < y);
}

/* The lowest rate such that `share` of the time is at or below it. */
static double percentile(const struct slot *sorted, int64_t n, double total_s,
                         double share)
{
    double below_s = 0.0;
    int64_t i = 0;
    for (; i < n - 1; i++) {
        below_s += sorted[i].s;
        if (below_s >= share * total_s) break;
    }
    return sorted[i].mbps;
}

int trace_stats(struct trace_stats *out, struct trace *const *traces, int n,
                struct err *e)
{
    *out = (struct trace_stats){0};
    for (int k = 0; k < n; k++)
        out->slots += traces[k]->n - 1;
    struct slot *slot = malloc((size_t)out->slots * sizeof *slot);
    if (!slot)
        return err_set(e, ERR_MEMORY, "no memory for %lld slots", (long long)out->slots);

    int64_t at = 0;
    double mbit = 0.0, zero_s = 0.0;
    for (int k = 0; k < n; k++)
        for (int i = 1; i < traces[k]->n; i++, at++) {
            struct slot s = {traces[k]->mbps[i],
                             traces[k]->time_s[i] - traces[k]->time_s[i - 1]};
            slot[at] = s;
            out->duration_s += s.s;
            mbit += s.mbps * s.s;
            if (s.mbps <= 0.0) zero_s += s.s;
        }
    out->mean = mbit / out->duration_s;
    out->zero_share = zero_s / out->duration_s;

    double squares = 0.0;
    for (int64_t i = 0; i < out->slots; i++)
        squares += (slot[i].mbps - out->mean) * (slot[i].mbps - out->mean) * slot[i].s;
    out->cv = sqrt(squares / out->duration_s) / out->mean;

    qsort(slot, (size_t)out->slots, sizeof *slot, by_rate);
    out->p5 = percentile(slot, out->slots, out->duration_s, 0.05);
    out->p50 = percentile(slot, out->slots, out->duration_s, 0.50);
    out->p95 = percentile(slot, out->slots, out->duration_s, 0.95);
    free(slot);
    return 0;
}
