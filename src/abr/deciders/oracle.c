#include "oracle_priv.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nodes of a stage: 48 chunks of 6 levels need up to 300,000 on slow links with news
 * weights, .3 kB each, and mostly a tenth of that. Memory that is not touched costs nothing. */
#define NODES_PER_CHUNK 10000
#define NODES_MAX 1000000
#define STAGES 20
static const double FIRST_SIDE_S = 4, COARSEST_SIDE_S = 1e5, SIDE_RATIO = 4;
/* Emulator steps that polishing a solve's plans may take. */
#define POLISH_STEPS 10000000

/* what rounding may take from a bound or hide in a plan, per session */
static const double ROUNDING = 1e-9;

struct oracle {
    int levels, chunks;
    struct oracle_graph *graph;
    int *plan, *trial;  /* (chunks) */
    struct emu *states; /* (chunks): before each chunk of the plan */
    double *values;     /* (chunks + 1): what the plan has earned before each chunk */
    double value;
    long steps; /* of the emulator, in this solve */
};

struct oracle *oracle_new(const struct video *video, long node_budget, struct err *e)
{
    struct oracle *o = calloc(1, sizeof *o);
    if (!o) goto fail;
    size_t n = (size_t)video->chunks + 1;
    o->levels = video->levels;
    o->chunks = video->chunks;
    o->plan = calloc(n, sizeof *o->plan);
    o->trial = calloc(n, sizeof *o->trial);
    o->states = calloc(n, sizeof *o->states);
    o->values = calloc(n, sizeof *o->values);
    if (node_budget <= 0) node_budget = (long)NODES_PER_CHUNK * video->chunks;
    if (node_budget > NODES_MAX) node_budget = NODES_MAX;
    o->graph = oracle_graph_new(video, node_budget, e);
    if (o->plan && o->trial && o->states && o->values && o->graph) return o;
fail:
    oracle_free(o);
    err_set(e, ERR_MEMORY, "no memory for the oracle");
    return NULL;
}

void oracle_free(struct oracle *o)
{
    if (!o) return;
    oracle_graph_free(o->graph);
    free(o->plan);
    free(o->trial);
    free(o->states);
    free(o->values);
    free(o);
}

static double reward(const struct oracle_task *t, int prev, int level, double stall_s)
{
    return t->gain[prev < 0 ? t->video->levels : prev][level] - t->mu_stall * stall_s;
}

static int level_before(const struct oracle_task *t, const int *levels, int chunk)
{
    return chunk == t->chunk ? t->level : levels[chunk - 1];
}

/* The trial's value when it equals the plan before `from`. With `keep` it becomes the plan. */
static double oracle_play(struct oracle *o, const struct oracle_task *t,
                          const int *levels, int from, bool keep)
{
    struct emu m = o->states[from];
    double value = o->values[from];
    for (int chunk = from; chunk < o->chunks; chunk++) {
        if (keep) {
            o->states[chunk] = m;
            o->values[chunk] = value;
        }
        struct emu_result r;
        emu_step(&m, levels[chunk], 1, &r);
        o->steps++;
        value += reward(t, level_before(t, levels, chunk), levels[chunk], r.rebuffer_s);
    }
    if (keep) {
        o->value = value;
        memcpy(o->plan, levels, (size_t)o->chunks * sizeof *o->plan);
    }
    return value;
}

static bool try_plan(struct oracle *o, const struct oracle_task *t, const int *levels,
                     int from)
{
    if (!(oracle_play(o, t, levels, from, false) > o->value)) return false;
    oracle_play(o, t, levels, from, true);
    return true;
}

/* Sets every run of up to `longest` chunks to every level as long as that helps. */
static void polish(struct oracle *o, const struct oracle_task *t, int longest)
{
    for (bool again = true; again;) {
        again = false;
        for (int from = t->chunk; from < o->chunks; from++) {
            if (o->steps > POLISH_STEPS) return;
            for (int k = 0; k < o->levels; k++) {
                memcpy(o->trial, o->plan, (size_t)o->chunks * sizeof *o->trial);
                for (int to = from; to < o->chunks && to < from + longest; to++) {
                    bool same = o->trial[to] == k;
                    o->trial[to] = k;
                    if (!same && try_plan(o, t, o->trial, from)) again = true;
                }
            }
        }
    }
}

static void fill_task(struct oracle_task *t, const struct emu_world *w,
                      const struct qoe *qoe)
{
    const struct video *v = w->video;
    t->video = v;
    t->rtt_s = w->cfg.rtt_s;
    t->buffer_max_s = w->cfg.buffer_max_s;
    t->drain_s = w->cfg.drain_s;
    t->mu_stall = qoe->mu_stall;
    for (int prev = 0; prev <= v->levels; prev++)
        for (int k = 0; k < v->levels; k++)
            t->gain[prev][k] = qoe_chunk(qoe, v->ladder_kbps[k],
                                         prev < v->levels ? v->ladder_kbps[prev] : 0, 0,
                                         v->ladder_kbps[0])
                                   .reward;
}

/* Chunk 0 when it is given. The link's clock follows from the delay and the sleep, which is
 * what the buffer lost (the reported sleep is only its last part, see emu.h). */
static void fetch_first(struct oracle_task *t, struct emu *m, int first_level)
{
    t->chunk = 0;
    t->level = -1;
    t->clock_s = t->buffer_s = 0;
    if (first_level < 0) return;
    struct emu_result r;
    emu_step(m, first_level, 1, &r);
    t->chunk = 1;
    t->level = first_level;
    t->buffer_s = r.buffer_s;
    t->clock_s = r.delay_ms / 1000 - t->rtt_s + t->video->chunk_s - r.buffer_s;
}

int oracle_solve(struct oracle_result *out, struct oracle *o,
                 const struct emu_world *world, int start_row, const struct qoe *qoe,
                 int first_level, struct err *e)
{
    assert(world->video->levels == o->levels && world->video->chunks == o->chunks);
    assert(first_level < 0 || o->chunks > 1);
    struct oracle_task task;
    fill_task(&task, world, qoe);
    struct emu m;
    emu_start(&m, world, start_row);
    fetch_first(&task, &m, first_level);
    struct link *link = link_new(world, start_row, e);
    if (!link) return ERR_MEMORY;
    task.link = link;

    o->steps = 0;
    /* a first plan: the best constant level, improved */
    o->states[task.chunk] = m;
    o->values[task.chunk] = 0;
    o->value = -INFINITY;
    for (int k = 0; k < o->levels; k++) {
        for (int i = 0; i < o->chunks; i++)
            o->trial[i] = i < task.chunk ? first_level : k;
        try_plan(o, &task, o->trial, task.chunk);
    }
    polish(o, &task, 1);

    *out = (struct oracle_result){.levels = o->plan};
    out->bound = oracle_graph_begin(o->graph, &task);
    double side_s = FIRST_SIDE_S;
    while (out->stages < STAGES && out->bound > o->value + ROUNDING) {
        double bound;
        if (!oracle_graph_refine(o->graph, &bound, side_s, o->value + ROUNDING)) {
            /* too many nodes: at the first stage a coarser one may do */
            if (out->stages > 0 || side_s > COARSEST_SIDE_S) break;
            side_s *= SIDE_RATIO;
            continue;
        }
        out->bound = bound;
        out->stages++;
        out->nodes += oracle_graph_nodes(o->graph);
        side_s /= SIDE_RATIO;
        memcpy(o->trial, o->plan, (size_t)o->chunks * sizeof *o->trial);
        if (oracle_graph_plan(o->graph, o->trial, o->value) &&
            try_plan(o, &task, o->trial, task.chunk))
            polish(o, &task, 2);
    }
    out->value = o->value;
    if (out->bound < out->value + ROUNDING) out->bound = out->value + ROUNDING;
    link_free(link);
    return 0;
}
