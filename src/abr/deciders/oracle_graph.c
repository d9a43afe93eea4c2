#include "oracle_priv.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* Of the hash table; empty when its layer is not the one under construction. */
struct slot {
    int node, layer;
};

/* Of a layer's node, to sort by. */
struct rank {
    double clock_s;
    int level, node;
};

/* A player of the real world who came to a node. */
struct real {
    double clock_s, buffer_s, value;
    int parent; /* node of the layer before; NONE = nobody came here */
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

struct oracle_graph *oracle_graph_new(const struct video *video, long node_budget,
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

void oracle_graph_free(struct oracle_graph *g)
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

static double *free_rest(const struct oracle_graph *g, int chunk, int level)
{
    return &g->free_rest[(size_t)chunk * (size_t)(g->levels + 1) +
                         (size_t)(level < 0 ? g->levels : level)];
}

double oracle_graph_begin(struct oracle_graph *g, const struct oracle_task *task)
{
    g->task = *task;
    g->now = g->before = NULL;
    for (int level = 0; level <= g->levels; level++)
        *free_rest(g, g->chunks, level) = 0;
    for (int chunk = g->chunks - 1; chunk >= task->chunk; chunk--) {
        for (int level = 0; level <= g->levels; level++) {
            double most = -INFINITY;
            for (int k = 0; k < g->levels; k++)
                most = fmax(most, task->gain[level][k] + *free_rest(g, chunk + 1, k));
            *free_rest(g, chunk, level) = most;
        }
    }
    return *free_rest(g, task->chunk, task->level);
}

static double gain(const struct oracle_graph *g, int level, int next)
{
    return g->task.gain[level < 0 ? g->levels : level][next];
}

static int *next_of(const struct oracle_graph *g, const struct stage *s, int node)
{
    return &s->next[(size_t)node * (size_t)g->levels];
}

static double *stalls_of(const struct oracle_graph *g, int node)
{
    return &g->arrival_stall_s[(size_t)node * (size_t)g->levels];
}

/* For going from the node to a level, with stalls_s in all on arrival. */
static double reward(const struct oracle_graph *g, const struct node *from, int level,
                     double stall_s)
{
    return gain(g, from->level, level) - g->task.mu_stall * (stall_s - from->stall_s);
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

/* The new layer's node for this square, made when there is none; NONE when full. */
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
        a.value = parent.value + reward(g, &parent, k, a.stall_s);
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

/* A dominator for a node of this value and total among the steps, or NONE; *at: where the
 * node would go. Steps before *at have at least the value, and the last of them has the largest
 * total of those. */
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

/* Puts a step in, and takes out those that it dominates from now on. Returns their number. */
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

/* Merges dominated nodes of the layer into their dominators, closes the gaps, and mends the
 * edges that lead to it from layer `chunk`. Returns the layer's new end.
 *
 * Among the nodes seen so far (earlier clocks) the undominated form a staircase: value
 * falls as total = value + mu_stall * stall_s rises. */
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
    for (int i = s->first[g->chunks] - 1; i >= 0; i--) {
        struct node *node = &s->nodes[i];
        const int *next = next_of(g, s, i);
        const double *stalls_s = stalls_of(g, i);
        node->rest = -INFINITY;
        for (int k = 0; k < g->levels; k++) {
            if (next[k] == NONE) continue;
            double earned = reward(g, node, k, stalls_s[k]);
            double v = worth(g, &s->nodes[next[k]], earned, stalls_s[k]);
            node->rest = fmax(node->rest, v);
        }
    }
}

bool oracle_graph_refine(struct oracle_graph *g, double *bound, double side_s,
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

long oracle_graph_nodes(const struct oracle_graph *g)
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
        struct real r = oracle_graph_step(g, &from, gain(g, level, k), done_s[k]);
        r.parent = node;
        if (better(&r, &g->reals[next[k]])) g->reals[next[k]] = r;
    }
}

bool oracle_graph_plan(struct oracle_graph *g, int *levels, double incumbent)
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
