#include "abr/deciders/bola_e.h"

#include "abr/deciders/simple.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SAMPLES = 4, FREE_CHUNKS = 2 };
static const double LOW_S = 10, PER_LEVEL_S = 2, STABLE_S = 12, SAFETY = 0.9,
                    INSUFFICIENT = 0.7;

struct bola_e {
    bool steady;
    double placeholder_s;
};

struct bola_e_gains {
    double vp, gp, utility[VIEW_LEVELS];
};

static struct bola_e_gains bola_e_gains(const struct view *v)
{
    struct bola_e_gains g;
    bool points = simple_points(g.utility, v);
    for (int k = 0; k < v->levels; k++) {
        double u = points ? g.utility[k] : log(v->ladder_kbps[k] / v->ladder_kbps[0]);
        g.utility[k] = u + 1;
    }
    double whole = fmax(STABLE_S, LOW_S + PER_LEVEL_S * v->levels);
    double low = LOW_S * fmin(1, v->buffer_max_s / whole);
    whole *= fmin(1, v->buffer_max_s / whole);
    g.gp = (g.utility[v->levels - 1] - 1) / (whole / low - 1);
    g.vp = low / g.gp;
    return g;
}

static double mean_kbps(const struct view *v)
{
    int n = v->n_history < SAMPLES ? v->n_history : SAMPLES;
    double sum = 0;
    for (int i = v->n_history - n; i < v->n_history; i++)
        sum += v->throughput_kbps[i];
    return n ? sum / n : 0;
}

static int level_under(const struct view *v, double kbps)
{
    int level = 0;
    while (level + 1 < v->levels && v->ladder_kbps[level + 1] <= kbps)
        level++;
    return level;
}

/* Least buffer at which the level has the highest score. */
static double least_buffer_s(const struct bola_e_gains *g, const struct view *v,
                             int level)
{
    double least = 0, rate = v->ladder_kbps[level];
    for (int i = 0; i < level; i++) {
        double other = v->ladder_kbps[i];
        double cross =
            g->vp *
            (g->gp + (rate * g->utility[i] - other * g->utility[level]) / (rate - other));
        least = fmax(least, cross);
    }
    return least;
}

static int buffer_level(const struct bola_e_gains *g, const struct view *v,
                        double buffer_s)
{
    int best = 0;
    double most = -INFINITY;
    for (int k = 0; k < v->levels; k++) {
        double score = (g->vp * (g->utility[k] + g->gp) - buffer_s) / v->ladder_kbps[k];
        if (score < most) continue;
        most = score;
        best = k;
    }
    return best;
}

static void bola_e_reset(void *self, uint64_t session_key)
{
    (void)session_key;
    *(struct bola_e *)self = (struct bola_e){0};
}

/* BOLA's own choice. */
static int bola_e_level(struct bola_e *b, const struct view *v)
{
    struct bola_e_gains g = bola_e_gains(v);
    int by_throughput = level_under(v, SAFETY * mean_kbps(v));
    if (!b->steady) {
        b->placeholder_s = least_buffer_s(&g, v, by_throughput);
        b->steady = v->n_history > 0 && v->buffer_s >= v->chunk_s;
        return by_throughput;
    }
    b->placeholder_s = fmin(b->placeholder_s, fmax(0, v->buffer_max_s - v->buffer_s));
    int level = buffer_level(&g, v, v->buffer_s + b->placeholder_s);
    if (level > v->last_level && level > by_throughput)
        level = by_throughput > v->last_level ? by_throughput : v->last_level;
    double over = v->buffer_s + b->placeholder_s - g.vp * (g.utility[level] + g.gp);
    b->placeholder_s -= fmin(fmax(over, 0), b->placeholder_s);
    return level;
}

static int bola_e_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    int level = bola_e_level(self, v);
    if (v->chunk < FREE_CHUNKS) return level;
    int most = level_under(v, INSUFFICIENT * mean_kbps(v) * v->buffer_s / v->chunk_s);
    return level < most ? level : most;
}

int bola_e_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
               struct err *e)
{
    (void)arg, (void)ctx;
    struct bola_e *b = calloc(1, sizeof *b);
    if (!b) return err_set(e, ERR_MEMORY, "no memory for BOLA-E");
    out->self = b;
    out->reset = bola_e_reset;
    out->decide = bola_e_decide;
    out->free = free;
    return 0;
}
