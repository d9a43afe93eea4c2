#include "abr/deciders/simple.h"

#include "base/rng.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define RATE_WINDOW 5
static const double RESERVOIR_S = 5, CUSHION_S = 10;

double simple_harmonic_kbps(const struct view *v, int end, int n)
{
    int from = end > n ? end - n : 0;
    if (from >= end) return 0;
    double inverse = 0;
    for (int i = from; i < end; i++)
        inverse += 1 / fmax(v->throughput_kbps[i], 1e-3);
    return (end - from) / inverse;
}

bool simple_points(double *u, const struct view *v)
{
    if (v->qoe.utility != QOE_POINTS) return false;
    double most = 0;
    for (int k = 0; k < v->levels; k++)
        u[k] = most = fmax(most, (v->points[k] - v->points[0]) / SIMPLE_POINTS);
    return most > 0;
}

int simple_rate_level(const struct view *v)
{
    double kbps = simple_harmonic_kbps(v, v->n_history, RATE_WINDOW);
    int level = 0;
    while (level + 1 < v->levels && v->ladder_kbps[level + 1] <= kbps)
        level++;
    return level;
}

int simple_buffer_level(const struct view *v)
{
    double scale = fmin(1, v->buffer_max_s / (RESERVOIR_S + CUSHION_S));
    double reservoir = RESERVOIR_S * scale, cushion = CUSHION_S * scale;
    int top = v->levels - 1;
    if (v->buffer_s < reservoir) return 0;
    if (v->buffer_s >= reservoir + cushion) return top;
    return (int)(top * (v->buffer_s - reservoir) / cushion);
}

struct fixed {
    int level;
};

static int fixed_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    int level = ((const struct fixed *)self)->level;
    return level < v->levels ? level : v->levels - 1;
}

int simple_fixed_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                     struct err *e)
{
    (void)ctx;
    int64_t level;
    int rc = text_int(&level, arg, 0, VIEW_LEVELS - 1, "level of fixed-N", e);
    if (rc) return rc;
    struct fixed *f = malloc(sizeof *f);
    if (!f) return err_set(e, ERR_MEMORY, "no memory for a fixed-level policy");
    f->level = (int)level;
    out->self = f;
    out->decide = fixed_decide;
    out->free = free;
    return 0;
}

struct chance {
    uint64_t seed, session_key;
};

static void random_reset(void *self, uint64_t session_key)
{
    ((struct chance *)self)->session_key = session_key;
}

static int random_decide(void *self, const struct view *v, const struct video *video)
{
    (void)video;
    const struct chance *c = self;
    double u = rng_uniform_at(c->seed, c->session_key, (uint64_t)v->chunk);
    return (int)(u * v->levels);
}

int simple_random_new(struct algo *out, const char *arg, const struct algo_ctx *ctx,
                      struct err *e)
{
    (void)arg;
    struct chance *c = calloc(1, sizeof *c);
    if (!c) return err_set(e, ERR_MEMORY, "no memory for the random policy");
    c->seed = ctx ? ctx->seed : 0;
    out->self = c;
    out->reset = random_reset;
    out->decide = random_decide;
    out->free = free;
    return 0;
}
