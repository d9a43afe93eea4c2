#include "abr/deciders/hold.h"

#include "abr/deciders/forecast.h"
#include "abr/deciders/settings.h"

#include <math.h>

/* chosen on training traces (test/score/rivals.mjs): documentary, live, news, pensieve */
static const struct hold_cfg SETS[QOE_PROFILES] = {
    {1, 10, 1}, {0.8, 5, 1.5}, {1, 5, 1}, {0.8, 5, 1.5}};

static const struct field ROWS[] = {{"factor", "X", "factor on the forecast",
                                     FIELD(struct hold_cfg, factor), .lo = 0.01,
                                     .hi = 10},
                                    {"tail", "N", "chunks that a level is held for",
                                     FIELD(struct hold_cfg, tail), .lo = 1, .hi = 1000},
                                    {"caution", "X", "factor on stalls while it is held",
                                     FIELD(struct hold_cfg, caution), .lo = 0, .hi = 100},
                                    {0}};

struct hold_task {
    const struct view *v;
    double gain[VIEW_LEVELS + 1][VIEW_LEVELS]; /* [levels]: after the last level */
    double tail, mu_held;
};

static double held_value(const struct hold_task *t, int k, double kbps, double buffer_s)
{
    const struct view *v = t->v;
    if (t->tail < 1) return 0;
    double best = -INFINITY;
    for (int m = 0; m < v->levels; m++) {
        double e = v->ladder_kbps[m] * v->chunk_s / kbps;
        double stall_s = e <= v->chunk_s
                             ? e - buffer_s
                             : t->tail * e - buffer_s - (t->tail - 1) * v->chunk_s;
        double x = t->gain[k][m] + (t->tail - 1) * t->gain[m][m];
        if (stall_s > 0) x -= t->mu_held * stall_s;
        if (x > best) best = x;
    }
    return best;
}

static double worth(const struct hold_task *t, int k, double next_kbps, double later_kbps)
{
    const struct view *v = t->v;
    double left_s = v->buffer_s - view_bytes(v, k) * 8e-3 / next_kbps;
    double value = t->gain[v->levels][k];
    if (left_s < 0) {
        value += v->qoe.mu_stall * left_s;
        left_s = 0;
    }
    return value +
           held_value(t, k, later_kbps, fmin(left_s + v->chunk_s, v->buffer_max_s));
}

int hold_level(const struct hold_cfg *cfg, const struct view *v)
{
    struct forecast f = forecast_of(v);
    if (!(f.mean_kbps > 0)) return 0;
    struct hold_task t = {
        .v = v, .tail = cfg->tail, .mu_held = cfg->caution * v->qoe.mu_stall};
    if (v->chunks) t.tail = fmin(t.tail, v->chunks - v->chunk - 1);
    for (int i = 0; i <= v->levels; i++)
        qoe_ladder(t.gain[i], &v->qoe, v->ladder_kbps, v->levels,
                   i < v->levels ? i : v->last_level);
    int best = 0;
    double most = -INFINITY;
    for (int k = 0; k < v->levels; k++) {
        double sum = 0;
        for (int i = 0; i < FORECAST_QUANTILES; i++)
            sum +=
                worth(&t, k, cfg->factor * f.next_kbps[i], cfg->factor * f.later_kbps[i]);
        if (sum <= most) continue;
        most = sum;
        best = k;
    }
    return best;
}

static int hold_set_level(const void *set, const struct view *v,
                          const struct video *video)
{
    (void)video;
    return hold_level(set, v);
}

int hold_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    static const struct settings_algo algo = {SETS, sizeof *SETS, ROWS, hold_set_level};
    (void)ctx;
    return settings_new(out, &algo, arg, e);
}
