#include "lab/merge/merge_world.h"

#include "abr/deciders/oracle.h"
#include "abr/deciders/window.h"
#include "abr/emulator/player.h"
#include "base/pool.h"
#include "base/rng.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = MERGE_TASKS, FIRST_LEVEL = 1, START_ROW = 1, NODES = 1000 /* per chunk */ };

/* ---- sessions ---- */

struct merge_world *merge_world_new(const struct corpus *corpus,
                                    const struct video *video, int starts, uint64_t seed,
                                    struct err *e)
{
    struct merge_world *w = calloc(1, sizeof *w);
    size_t n = (size_t)corpus->n * (size_t)starts;
    if (w) {
        w->trace = calloc(n + 1, sizeof *w->trace);
        w->row = calloc(n + 1, sizeof *w->row);
    }
    if (!w || !w->trace || !w->row) {
        merge_world_free(w);
        err_set(e, ERR_MEMORY, "no memory for %zu sessions", n);
        return NULL;
    }
    w->corpus = corpus;
    w->video = video;
    struct rng r;
    rng_init(&r, seed, 0x776f726c64);
    for (int s = 0; s < starts; s++)
        for (int i = 0; i < corpus->n; i++) {
            const struct trace *t = corpus->traces[i];
            w->trace[w->sessions] = t;
            w->row[w->sessions++] =
                s ? 1 + (int)rng_below(&r, (uint32_t)t->n - 1) : START_ROW;
        }
    return w;
}

void merge_world_free(struct merge_world *w)
{
    if (!w) return;
    free((void *)w->trace);
    free(w->row);
    free(w);
}

static struct emu_world emulated(const struct merge_world *w, int s)
{
    return (struct emu_world){w->video, w->trace[s], emu_cfg_default()};
}

/* The reward of one chunk for each profile. */
static void add_rewards(double *qoe, const struct player *p)
{
    for (int v = 0; v < V; v++)
        qoe[v] += player_felt(p, &qoe_papers[v].qoe).reward;
}

/* How a session is played, and what is kept of it. */
struct playing {
    const struct packed *policy; /* NULL: the lowest level, always */
    enum feat_layout layout;
    const struct qoe *hint; /* in the observation; NULL: the usual weights */
    int stop;               /* the chunk before which it ends */
    double *qoe;            /* += the rewards of each profile (V); NULL: not wanted */
    float *obs;             /* the last observation; NULL: not wanted */
    uint32_t *mask;         /* of that observation; NULL: not wanted */
};

/* Returns the chunks played. */
static int play_session(const struct merge_world *w, int s, const struct playing *how)
{
    struct emu_world world = emulated(w, s);
    struct player p;
    struct qoe hint = how->hint ? *how->hint : qoe_find("pensieve")->qoe;
    float own[FEAT_FULL_DIM], *obs = how->obs ? how->obs : own;
    player_start(&p, &world, w->row[s], &hint, FIRST_LEVEL);
    for (int chunks = 0;; chunks++) {
        uint32_t levels = feat_mask(&p.view);
        struct policy_choice choice = {0};
        struct window window;
        const struct view *seen = window_see(&window, &p.view, levels);
        uint32_t mask = window_mask(&window, levels);
        if (how->policy) feat_observe(obs, how->layout, seen);
        if (how->mask) *how->mask = mask;
        if (p.view.chunk >= how->stop) return chunks;
        int rc = how->policy ? packed_decide(&choice, how->policy, obs, mask, -1) : 0;
        bool end = player_step(&p, rc ? 0 : window_level(&window, choice.action), 1);
        if (how->qoe) add_rewards(how->qoe, &p);
        if (end) return chunks + 1;
    }
}

/* ---- the scale ---- */

struct scaling {
    const struct merge_world *w;
    double *low, *best; /* (sessions, V) */
};

static int scale_session(void *ctx, int s, struct err *e)
{
    struct scaling *c = ctx;
    struct emu_world world = emulated(c->w, s);
    double *low = c->low + (size_t)s * V;
    int chunks = play_session(c->w, s, &(struct playing){.stop = INT_MAX, .qoe = low});
    for (int v = 0; v < V; v++)
        low[v] /= chunks;
    struct oracle *o = oracle_new(c->w->video, (long)NODES * c->w->video->chunks, e);
    int rc = o ? 0 : ERR_MEMORY;
    for (int v = 0; v < V && !rc; v++) {
        struct oracle_result best;
        rc = oracle_solve(&best, o, &world, c->w->row[s], &qoe_papers[v].qoe, FIRST_LEVEL,
                          e);
        if (!rc) c->best[s * V + v] = best.value / (c->w->video->chunks - 1);
    }
    oracle_free(o);
    return rc;
}

int merge_world_scale(struct merge_world *w, int threads, struct err *e)
{
    size_t n = (size_t)w->sessions;
    struct scaling c = {w, calloc(n * V, sizeof(double)), calloc(n * V, sizeof(double))};
    int rc = c.low && c.best
                 ? pool_try(w->sessions, threads, scale_session, &c, e)
                 : err_set(e, ERR_MEMORY, "no memory to scale %zu sessions", n);
    for (int s = 0; s < w->sessions && !rc; s++) {
        for (int v = 0; v < V; v++) {
            w->low[v] += c.low[s * V + v] / w->sessions;
            w->best[v] += c.best[s * V + v] / w->sessions;
        }
    }
    free(c.low);
    free(c.best);
    return rc;
}

/* ---- policies ---- */

void merge_world_play(float *scores, const struct merge_world *w,
                      const struct packed *policy, enum feat_layout layout,
                      const struct qoe *hint)
{
    assert(feat_dim(layout) <= FEAT_FULL_DIM && !feat_rolled(layout));
    for (int s = 0; s < w->sessions; s++) {
        double qoe[V] = {0};
        const struct playing how = {.policy = policy,
                                    .layout = layout,
                                    .hint = hint,
                                    .stop = INT_MAX,
                                    .qoe = qoe};
        int chunks = play_session(w, s, &how);
        for (int v = 0; v < V; v++)
            scores[s * V + v] =
                (float)((qoe[v] / chunks - w->low[v]) / (w->best[v] - w->low[v]));
    }
}

void merge_world_states(float *obs, uint32_t *mask, int n, const struct merge_world *w,
                        const struct packed *policy, enum feat_layout layout,
                        uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0x737461746573);
    for (int i = 0; i < n; i++) {
        int session = (int)rng_below(&r, (uint32_t)w->sessions);
        int stop = 1 + (int)rng_below(&r, (uint32_t)w->video->chunks - 1);
        float *own = obs + (size_t)i * (size_t)feat_dim(layout);
        play_session(w, session,
                     &(struct playing){policy, layout, NULL, stop, NULL, own, &mask[i]});
    }
}

void merge_world_look(float *obs, const struct merge_world *w,
                      const struct packed *policy)
{
    for (int s = 0; s < w->sessions; s++)
        play_session(w, s,
                     &(struct playing){policy, FEAT_BLIND, NULL, 1 + MERGE_LOOK, NULL,
                                       obs + (size_t)s * FEAT_FULL_DIM, NULL});
}

void merge_world_mean(double *out, const struct merge_world *w, const float *scores)
{
    for (int v = 0; v < V; v++) {
        out[v] = 0;
        for (int s = 0; s < w->sessions; s++)
            out[v] += (double)scores[s * V + v] / w->sessions;
    }
}

/* ---- the grid: points in lexicographic order of their counts ---- */

struct merge_grid *merge_grid_new(int dim, int steps, const struct merge_world *w,
                                  struct err *e)
{
    assert(dim >= 1 && dim <= LATTICE_DIM_MAX && steps >= 1);
    struct merge_grid *g = calloc(1, sizeof *g);
    if (g) {
        *g = (struct merge_grid){dim,         steps, lattice_points(dim, steps),
                                 w->sessions, NULL,  NULL};
        size_t rows = (size_t)g->points;
        g->scores = calloc(rows * (size_t)w->sessions * V, sizeof *g->scores);
        g->mean = calloc(rows * V, sizeof *g->mean);
    }
    if (g && g->scores && g->mean) return g;
    merge_grid_free(g);
    err_set(e, ERR_MEMORY, "no memory for a grid of 1 / %d", steps);
    return NULL;
}

void merge_grid_free(struct merge_grid *g)
{
    if (!g) return;
    free(g->scores);
    free(g->mean);
    free(g);
}

void merge_grid_mean(double *out, const struct merge_grid *g, const struct lattice_mix *m)
{
    for (int v = 0; v < V; v++) {
        out[v] = 0;
        for (int i = 0; i < m->n; i++)
            out[v] += m->share[i] * g->mean[m->point[i] * V + v];
    }
}

double merge_grid_score(const struct merge_grid *g, const struct lattice_mix *m,
                        int session, int task)
{
    double sum = 0;
    for (int i = 0; i < m->n; i++) {
        size_t at = (size_t)m->point[i] * (size_t)g->sessions + (size_t)session;
        sum += m->share[i] * (double)g->scores[at * V + (size_t)task];
    }
    return sum;
}
