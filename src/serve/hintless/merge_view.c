#include "serve/hintless/merge_view.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct merge_view {
    int experts, max_nodes;
    pthread_mutex_t lock; /* of what follows */
    int nodes, chosen;
    struct merge_view_node *node; /* (max_nodes) */
    uint64_t ended;               /* slot i, from 0, lies at i % MERGE_VIEW_SLOTS */
    struct merge_view_slot slot[MERGE_VIEW_SLOTS];
};

struct merge_view *merge_view_new(int experts, int max_nodes, struct err *e)
{
    struct merge_view *g = calloc(1, sizeof *g);
    if (!g) goto failed;
    g->experts = experts;
    g->max_nodes = max_nodes;
    g->chosen = -1;
    pthread_mutex_init(&g->lock, NULL);
    g->node = calloc((size_t)max_nodes, sizeof *g->node);
    if (g->node) return g;
failed:
    merge_view_free(g);
    err_set(e, ERR_MEMORY, "no memory for a copy of %d nodes", max_nodes);
    return NULL;
}

void merge_view_free(struct merge_view *g)
{
    if (!g) return;
    pthread_mutex_destroy(&g->lock);
    free(g->node);
    free(g);
}

void merge_view_update(struct merge_view *g, const struct tanbr *bandit, int chosen)
{
    const struct tree *t = tanbr_tree(bandit);
    assert(tree_nodes(t) <= g->max_nodes && tanbr_cfg(bandit)->experts == g->experts);
    pthread_mutex_lock(&g->lock);
    g->nodes = tree_nodes(t);
    g->chosen = chosen;
    g->node[0].parent = -1;
    for (int i = 0; i < g->nodes; i++) {
        struct tree_leaf from = tree_node(t, i);
        struct merge_view_node *to = &g->node[i];
        int child = tree_child(t, i);
        to->depth = from.depth;
        to->visits = from.visits;
        to->leaf = child < 0;
        to->active = from.active;
        memcpy(to->x, from.x, (size_t)g->experts * sizeof *to->x);
        if (child >= 0) g->node[child].parent = g->node[child + 1].parent = i;
    }
    pthread_mutex_unlock(&g->lock);
}

void merge_view_add_slot(struct merge_view *g, const struct merge_view_slot *s)
{
    pthread_mutex_lock(&g->lock);
    g->slot[g->ended++ % MERGE_VIEW_SLOTS] = *s;
    pthread_mutex_unlock(&g->lock);
}

struct merge_view_copy *merge_view_get(struct merge_view *g, struct err *e)
{
    struct merge_view_copy *v = calloc(1, sizeof *v);
    if (v) v->node = calloc((size_t)g->max_nodes, sizeof *v->node);
    if (!v || !v->node) {
        free(v);
        err_set(e, ERR_MEMORY, "no memory for a copy of %d nodes", g->max_nodes);
        return NULL;
    }
    v->experts = g->experts;
    pthread_mutex_lock(&g->lock);
    v->nodes = g->nodes;
    v->chosen = g->chosen;
    memcpy(v->node, g->node, (size_t)g->nodes * sizeof *v->node);
    v->slots = g->ended < MERGE_VIEW_SLOTS ? (int)g->ended : MERGE_VIEW_SLOTS;
    for (int i = 0; i < v->slots; i++)
        v->slot[i] = g->slot[(g->ended - (uint64_t)(v->slots - i)) % MERGE_VIEW_SLOTS];
    pthread_mutex_unlock(&g->lock);
    return v;
}

void merge_view_copy_free(struct merge_view_copy *v)
{
    if (!v) return;
    free(v->node);
    free(v);
}
