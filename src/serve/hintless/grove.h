/* grove.h - the merge as a picture: the bandit's tree (policy/tree.h) and its last slots, for
 * whoever looks.
 *
 * A copy that the tick makes when a slot begins, so that nobody who looks holds up the bandit or
 * a decision. Weights are points on the simplex: >= 0, of sum 1.
 *
 * Ownership: grove_view belongs to the caller. Threads: locked inside, a leaf; the tick writes,
 * anybody looks. Writing allocates nothing. */
#ifndef SERVE_GROVE_H
#define SERVE_GROVE_H

#include "base/err.h"
#include "policy/tanbr.h"
#include "serve/hintless/hintless_cfg.h"

#define GROVE_SLOTS 256 /* that are remembered */

struct grove_node {
    int parent; /* -1: the root */
    int depth;
    int64_t visits;
    bool leaf;
    bool active; /* false: its cell misses the simplex, x is 0 */
    float x[HINTLESS_EXPERTS];
};

/* A slot that is over. */
struct grove_slot {
    uint64_t slot;
    double since;            /* when it began, s since the epoch */
    double expected, reward; /* reward NaN: nobody played anything of it */
    float x[HINTLESS_EXPERTS];
};

struct grove_view {
    int experts, nodes, chosen; /* chosen: the node that is merged by now; -1: none */
    struct grove_node *node;    /* (nodes), parents before their children */
    int slots;
    struct grove_slot slot[GROVE_SLOTS]; /* oldest first */
};

struct grove;

/* For trees of at most max_nodes. */
struct grove *grove_new(int experts, int max_nodes, struct err *e);
void grove_free(struct grove *g);

void grove_take(struct grove *g, const struct tanbr *bandit, int chosen);
void grove_slot(struct grove *g, const struct grove_slot *s);

/* NULL: ERR_MEMORY. */
struct grove_view *grove_look(struct grove *g, struct err *e);
void grove_view_free(struct grove_view *v);

#endif
