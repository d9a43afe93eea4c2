/* merge_view.h - a copy of the bandit's tree (policy/tree.h) and of its last slots, for pages.
 *
 * The tick writes it when a slot begins. So readers do not block the bandit or a decision. Weights x
 * are points of the simplex: >= 0, with the sum 1.
 *
 * Errors: ERR_MEMORY. Ownership: merge_view_copy belongs to the caller.
 * Threads: locked inside, a leaf; any thread reads. Writing allocates nothing. */
#ifndef SERVE_MERGE_VIEW_H
#define SERVE_MERGE_VIEW_H

#include "base/err.h"
#include "policy/tanbr.h"
#include "serve/hintless/hintless_cfg.h"

#define MERGE_VIEW_SLOTS 256 /* the last slots that are kept */

struct merge_view_node {
    int parent; /* -1: the root */
    int depth;
    int64_t visits;
    bool leaf;
    bool active; /* false: its cell misses the simplex, x is 0 */
    float x[HINTLESS_EXPERTS];
};

/* A slot that has ended. */
struct merge_view_slot {
    uint64_t slot;
    double since;            /* when it began, s since the epoch */
    double expected, reward; /* reward NaN: no chunk counted */
    float x[HINTLESS_EXPERTS];
};

struct merge_view_copy {
    int experts, nodes, chosen;   /* chosen: the node of the current merge; -1: none */
    struct merge_view_node *node; /* (nodes), parents before their children */
    int slots;
    struct merge_view_slot slot[MERGE_VIEW_SLOTS]; /* oldest first */
};

struct merge_view;

/* max_nodes: of the bandit's tree. */
struct merge_view *merge_view_new(int experts, int max_nodes, struct err *e);
void merge_view_free(struct merge_view *g);

void merge_view_update(struct merge_view *g, const struct tanbr *bandit, int chosen);
void merge_view_add_slot(struct merge_view *g, const struct merge_view_slot *s);

struct merge_view_copy *merge_view_get(struct merge_view *g, struct err *e);
void merge_view_copy_free(struct merge_view_copy *v);

#endif
