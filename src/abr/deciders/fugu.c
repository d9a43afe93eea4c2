#include "abr/deciders/fugu.h"

#include "abr/deciders/forecast.h"
#include "abr/deciders/settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HORIZON = 5, BINS = 48 };

struct fugu_cfg {
    double factor;
};

/* chosen on training traces (test/score/rivals.mjs), in the order of qoe_profiles */
static const struct fugu_cfg SETS[QOE_PROFILES] = {
    /* product */
    {0.85},
    {0.8},
    {0.85},
    {0.9},
    {0.95},
    {0.9},
    /* papers */
    {1.2},
    {0.8},
    {1.1},
    {0.8}};

static const struct field ROWS[] = {{"factor", "X", "factor on the forecast",
                                     FIELD(struct fugu_cfg, factor), .lo = 0.01,
                                     .hi = 10},
                                    {0}};

struct fugu {
    struct fugu_cfg set[QOE_PROFILES];
    const struct view *v;
    double gain[VIEW_LEVELS + 1][VIEW_LEVELS];
    double kbps[FORECAST_QUANTILES];
    double value[2][BINS]
                [VIEW_LEVELS]; /* after a chunk at a level, of the chunks to come */
};

static double bin_s(const struct fugu *f)
{
    return f->v->buffer_max_s / (BINS - 1);
}

/* What a chunk of `bytes` at level k is expected to earn from buffer_s, without the switch. */
static double expect(const struct fugu *f, double bytes, int k, double buffer_s,
                     const double (*next)[VIEW_LEVELS])
{
    double sum = 0;
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        double left_s = buffer_s - bytes * 8e-3 / f->kbps[i];
        double worth = left_s < 0 ? f->v->qoe.mu_stall * left_s : 0;
        double after = fmin(fmax(left_s, 0) + f->v->chunk_s, f->v->buffer_max_s);
        if (next) worth += next[(int)(after / bin_s(f))][k];
        sum += worth * forecast_share[i];
    }
    return sum;
}

static double best_after(const struct fugu *f, const double *worth, int last, int *level)
{
    double best = -INFINITY;
    for (int k = 0; k < f->v->levels; k++) {
        double x = f->gain[last][k] + worth[k];
        if (x <= best) continue;
        best = x;
        if (level) *level = k;
    }
    return best;
}

static int fugu_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    struct fugu *f = self;
    struct forecast c = forecast_of(v);
    if (!(c.mean_kbps > 0)) return 0;
    double factor = f->set[settings_kind(&v->qoe)].factor, worth[VIEW_LEVELS];
    f->v = v;
    for (int i = 0; i < FORECAST_QUANTILES; i++)
        f->kbps[i] = factor * c.next_kbps[i];
    double bytes[VIEW_LEVELS];
    for (int k = 0; k < v->levels; k++)
        bytes[k] = forecast_bytes(&c, v->ladder_kbps[k] * v->chunk_s * 125);
    for (int i = 0; i <= v->levels; i++)
        view_rewards(f->gain[i], v, i < v->levels ? i : VIEW_LAST);

    int left = v->chunks ? v->chunks - v->chunk : HORIZON;
    int horizon = left < HORIZON ? left : HORIZON;
    const double(*next)[VIEW_LEVELS] = NULL;
    for (int j = horizon - 1; j > 0; j--) {
        double(*now)[VIEW_LEVELS] = f->value[j & 1];
        for (int b = 0; b < BINS; b++) {
            for (int k = 0; k < v->levels; k++)
                worth[k] = expect(f, bytes[k], k, b * bin_s(f), next);
            for (int last = 0; last < v->levels; last++)
                now[b][last] = best_after(f, worth, last, NULL);
        }
        next = (const double(*)[VIEW_LEVELS])now;
    }
    for (int k = 0; k < v->levels; k++)
        worth[k] = expect(f, forecast_bytes(&c, view_bytes(v, k)), k, v->buffer_s, next);
    int level = 0;
    (void)best_after(f, worth, v->levels, &level);
    return level;
}

int fugu_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    (void)ctx;
    struct fugu *f = calloc(1, sizeof *f);
    if (!f) return err_set(e, ERR_MEMORY, "no memory for a planner");
    memcpy(f->set, SETS, sizeof f->set);
    int rc = settings_read(f->set, sizeof *f->set, QOE_PROFILES, ROWS, arg, e);
    if (rc) {
        free(f);
        return rc;
    }
    out->self = f;
    out->decide = fugu_decide;
    out->free = free;
    return 0;
}
