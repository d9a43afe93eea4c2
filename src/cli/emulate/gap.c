#include "cli/emulate/gap.h"

#include <stdlib.h>

#include "base/stats.h"
#include "cli/out.h"

enum { RESAMPLES = 10000 };

int gap_init(struct gap *g, int n, struct err *e)
{
    g->n = n;
    g->gain = calloc(2 * (size_t)n, sizeof *g->gain);
    g->most = g->gain + n;
    return g->gain ? 0 : err_set(e, ERR_MEMORY, "out of memory");
}

void gap_add(struct gap *g, const double *before, const double *after,
             const double *oracle, double scale)
{
    for (int i = 0; i < g->n; i++) {
        g->gain[i] += (after[i] - before[i]) / scale;
        g->most[i] += (oracle[i] - before[i]) / scale;
    }
}

void gap_print(struct out *rows, const struct gap *g, uint64_t seed)
{
    struct stats_interval won = stats_bootstrap(g->gain, g->n, .95, RESAMPLES, seed);
    struct stats_interval share =
        stats_bootstrap_ratio(g->gain, g->most, g->n, .95, RESAMPLES, seed);
    out_cells(rows,
              "gain=%.3f gain_lo=%.3f gain_hi=%.3f gap_closed=%.3f gap_lo=%.3f "
              "gap_hi=%.3f",
              won.mean, won.lo, won.hi, share.mean, share.lo, share.hi);
    out_brief(rows, "closed %", false, "%.1f", 100 * share.mean);
}

void gap_free(struct gap *g)
{
    free(g->gain);
}
