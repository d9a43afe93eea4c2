#include "abr/deciders/mpc_tail.h"

#include "abr/deciders/settings.h"
#include "abr/deciders/simple.h"

#include <math.h>

enum { WINDOW = 5 };

/* chosen on training traces (test/score/rivals.mjs), in the order of qoe_profiles */
static const struct mpc_tail_cfg SETS[QOE_PROFILES] = {
    /* product */
    {0.65, 2, 2},
    {0.65, 2, 5},
    {0.5, 3, 0},
    {0.65, 3, 0},
    {0.5, 2, 0},
    {0.65, 3, 0},
    /* papers */
    {0.8, 3, 10},
    {0.5, 3, 0},
    {1.3, 2, 10},
    {0.5, 3, 0}};

static const struct field ROWS[] = {
    {"factor", "X", "factor on the forecast", FIELD(struct mpc_tail_cfg, factor),
     .lo = 0.01, .hi = 10},
    {"horizon", "N", "chunks that are planned", FIELD(struct mpc_tail_cfg, horizon),
     .lo = 1, .hi = MPC_TAIL_HORIZON},
    {"tail", "N", "chunks that the last level is held for",
     FIELD(struct mpc_tail_cfg, tail), .lo = 0, .hi = 1000},
    {0}};

struct tail_search {
    int levels, horizon;
    double chunk_s, mu_stall, tail, most_gain; /* most that one chunk earns */
    double gain[VIEW_LEVELS + 1][VIEW_LEVELS]; /* [levels]: after none */
    double download_s[MPC_TAIL_HORIZON][VIEW_LEVELS], held_s[VIEW_LEVELS];
    double best;
    int first, best_first;
};

static double tail_value(const struct tail_search *s, int level, double buffer_s)
{
    if (s->tail <= 0) return 0;
    double d = s->held_s[level], stall_s;
    if (d <= s->chunk_s)
        stall_s = d - buffer_s;
    else
        stall_s = s->tail * d - buffer_s - (s->tail - 1) * s->chunk_s;
    return s->tail * s->gain[level][level] - s->mu_stall * fmax(stall_s, 0);
}

static void tail_visit(struct tail_search *s, int j, int last, double value,
                       double buffer_s)
{
    if (j == s->horizon) {
        value += tail_value(s, last, buffer_s);
        if (value > s->best) {
            s->best = value;
            s->best_first = s->first;
        }
        return;
    }
    if (value + (s->horizon - j + s->tail) * s->most_gain <= s->best) return;
    for (int k = 0; k < s->levels; k++) {
        if (j == 0) s->first = k;
        double left_s = buffer_s - s->download_s[j][k];
        double stall_s = left_s < 0 ? -left_s : 0;
        tail_visit(s, j + 1, k, value + s->gain[last][k] - s->mu_stall * stall_s,
                   fmax(left_s, 0) + s->chunk_s);
    }
}

static double chunk_bytes(const struct view *v, const struct video *video, int j, int k)
{
    int chunk = v->chunk + j;
    if (j == 0) return view_bytes(v, k);
    if (video && video->levels == v->levels && chunk < video->chunks)
        return (double)video_chunk(video, chunk)[k];
    return v->ladder_kbps[k] * v->chunk_s * 125;
}

int mpc_tail_level(const struct mpc_tail_cfg *cfg, const struct view *v,
                   const struct video *video)
{
    double kbps = cfg->factor * simple_harmonic_kbps(v, v->n_history, WINDOW);
    if (!(kbps > 0)) return 0;
    int left = v->chunks ? v->chunks - v->chunk : 1 << 30;
    struct tail_search s = {.levels = v->levels,
                            .horizon = cfg->horizon < left ? cfg->horizon : left,
                            .chunk_s = v->chunk_s,
                            .mu_stall = v->qoe.mu_stall,
                            .best = -INFINITY};
    if (s.horizon < 1) s.horizon = 1;
    s.tail = fmax(fmin(cfg->tail, left - s.horizon), 0);
    for (int i = 0; i <= v->levels; i++)
        view_rewards(s.gain[i], v, i < v->levels ? i : VIEW_LAST);
    s.most_gain = -INFINITY;
    for (int k = 0; k < v->levels; k++) {
        s.most_gain = fmax(s.most_gain, fmax(s.gain[k][k], s.gain[v->levels][k]));
        s.held_s[k] = v->ladder_kbps[k] * v->chunk_s / kbps;
        for (int j = 0; j < s.horizon; j++)
            s.download_s[j][k] = chunk_bytes(v, video, j, k) * 8e-3 / kbps;
    }
    tail_visit(&s, 0, v->levels, 0, v->buffer_s);
    return s.best_first;
}

static int mpc_tail_set_level(const void *set, const struct view *v,
                              const struct video *video)
{
    return mpc_tail_level(set, v, video);
}

int mpc_tail_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                 struct err *e)
{
    static const struct settings_algo algo = {SETS, sizeof *SETS, ROWS,
                                              mpc_tail_set_level};
    (void)ctx;
    return settings_new(out, &algo, arg, e);
}
