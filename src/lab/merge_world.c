#include "lab/merge_world.h"

#include "abr/oracle.h"
#include "abr/player.h"
#include "base/pool.h"
#include "base/rng.h"

#include <assert.h>
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

/* What one chunk was worth to each profile. */
static void add_rewards(double *qoe, const struct player *p, int level, int previous)
{
    const double *kbps = p->view.ladder_kbps;
    for (int v = 0; v < V; v++)
        qoe[v] += qoe_chunk(&qoe_profiles[v].qoe, kbps[level],
                            previous < 0 ? 0 : kbps[previous], p->last.stall_s, kbps[0])
                      .reward;
}

/* ---- the scale ---- */

struct scaling {
    const struct merge_world *w;
    double *low, *best; /* (sessions, V) */
};

static void fixed_lowest(double *qoe, const struct merge_world *w, int s)
{
    struct emu_world world = emulated(w, s);
    struct player p;
    struct qoe any = qoe_profiles[0].qoe;
    player_start(&p, &world, w->row[s], &any, FIRST_LEVEL);
    int chunks = 0;
    for (bool end = false; !end; chunks++) {
        int previous = p.view.last_level;
        end = player_step(&p, 0, 1);
        add_rewards(qoe, &p, 0, previous);
    }
    for (int v = 0; v < V; v++)
        qoe[v] /= chunks;
}

static int scale_session(void *ctx, int s, struct err *e)
{
    struct scaling *c = ctx;
    struct emu_world world = emulated(c->w, s);
    fixed_lowest(c->low + (size_t)s * V, c->w, s);
    struct oracle *o = oracle_new(c->w->video, (long)NODES * c->w->video->chunks, e);
    int rc = o ? 0 : ERR_MEMORY;
    for (int v = 0; v < V && !rc; v++) {
        struct oracle_result best;
        rc = oracle_solve(&best, o, &world, c->w->row[s], &qoe_profiles[v].qoe,
                          FIRST_LEVEL, e);
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

static void play_one(float *score, const struct merge_world *w, int s,
                     const struct swift *policy, enum feat_layout layout,
                     const struct qoe *hint)
{
    struct emu_world world = emulated(w, s);
    struct player p;
    struct qoe told = hint ? *hint : view_default().qoe;
    player_start(&p, &world, w->row[s], &told, FIRST_LEVEL);
    double qoe[V] = {0};
    int chunks = 0;
    for (bool end = false; !end; chunks++) {
        float obs[FEAT_FULL_DIM];
        struct policy_choice choice;
        feat_observe(obs, layout, &p.view);
        int previous = p.view.last_level;
        int rc = swift_decide(&choice, policy, obs, feat_mask(&p.view), -1);
        int level = rc ? 0 : choice.action;
        end = player_step(&p, level, 1);
        add_rewards(qoe, &p, level, previous);
    }
    for (int v = 0; v < V; v++)
        score[v] = (float)((qoe[v] / chunks - w->low[v]) / (w->best[v] - w->low[v]));
}

void merge_world_play(float *scores, const struct merge_world *w,
                      const struct swift *policy, enum feat_layout layout,
                      const struct qoe *hint)
{
    assert(feat_dim(layout) <= FEAT_FULL_DIM && !feat_rolled(layout));
    for (int s = 0; s < w->sessions; s++)
        play_one(scores + (size_t)s * V, w, s, policy, layout, hint);
}

/* One chunk of one drawn session, at a time: sessions are played to a drawn chunk. */
static void one_state(float *obs, uint32_t *mask, const struct merge_world *w,
                      const struct swift *policy, enum feat_layout layout, struct rng *r)
{
    int s = (int)rng_below(r, (uint32_t)w->sessions);
    int stop = 1 + (int)rng_below(r, (uint32_t)w->video->chunks - 1);
    struct emu_world world = emulated(w, s);
    struct player p;
    struct qoe told = view_default().qoe;
    player_start(&p, &world, w->row[s], &told, FIRST_LEVEL);
    for (;;) {
        feat_observe(obs, layout, &p.view);
        *mask = feat_mask(&p.view);
        struct policy_choice choice;
        if (p.view.chunk >= stop) return;
        int rc = swift_decide(&choice, policy, obs, *mask, -1);
        if (player_step(&p, rc ? 0 : choice.action, 1)) return;
    }
}

void merge_world_states(float *obs, uint32_t *mask, int n, const struct merge_world *w,
                        const struct swift *policy, enum feat_layout layout,
                        uint64_t seed)
{
    struct rng r;
    rng_init(&r, seed, 0x737461746573);
    for (int i = 0; i < n; i++)
        one_state(obs + (size_t)i * (size_t)feat_dim(layout), &mask[i], w, policy, layout,
                  &r);
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

int merge_grid_points(int dim, int steps)
{
    double n = 1;
    for (int k = 1; k < dim; k++)
        n = n * (steps + k) / k;
    return (int)lround(n);
}

struct merge_grid *merge_grid_new(int dim, int steps, const struct merge_world *w,
                                  struct err *e)
{
    assert(dim >= 1 && dim <= MERGE_GRID_DIM && steps >= 1);
    struct merge_grid *g = calloc(1, sizeof *g);
    if (g) {
        *g = (struct merge_grid){dim,         steps, merge_grid_points(dim, steps),
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

/* The place of a point among all with these counts, of sum steps. */
static int place(const struct merge_grid *g, const int *count)
{
    int at = 0, left = g->steps;
    for (int k = 0; k < g->dim - 1; k++) {
        for (int c = 0; c < count[k]; c++)
            at += merge_grid_points(g->dim - 1 - k, left - c);
        left -= count[k];
    }
    return at;
}

void merge_grid_at(float *x, const struct merge_grid *g, int point)
{
    int left = g->steps;
    for (int k = 0; k < g->dim - 1; k++) {
        int count = 0, size;
        while (point >= (size = merge_grid_points(g->dim - 1 - k, left - count))) {
            point -= size;
            count++;
        }
        x[k] = (float)count / (float)g->steps;
        left -= count;
    }
    x[g->dim - 1] = (float)left / (float)g->steps;
}

/* y_k = steps (x_k + ... + x_{dim-1}) falls from steps to 0. Its whole part is a point of the
 * grid; adding 1 to the y of the largest fractions, one after the other, gives the others. */
struct merge_mix merge_grid_mix(const struct merge_grid *g, const float *x)
{
    int dim = g->dim, whole[MERGE_GRID_DIM + 1] = {0}, order[MERGE_GRID_DIM];
    double part[MERGE_GRID_DIM + 1] = {0}, sum = 0;
    for (int k = 0; k < dim; k++)
        sum += (double)x[k];
    double y = g->steps;
    whole[0] = g->steps;
    for (int k = 1; k < dim; k++) {
        y = fmax(0, y - g->steps * (double)x[k - 1] / sum);
        double near = round(y);
        if (fabs(y - near) < 1e-5) y = near;
        whole[k] = (int)floor(y);
        part[k] = y - whole[k];
        /* by falling fraction; equal ones in the order of k, so that y stays falling */
        int at = k - 1;
        for (; at > 0 && part[order[at - 1]] < part[k]; at--)
            order[at] = order[at - 1];
        order[at] = k;
    }

    struct merge_mix m = {0};
    double above = 1;
    for (int i = 0; i < dim; i++) {
        double share = above - (i < dim - 1 ? part[order[i]] : 0);
        if (share > 0) {
            int count[MERGE_GRID_DIM];
            for (int k = 0; k < dim; k++)
                count[k] = whole[k] - (k < dim - 1 ? whole[k + 1] : 0);
            m.point[m.n] = place(g, count);
            m.share[m.n++] = share;
        }
        if (i == dim - 1) break;
        above = part[order[i]];
        whole[order[i]]++;
    }
    return m;
}

void merge_grid_mean(double *out, const struct merge_grid *g, const struct merge_mix *m)
{
    for (int v = 0; v < V; v++) {
        out[v] = 0;
        for (int i = 0; i < m->n; i++)
            out[v] += m->share[i] * g->mean[m->point[i] * V + v];
    }
}

double merge_grid_score(const struct merge_grid *g, const struct merge_mix *m,
                        int session, int task)
{
    double sum = 0;
    for (int i = 0; i < m->n; i++) {
        size_t at = (size_t)m->point[i] * (size_t)g->sessions + (size_t)session;
        sum += m->share[i] * (double)g->scores[at * V + (size_t)task];
    }
    return sum;
}
