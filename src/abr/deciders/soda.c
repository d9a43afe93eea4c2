#include "abr/deciders/soda.h"

#include "abr/deciders/settings.h"
#include "abr/deciders/simple.h"

#include <math.h>

enum { STEPS = 5, WINDOW = 5 };
static const double EPSILON = 0.05, DT0_S = 4;

/* chosen on training traces (test/score/rivals.mjs), in the order of qoe_profiles */
static const struct soda_cfg SETS[QOE_PROFILES] = {
    /* product */
    {0.7, 1, 5},
    {0.5, 1, 20},
    {0.85, 3, 2},
    {0.5, 3, 5},
    {0.5, 10, 5},
    {0.5, 3, 5},
    /* papers */
    {0.5, 0.1, 10},
    {0.7, 1, 0.3},
    {0.15, 0.03, 0.3},
    {0.7, 1, 0.3}};

static const struct field ROWS[] = {{"target", "SHARE", "buffer aimed at, of its limit",
                                     FIELD(struct soda_cfg, target), .lo = 0.01, .hi = 1},
                                    {"beta", "X", "weight of the buffer's distance",
                                     FIELD(struct soda_cfg, beta), .lo = 0, .hi = 1e6},
                                    {"gamma", "X", "weight of switches",
                                     FIELD(struct soda_cfg, gamma), .lo = 0, .hi = 1e6},
                                    {0}};

struct soda_search {
    int levels;
    double chunk_s, target_s, limit_s, beta, gamma;
    double v[VIEW_LEVELS], media_s[VIEW_LEVELS]; /* of a step, at a level */
    double best;
    int first, best_first;
};

static double soda_buffer_cost(const struct soda_search *s, double x)
{
    double d = (x - s->target_s) / DT0_S;
    return s->beta * d * d * (d > 0 ? EPSILON : 1);
}

/* way: 1 rising, -1 falling, 0 none yet */
static void soda_visit(struct soda_search *s, int n, int last, int way, double cost,
                       double x)
{
    if (cost >= s->best) return;
    if (n == STEPS) {
        s->best = cost;
        s->best_first = s->first;
        return;
    }
    for (int k = 0; k < s->levels; k++) {
        int step = last < 0 || k == last ? 0 : k > last ? 1 : -1;
        if (way && step && step != way) continue;
        double after = fmin(x + s->media_s[k] - s->chunk_s, s->limit_s);
        if (after < 0) continue;
        double change = last < 0 ? 0 : s->v[k] - s->v[last];
        if (n == 0) s->first = k;
        soda_visit(s, n + 1, k, step ? step : way,
                   cost + s->v[k] * s->media_s[k] / DT0_S + soda_buffer_cost(s, after) +
                       s->gamma * change * change,
                   after);
    }
}

int soda_level(const struct soda_cfg *cfg, const struct view *v)
{
    double kbps = simple_harmonic_kbps(v, v->n_history, WINDOW);
    if (!(kbps > 0)) return 0;
    struct soda_search s = {.levels = v->levels,
                            .chunk_s = v->chunk_s,
                            .target_s = cfg->target * v->buffer_max_s,
                            .limit_s = v->buffer_max_s,
                            .beta = cfg->beta,
                            .gamma = cfg->gamma,
                            .best = INFINITY};
    double u[VIEW_LEVELS];
    bool points = simple_points(u, v);
    int top = v->levels - 1;
    for (int k = 0; k < v->levels; k++) {
        s.v[k] = points ? u[top] - u[k] : log(v->ladder_kbps[top] / v->ladder_kbps[k]);
        s.media_s[k] = kbps * v->chunk_s / v->ladder_kbps[k];
    }
    soda_visit(&s, 0, v->last_level, 0, 0, v->buffer_s);
    return s.best_first;
}

static int soda_set_level(const void *set, const struct view *v,
                          const struct video *video)
{
    (void)video;
    return soda_level(set, v);
}

int soda_new(struct algo *out, const char *arg, const struct algo_ctx *ctx, struct err *e)
{
    static const struct settings_algo algo = {SETS, sizeof *SETS, ROWS, soda_set_level};
    (void)ctx;
    return settings_new(out, &algo, arg, e);
}
