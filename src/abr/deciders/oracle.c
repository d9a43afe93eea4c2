#include "abr/deciders/oracle.h"

#include "abr/emulator/link.h"
#include "abr/emulator/qoe.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One search: the link, the video, the rewards, and where the search begins. */
struct oracle_task {
    const struct link *link;
    const struct video *video;
    double rtt_s, buffer_max_s, drain_s;
    double mu_stall;
    /* (chunks, levels + 1, levels): reward of a chunk at a level after a level when nothing stalls;
     * row [levels] after none. Borrowed from the oracle */
    const double *gains;
    /* the search begins before `chunk`; level is that of the chunk before it, -1 without one */
    int chunk, level;
    double clock_s, buffer_s;
};

/* ---- the search graph ---- */

#define NONE (-1)

/* States of the relaxed world that were merged into the best of each, see (B) in oracle.h. */
struct node {
    double clock_s;     /* smallest */
    double value;       /* largest */
    double stall_s;     /* so that value + mu_stall * stall_s is the largest G */
    double stall_low_s; /* smallest */
    double rest;        /* T: most that can still be earned */
    int level;
    int coarse;               /* node of the stage before that dominates it */
    int key_clock, key_stall; /* its square */
};

struct stage {
    struct node *nodes; /* (budget) */
    int *next;  /* (budget, levels): node that a level leads to; NONE: not followed */
    int *first; /* (chunks + 2): first node of each layer */
};

/* An entry of the hash table. It is empty when its layer is not the one under construction. */
struct slot {
    int node, layer;
};

/* The sort key of a node within its layer. */
struct rank {
    double clock_s;
    int level, node;
};

/* A state of the real world that reached a node. */
struct real {
    double clock_s, buffer_s, value;
    int parent; /* node of the layer before; NONE: no real state reached this node */
};

struct oracle_graph {
    int levels, chunks;
    int budget;
    struct oracle_task task;
    struct stage stage[2], *now, *before; /* before == NULL in the first stage */
    /* (budget, levels): S by each edge of `now`, before merging */
    double *arrival_stall_s;
    /* (chunks + 1, levels + 1): most that can be earned without stalls */
    double *free_rest;

    struct slot *table; /* (slots): the layer under construction, by square */
    int slots, mask; /* a power of 2; the part of it in use - 1, to stay in the cache */
    int layer;       /* counts all layers ever built */
    struct rank *order;                /* (budget), like the next four for prune_layer */
    int *moved, *stair;                /* (budget) */
    double *stair_value, *stair_total; /* (budget) */
    struct real *reals;                /* (budget) */
};

static void oracle_graph_free(struct oracle_graph *g)
{
    if (!g) return;
    for (int i = 0; i < 2; i++) {
        free(g->stage[i].nodes);
        free(g->stage[i].next);
        free(g->stage[i].first);
    }
    free(g->arrival_stall_s);
    free(g->free_rest);
    free(g->table);
    free(g->moved);
    free(g->order);
    free(g->stair);
    free(g->stair_value);
    free(g->stair_total);
    free(g->reals);
    free(g);
}

static struct oracle_graph *oracle_graph_new(const struct video *video, long node_budget,
                                             struct err *e)
{
    struct oracle_graph *g = calloc(1, sizeof *g);
    if (!g) goto fail;
    g->levels = video->levels;
    g->chunks = video->chunks;
    g->budget = (int)node_budget;
    size_t n = (size_t)node_budget, levels = (size_t)video->levels;
    size_t layers = (size_t)video->chunks + 2;
    for (g->slots = 1024; g->slots < 2 * g->budget;)
        g->slots *= 2;
    for (int i = 0; i < 2; i++) {
        g->stage[i].nodes = malloc(n * sizeof *g->stage[i].nodes);
        g->stage[i].next = malloc(n * levels * sizeof *g->stage[i].next);
        g->stage[i].first = malloc(layers * sizeof *g->stage[i].first);
        if (!g->stage[i].nodes || !g->stage[i].next || !g->stage[i].first) goto fail;
    }
    g->arrival_stall_s = malloc(n * levels * sizeof *g->arrival_stall_s);
    g->free_rest = malloc(layers * (levels + 1) * sizeof *g->free_rest);
    g->table = calloc((size_t)g->slots, sizeof *g->table);
    g->moved = malloc(n * sizeof *g->moved);
    g->order = malloc(n * sizeof *g->order);
    g->stair = malloc(n * sizeof *g->stair);
    g->stair_value = malloc(n * sizeof *g->stair_value);
    g->stair_total = malloc(n * sizeof *g->stair_total);
    g->reals = malloc(n * sizeof *g->reals);
    if (!g->arrival_stall_s || !g->free_rest || !g->table || !g->moved || !g->order ||
        !g->stair || !g->stair_value || !g->stair_total || !g->reals)
        goto fail;
    return g;
fail:
    oracle_graph_free(g);
    err_set(e, ERR_MEMORY, "no memory for the oracle's %ld nodes", node_budget);
    return NULL;
}

static double *free_rest(const struct oracle_graph *g, int chunk, int level)
{
    return &g->free_rest[(size_t)chunk * (size_t)(g->levels + 1) +
                         (size_t)(level < 0 ? g->levels : level)];
}

/* level: before the chunk, -1 without one. Rewards of the levels, (levels). */
static const double *gains_after(const struct oracle_task *t, int chunk, int level)
{
    size_t levels = (size_t)t->video->levels;
    size_t row = level < 0 ? levels : (size_t)level;
    return t->gains + ((size_t)chunk * (levels + 1) + row) * levels;
}

/* Forgets all stages. Returns a first bound: what the plan would earn without any stall. */
static double oracle_graph_begin(struct oracle_graph *g, const struct oracle_task *task)
{
    g->task = *task;
    g->now = g->before = NULL;
    for (int level = 0; level <= g->levels; level++)
        *free_rest(g, g->chunks, level) = 0;
    for (int chunk = g->chunks - 1; chunk >= task->chunk; chunk--) {
        for (int level = 0; level <= g->levels; level++) {
            const double *gain = gains_after(task, chunk, level < g->levels ? level : -1);
            double most = -INFINITY;
            for (int k = 0; k < g->levels; k++)
                most = fmax(most, gain[k] + *free_rest(g, chunk + 1, k));
            *free_rest(g, chunk, level) = most;
        }
    }
    return *free_rest(g, task->chunk, task->level);
}

static double gain(const struct oracle_graph *g, int chunk, int level, int next)
{
    return gains_after(&g->task, chunk, level)[next];
}

static int *next_of(const struct oracle_graph *g, const struct stage *s, int node)
{
    return &s->next[(size_t)node * (size_t)g->levels];
}

static double *stalls_of(const struct oracle_graph *g, int node)
{
    return &g->arrival_stall_s[(size_t)node * (size_t)g->levels];
}

/* Reward of the edge from the node to a level. stall_s: all stalls until arrival. */
static double edge_reward(const struct oracle_graph *g, int chunk,
                          const struct node *from, int level, double stall_s)
{
    return gain(g, chunk, from->level, level) -
           g->task.mu_stall * (stall_s - from->stall_s);
}

/* What `node` of the stage may be worth to a state that it dominates: the state's own
 * stalls may be more than the node's (whose G is still no smaller). */
static double worth(const struct oracle_graph *g, const struct node *node, double value,
                    double stall_s)
{
    double credit_s = stall_s - node->stall_s;
    return value + node->rest + (credit_s > 0 ? g->task.mu_stall * credit_s : 0);
}

/* ---- forward: one layer from the one before ---- */

static uint64_t hash(int level, int coarse, int key_clock, int key_stall)
{
    uint64_t z = (uint64_t)(uint32_t)key_clock * UINT64_C(0x9e3779b97f4a7c15);
    z ^= (uint64_t)(uint32_t)key_stall * UINT64_C(0xd1b54a32d192ed03);
    z ^=
        (uint64_t)(uint32_t)(coarse * VIEW_LEVELS + level) * UINT64_C(0x8cb92ba72f3d8dd7);
    z = (z ^ (z >> 32)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 32);
}

static void begin_layer(struct oracle_graph *g, int parents)
{
    int room = 64;
    while (room < g->slots && room / 2 < parents * g->levels)
        room *= 2;
    g->mask = room - 1;
    g->layer++;
}

/* Finds or makes the new layer's node for this square. NONE when the budget is used up. */
static int oracle_graph_enter(struct oracle_graph *g, int *n, const struct node *arrival)
{
    struct node *nodes = g->now->nodes;
    uint64_t at =
        hash(arrival->level, arrival->coarse, arrival->key_clock, arrival->key_stall);
    for (;; at++) {
        struct slot *slot = &g->table[at & (uint64_t)g->mask];
        if (slot->layer != g->layer) {
            if (*n == g->budget) return NONE;
            nodes[*n] = *arrival;
            *slot = (struct slot){*n, g->layer};
            return (*n)++;
        }
        struct node *m = &nodes[slot->node];
        if (m->level != arrival->level || m->coarse != arrival->coarse ||
            m->key_clock != arrival->key_clock || m->key_stall != arrival->key_stall)
            continue;
        double mu = g->task.mu_stall;
        double total =
            fmax(m->value + mu * m->stall_s, arrival->value + mu * arrival->stall_s);
        m->clock_s = fmin(m->clock_s, arrival->clock_s);
        m->value = fmax(m->value, arrival->value);
        m->stall_s = mu > 0 ? (total - m->value) / mu : 0;
        m->stall_low_s = fmin(m->stall_low_s, arrival->stall_low_s);
        return slot->node;
    }
}

/* (t, S) of the relaxed world after chunk `chunk` arrives at link clock `clock_s`. */
static void arrive(const struct oracle_graph *g, struct node *out,
                   const struct node *from, int chunk, double clock_s)
{
    const struct oracle_task *t = &g->task;
    double done_s = clock_s + (chunk + 1) * t->rtt_s, media_s = chunk * t->video->chunk_s;
    double late_s = done_s - media_s;
    out->stall_s = fmax(from->stall_s, late_s);
    out->stall_low_s = fmax(from->stall_low_s, late_s);
    double buffer_s = media_s + t->video->chunk_s - done_s + out->stall_low_s;
    double sleep_s = buffer_s - t->buffer_max_s;
    out->clock_s = sleep_s > 0 ? clock_s + sleep_s : clock_s;
}

static bool extend(struct oracle_graph *g, int chunk, int from, double side_s,
                   double incumbent, int *n)
{
    const struct node parent = g->now->nodes[from];
    int *next = next_of(g, g->now, from);
    double *stalls_s = stalls_of(g, from), done_s[VIEW_LEVELS];
    const int *coarse = g->before ? next_of(g, g->before, parent.coarse) : NULL;
    link_finish(done_s, g->task.link, parent.clock_s, video_chunk(g->task.video, chunk),
                g->levels);
    for (int k = 0; k < g->levels; k++) {
        next[k] = NONE;
        if (coarse && coarse[k] == NONE) continue;

        struct node a = {.level = k, .coarse = coarse ? coarse[k] : 0};
        arrive(g, &a, &parent, chunk, done_s[k]);
        stalls_s[k] = a.stall_s;
        a.value = parent.value + edge_reward(g, chunk, &parent, k, a.stall_s);
        double most = coarse ? worth(g, &g->before->nodes[a.coarse], a.value, a.stall_s)
                             : a.value + *free_rest(g, chunk + 1, k);
        if (!(most > incumbent)) continue;
        a.key_clock = (int)fmin(a.clock_s / side_s, 1e9);
        a.key_stall = (int)fmin(a.stall_s / side_s, 1e9);
        next[k] = oracle_graph_enter(g, n, &a);
        if (next[k] == NONE) return false;
    }
    return true;
}

/* ---- dominance within a layer ---- */

static int earlier(const void *a, const void *b)
{
    const struct rank *x = a, *y = b;
    if (x->level != y->level) return x->level - y->level;
    if (x->clock_s != y->clock_s) return x->clock_s < y->clock_s ? -1 : 1;
    return x->node - y->node;
}

/* Finds among the steps a node that dominates a node of this value and total, or NONE. *at is the
 * place where the node would go. Every step before *at has at least the value; the last of them has
 * the largest total. */
static int dominator(const struct oracle_graph *g, int *at, int steps, double value,
                     double total)
{
    int lo = 0, hi = steps;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (g->stair_value[mid] >= value)
            lo = mid + 1;
        else
            hi = mid;
    }
    *at = lo;
    return lo > 0 && g->stair_total[lo - 1] >= total ? g->stair[lo - 1] : NONE;
}

/* Inserts a step and removes the steps that it dominates. Returns the new number of steps. */
static int add_step(struct oracle_graph *g, int at, int steps, int node, double value,
                    double total)
{
    int end = at;
    while (end < steps && g->stair_total[end] <= total)
        end++;
    size_t tail = (size_t)(steps - end);
    memmove(&g->stair_value[at + 1], &g->stair_value[end], tail * sizeof(double));
    memmove(&g->stair_total[at + 1], &g->stair_total[end], tail * sizeof(double));
    memmove(&g->stair[at + 1], &g->stair[end], tail * sizeof *g->stair);
    g->stair_value[at] = value;
    g->stair_total[at] = total;
    g->stair[at] = node;
    return steps + 1 - (end - at);
}

/* Merges dominated nodes of the layer into their dominators, closes the gaps, and corrects the
 * edges that lead to it from layer `chunk`. Returns the layer's new end.
 *
 * Nodes are visited in the order of their clocks. The undominated ones among those visited form a
 * staircase: value falls as total = value + mu_stall * stall_s rises. */
static int prune_layer(struct oracle_graph *g, int chunk, int from, int to)
{
    struct node *nodes = g->now->nodes;
    int *moved = g->moved; /* of node i: moved[i - from] */
    for (int i = from; i < to; i++)
        g->order[i - from] = (struct rank){nodes[i].clock_s, nodes[i].level, i};
    qsort(g->order, (size_t)(to - from), sizeof *g->order, earlier);

    int steps = 0;
    for (int i = 0; i < to - from; i++) {
        if (i && g->order[i - 1].level != g->order[i].level) steps = 0;
        int node = g->order[i].node, at;
        double value = nodes[node].value;
        double total = value + g->task.mu_stall * nodes[node].stall_s;
        int better = dominator(g, &at, steps, value, total);
        moved[node - from] = better == NONE ? node : better;
        if (better == NONE)
            steps = add_step(g, at, steps, node, value, total);
        else
            nodes[better].stall_low_s =
                fmin(nodes[better].stall_low_s, nodes[node].stall_low_s);
    }

    /* the nodes that stay close ranks; g->stair now holds their new places */
    int end = from;
    for (int i = from; i < to; i++) {
        if (moved[i - from] != i) continue;
        g->stair[i - from] = end;
        nodes[end++] = nodes[i];
    }
    for (int i = g->now->first[chunk]; i < from; i++) {
        int *next = next_of(g, g->now, i);
        for (int k = 0; k < g->levels; k++)
            if (next[k] != NONE) next[k] = g->stair[moved[next[k] - from] - from];
    }
    return end;
}

/* ---- backward ---- */

static void fill_rest(struct oracle_graph *g)
{
    struct stage *s = g->now;
    for (int i = s->first[g->chunks]; i < s->first[g->chunks + 1]; i++)
        s->nodes[i].rest = 0;
    for (int i = s->first[g->chunks] - 1, chunk = g->chunks - 1; i >= 0; i--) {
        while (i < s->first[chunk])
            chunk--;
        struct node *node = &s->nodes[i];
        const int *next = next_of(g, s, i);
        const double *stalls_s = stalls_of(g, i);
        node->rest = -INFINITY;
        for (int k = 0; k < g->levels; k++) {
            if (next[k] == NONE) continue;
            double earned = edge_reward(g, chunk, node, k, stalls_s[k]);
            double v = worth(g, &s->nodes[next[k]], earned, stalls_s[k]);
            node->rest = fmax(node->rest, v);
        }
    }
}

/* Runs one stage with squares of side_s. It follows only what may be worth more than the
 * incumbent. *bound: no plan is worth more than the larger of *bound and the incumbent. False when
 * the node budget or the memory did not suffice; the stages before then stay. */
static bool oracle_graph_refine(struct oracle_graph *g, double *bound, double side_s,
                                double incumbent)
{
    const struct oracle_task *t = &g->task;
    struct stage *last = g->now, *before = g->before;
    g->before = last;
    g->now = last == &g->stage[0] ? &g->stage[1] : &g->stage[0];

    struct stage *s = g->now;
    s->nodes[0] = (struct node){.level = t->level, .clock_s = t->clock_s};
    s->nodes[0].stall_s = s->nodes[0].stall_low_s =
        t->buffer_s + t->clock_s + t->chunk * (t->rtt_s - t->video->chunk_s);
    int n = 1;
    for (int chunk = 0; chunk <= t->chunk; chunk++)
        s->first[chunk] = 0;
    for (int chunk = t->chunk; chunk < g->chunks; chunk++) {
        int from = s->first[chunk + 1] = n;
        begin_layer(g, from - s->first[chunk]);
        for (int i = s->first[chunk]; i < from; i++) {
            if (extend(g, chunk, i, side_s, incumbent, &n)) continue;
            g->now = last;
            g->before = before;
            return false;
        }
        n = prune_layer(g, chunk, from, n);
    }
    s->first[g->chunks + 1] = n;
    fill_rest(g);
    *bound = fmax(incumbent, s->nodes[0].rest);
    return true;
}

/* Number of nodes of the last stage. */
static long oracle_graph_nodes(const struct oracle_graph *g)
{
    return g->now ? g->now->first[g->chunks + 1] : 0;
}

/* ---- real states through the nodes ---- */

static struct real oracle_graph_step(const struct oracle_graph *g,
                                     const struct real *from, double step_gain,
                                     double done_s)
{
    const struct oracle_task *t = &g->task;
    struct real r = {.clock_s = done_s, .value = from->value + step_gain};
    r.buffer_s = from->buffer_s - (done_s - from->clock_s + t->rtt_s);
    if (r.buffer_s < 0) {
        r.value += t->mu_stall * r.buffer_s;
        r.buffer_s = 0;
    }
    r.buffer_s += t->video->chunk_s;
    if (r.buffer_s > t->buffer_max_s) {
        double sleep_s = ceil((r.buffer_s - t->buffer_max_s) / t->drain_s) * t->drain_s;
        r.buffer_s -= sleep_s;
        r.clock_s += sleep_s;
    }
    return r;
}

static bool better(const struct real *a, const struct real *b)
{
    if (b->parent == NONE) return true;
    if (fabs(a->value - b->value) > 1e-12) return a->value > b->value;
    return a->clock_s < b->clock_s;
}

static void oracle_graph_follow(struct oracle_graph *g, int node, int chunk)
{
    const struct real from = g->reals[node];
    const int *next = next_of(g, g->now, node);
    int level = g->now->nodes[node].level;
    double done_s[VIEW_LEVELS];
    link_finish(done_s, g->task.link, from.clock_s, video_chunk(g->task.video, chunk),
                g->levels);
    for (int k = 0; k < g->levels; k++) {
        if (next[k] == NONE) continue;
        struct real r = oracle_graph_step(g, &from, gain(g, chunk, level, k), done_s[k]);
        r.parent = node;
        if (better(&r, &g->reals[next[k]])) g->reals[next[k]] = r;
    }
}

/* Sends real states through the nodes of the last stage. True when a plan ends with a value above
 * the incumbent, by the arithmetic of this file; levels[task->chunk ..] is then the best plan. */
static bool oracle_graph_plan(struct oracle_graph *g, int *levels, double incumbent)
{
    const struct oracle_task *t = &g->task;
    const struct stage *s = g->now;
    int n = s->first[g->chunks + 1];
    for (int i = 0; i < n; i++)
        g->reals[i].parent = NONE;
    g->reals[0] = (struct real){.clock_s = t->clock_s, .buffer_s = t->buffer_s};
    for (int chunk = t->chunk; chunk < g->chunks; chunk++)
        for (int i = s->first[chunk]; i < s->first[chunk + 1]; i++)
            if (i == 0 || g->reals[i].parent != NONE) oracle_graph_follow(g, i, chunk);

    int best = NONE;
    for (int i = s->first[g->chunks]; i < n; i++)
        if (g->reals[i].parent != NONE &&
            (best == NONE || g->reals[i].value > g->reals[best].value))
            best = i;
    if (best == NONE || !(g->reals[best].value > incumbent)) return false;
    for (int chunk = g->chunks - 1; chunk >= t->chunk; chunk--) {
        levels[chunk] = s->nodes[best].level;
        best = g->reals[best].parent;
    }
    return true;
}

/* ---- the solver ---- */

/* Nodes of a stage. On slow links with news weights 48 chunks of 6 levels need up to 300,000 of
 * 0.3 kB each; a tenth of that is usual. Memory that is not touched costs nothing. */
#define NODES_PER_CHUNK 10000
#define NODES_MAX 1000000
#define STAGES 20
static const double FIRST_SIDE_S = 4, COARSEST_SIDE_S = 1e5, SIDE_RATIO = 4;
/* Emulator steps of one solve, after which no plan is improved further. */
#define POLISH_STEPS 10000000

/* largest rounding error of a bound or of a plan's value, per session */
static const double ROUNDING = 1e-9;

struct oracle {
    int levels, chunks;
    struct oracle_graph *graph;
    int *plan, *trial;  /* (chunks) */
    struct emu *states; /* (chunks): before each chunk of the plan */
    double *values;     /* (chunks + 1): what the plan has earned before each chunk */
    double *gains;      /* of oracle_task */
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
    o->gains = calloc(n * (size_t)(o->levels + 1), (size_t)o->levels * sizeof *o->gains);
    if (node_budget <= 0) node_budget = (long)NODES_PER_CHUNK * video->chunks;
    if (node_budget > NODES_MAX) node_budget = NODES_MAX;
    o->graph = oracle_graph_new(video, node_budget, e);
    if (o->plan && o->trial && o->states && o->values && o->gains && o->graph) return o;
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
    free(o->gains);
    free(o);
}

static double reward(const struct oracle_task *t, int chunk, int prev, int level,
                     double stall_s)
{
    return gains_after(t, chunk, prev)[level] - t->mu_stall * stall_s;
}

static int level_before(const struct oracle_task *t, const int *levels, int chunk)
{
    return chunk == t->chunk ? t->level : levels[chunk - 1];
}

/* Value of `levels`, which equals the plan before chunk `from`. With `keep` it becomes the plan. */
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
        value +=
            reward(t, chunk, level_before(t, levels, chunk), levels[chunk], r.rebuffer_s);
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

/* Sets every run of up to `longest` chunks to every level, until no change raises the value. */
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

static void fill_gains(double *gains, const struct video *v, const struct qoe *qoe)
{
    double points[2][VIEW_LEVELS], *before = points[0], *now = points[1];
    for (int chunk = 0; chunk < v->chunks; chunk++) {
        video_points(now, v, chunk);
        const struct qoe_ladder ladder = {v->ladder_kbps, now, v->levels, v->chunk_s};
        for (int prev = 0; prev <= v->levels; prev++, gains += v->levels) {
            bool none = prev == v->levels || !chunk;
            struct qoe_level last = {none ? 0 : v->ladder_kbps[prev],
                                     none ? 0 : before[prev]};
            qoe_rewards(gains, qoe, &ladder, last);
        }
        double *spare = before;
        before = now;
        now = spare;
    }
}

/* The search counts each wait as a stall. The wait for the first picture is known for each level, so
 * what it costs less is a gain. */
static void credit_start(double *gains, const struct emu *m, const struct qoe *qoe)
{
    const struct video *v = m->world->video;
    if (qoe->utility != QOE_POINTS) return;
    for (int k = 0; k < v->levels; k++) {
        struct emu first = *m;
        struct emu_result r;
        emu_step(&first, k, 1, &r);
        gains[v->levels * v->levels + k] +=
            (qoe->mu_stall - qoe->mu_start) * r.rebuffer_s;
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
}

void oracle_begin(struct oracle_from *f, const struct emu_world *world, int start_row)
{
    *f = (struct oracle_from){.level = -1};
    emu_start(&f->emu, world, start_row);
}

/* The sleep is what the buffer lost; the reported sleep is only its last part (emu.h). */
void oracle_pass(struct oracle_from *f, int requests, double buffer_before_s,
                 const struct emu_result *r)
{
    const struct emu_world *w = f->emu.world;
    double delay_s = r->delay_ms / 1000;
    double left_s = buffer_before_s > delay_s ? buffer_before_s - delay_s : 0;
    double slept_s = left_s + w->video->chunk_s - r->buffer_s;
    f->clock_s += delay_s - requests * w->cfg.rtt_s + slept_s;
    f->level = r->level;
}

int oracle_solve(struct oracle_result *out, struct oracle *o,
                 const struct emu_world *world, int start_row, const struct qoe *qoe,
                 int first_level, struct err *e)
{
    struct oracle_from from;
    oracle_begin(&from, world, start_row);
    if (first_level >= 0) {
        struct emu_result r;
        emu_step(&from.emu, first_level, 1, &r);
        oracle_pass(&from, 1, 0, &r);
    }
    return oracle_solve_from(out, o, &from, start_row, qoe, e);
}

int oracle_solve_from(struct oracle_result *out, struct oracle *o,
                      const struct oracle_from *from, int start_row,
                      const struct qoe *qoe, struct err *e)
{
    const struct emu_world *world = from->emu.world;
    assert(world->video->levels == o->levels && world->video->chunks == o->chunks);
    /* behind the last chunk the emulator is before chunk 0 again */
    assert((from->emu.chunk == 0) == (from->level < 0));
    struct oracle_task task = {.chunk = from->emu.chunk,
                               .level = from->level,
                               .clock_s = from->clock_s,
                               .buffer_s = from->emu.buffer_ms / 1000};
    fill_task(&task, world, qoe);
    fill_gains(o->gains, world->video, qoe);
    if (!task.chunk) credit_start(o->gains, &from->emu, qoe);
    task.gains = o->gains;
    struct link *link = link_new(world, start_row, e);
    if (!link) return ERR_MEMORY;
    task.link = link;

    o->steps = 0;
    /* a first plan: the best constant level, improved */
    o->states[task.chunk] = from->emu;
    o->values[task.chunk] = 0;
    o->value = -INFINITY;
    for (int k = 0; k < o->levels; k++) {
        for (int i = 0; i < o->chunks; i++)
            o->trial[i] = i < task.chunk ? task.level : k;
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
