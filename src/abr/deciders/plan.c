#include "abr/deciders/plan.h"

#include <math.h>
#include <string.h>

struct plan_task {
    const struct view *v;
    double first[VIEW_LEVELS]; /* r(k | last) */
    /* r(m | k) + (T - 1) r(m | m); 0 without later chunks */
    double held[VIEW_LEVELS][VIEW_LEVELS];
    double bytes[VIEW_LEVELS];
    double tail, mu_held;
};

static void plan_prepare(struct plan_task *t, const struct plan_cfg *cfg,
                         const struct view *v)
{
    t->v = v;
    t->tail = cfg->tail;
    if (v->chunks) t->tail = fmin(t->tail, v->chunks - v->chunk - 1);
    t->mu_held = cfg->caution * v->qoe.mu_stall;
    view_rewards(t->first, v, VIEW_LAST);
    for (int k = 0; k < v->levels; k++) {
        t->bytes[k] = view_bytes(v, k);
        view_rewards(t->held[k], v, k);
    }
    double steady[VIEW_LEVELS];
    for (int m = 0; m < v->levels; m++)
        steady[m] = (t->tail - 1) * t->held[m][m];
    for (int k = 0; k < v->levels; k++)
        for (int m = 0; m < v->levels; m++)
            t->held[k][m] += steady[m];
}

/* late[m]: the held level m stalls by what this exceeds the buffer. */
static void plan_quantile(double *value, const struct plan_task *t, double next_kbps,
                          double later_kbps)
{
    const struct view *v = t->v;
    double late[VIEW_LEVELS];
    for (int m = 0; m < v->levels; m++) {
        double e = v->ladder_kbps[m] * v->chunk_s / later_kbps;
        late[m] = e <= v->chunk_s ? e : t->tail * e - (t->tail - 1) * v->chunk_s;
    }
    for (int k = 0; k < v->levels; k++) {
        double left_s = v->buffer_s - t->bytes[k] * 8e-3 / next_kbps;
        double worth = t->first[k];
        if (left_s < 0) {
            worth += v->qoe.mu_stall * left_s;
            left_s = 0;
        }
        double buffer_s = left_s + v->chunk_s;
        if (buffer_s > v->buffer_max_s) buffer_s = v->buffer_max_s;
        double best = t->tail < 1 ? 0 : -INFINITY;
        for (int m = 0; t->tail >= 1 && m < v->levels; m++) {
            double stall_s = late[m] - buffer_s;
            double x = t->held[k][m] - t->mu_held * (stall_s > 0 ? stall_s : 0);
            best = x > best ? x : best;
        }
        value[k] = worth + best;
    }
}

void plan_values(struct plan *out, const struct plan_cfg *cfg, const struct view *v,
                 const struct forecast *f)
{
    struct plan_task t;
    plan_prepare(&t, cfg, v);
    memset(out->mean, 0, sizeof out->mean);
    for (int i = 0; i < FORECAST_QUANTILES; i++) {
        plan_quantile(out->value[i], &t, cfg->factor * f->next_kbps[i],
                      cfg->factor * f->later_kbps[i]);
        for (int k = 0; k < v->levels; k++)
            out->mean[k] += out->value[i][k] * (1.0 / FORECAST_QUANTILES);
    }
}
