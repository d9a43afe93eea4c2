#include "policy/tree.h"

#include "base/bytes.h"
#include "base/rng.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 };
static const double SIDE_MIN = 0x1p-20;
static const double CELL_SLACK = 1e-6; /* x is float */

struct node {
    int child; /* the first of two that follow each other, or NONE */
    int side;  /* that was halved */
    int depth;
    int64_t visits;
    bool active, left;
};

struct tree {
    struct tree_cfg cfg;
    struct rng rng;
    int n, n_leaves;
    int64_t refused;
    struct node *node; /* (max_nodes) */
    double *lo, *hi;   /* (max_nodes, dim) */
    float *x;          /* (max_nodes, dim) */
    int *leaf;         /* (max_nodes) active leaves */
};

struct tree_cfg tree_cfg_default(int dim)
{
    return (struct tree_cfg){.dim = dim,
                             .keep = dim,
                             .max_nodes = 511,
                             .split = TREE_LONGEST,
                             .border = 0.25,
                             .c = 0.01,
                             .delta = 1.0,
                             .nu1 = 0.05,
                             .rho = 0.7};
}

static int range(struct err *e, const char *what, const char *limits)
{
    return err_field(e, ERR_RANGE, what, "must be %s", limits);
}

int tree_cfg_check(const struct tree_cfg *c, struct err *e)
{
    if (c->dim < 1 || c->dim > TREE_DIM_MAX) return range(e, "dim", "1 .. 256");
    if (c->keep < 1 || c->keep > c->dim) return range(e, "keep", "1 .. dim");
    if (c->max_nodes < 1 || c->max_nodes > TREE_NODES_MAX)
        return range(e, "max_nodes", "1 .. 8192");
    if (!(c->c > 0 && isfinite(c->c))) return range(e, "c", "above 0");
    if (!(c->delta > 0 && c->delta <= 1)) return range(e, "delta", "in (0, 1]");
    if (!(c->nu1 > 0 && isfinite(c->nu1))) return range(e, "nu1", "above 0");
    if (!(c->rho > 0 && c->rho < 1)) return range(e, "rho", "in (0, 1)");
    if (!(c->border >= 0 && c->border <= 1)) return range(e, "border", "0 .. 1");
    if (c->split != TREE_LONGEST && c->split != TREE_RANDOM)
        return range(e, "split", "longest or random");
    return 0;
}

/* ---- boxes ---- */

static double sum(const double *x, int n)
{
    double s = 0;
    for (int k = 0; k < n; k++)
        s += x[k];
    return s;
}

bool tree_meets(const double *lo, const double *hi, int dim)
{
    return sum(lo, dim) <= 1 && sum(hi, dim) >= 1;
}

static size_t tree_row(const struct tree *t, int node)
{
    return (size_t)node * (size_t)t->cfg.dim;
}

/* Trims a box to the smallest one around its intersection with the simplex. */
static void trim(double *lo, double *hi, int dim)
{
    double low = sum(lo, dim), high = sum(hi, dim);
    for (int k = 0; k < dim; k++) {
        double from = fmax(lo[k], 1 - (high - hi[k]));
        double to = fmin(hi[k], 1 - (low - lo[k]));
        lo[k] = from;
        hi[k] = to;
    }
}

/* ---- candidates ---- */

/* Upper bounds with 0 for experts that a narrow cell at the border leaves out. False when the
 * others cannot make up for them. */
static bool leave_out(double *to, const double *lo, const double *hi, int dim,
                      double border)
{
    for (int k = 0; k < dim; k++)
        to[k] = lo[k] == 0 && hi[k] <= border ? 0 : hi[k];
    return sum(to, dim) >= 1;
}

static void diagonal(float *x, const double *lo, const double *hi, int dim, double border)
{
    double to[TREE_DIM_MAX];
    if (leave_out(to, lo, hi, dim, border)) hi = to;
    double low = sum(lo, dim), span = sum(hi, dim) - low;
    double s = span > 0 ? (1 - low) / span : 0;
    for (int k = 0; k < dim; k++)
        x[k] = (float)(lo[k] + s * (hi[k] - lo[k]));
}

static int tree_largest(const float *x, const bool *taken, int dim)
{
    int best = NONE;
    for (int k = 0; k < dim; k++)
        if (!taken[k] && (best == NONE || x[k] > x[best])) best = k;
    return best;
}

/* Keeps the largest weights, which then have sum 1. */
static void keep_largest(float *x, int dim, int keep)
{
    bool taken[TREE_DIM_MAX] = {false};
    double kept = 0;
    for (int i = 0; i < keep; i++) {
        int k = tree_largest(x, taken, dim);
        taken[k] = true;
        kept += (double)x[k];
    }
    for (int k = 0; k < dim; k++)
        x[k] = taken[k] ? (float)((double)x[k] / kept) : 0.0f;
}

static bool outside(const float *x, const double *lo, const double *hi, int dim)
{
    for (int k = 0; k < dim; k++)
        if ((double)x[k] < lo[k] - CELL_SLACK || (double)x[k] > hi[k] + CELL_SLACK)
            return true;
    return false;
}

/* Activity and candidate of a node whose box is known. */
static void tree_settle(struct tree *t, int i)
{
    int dim = t->cfg.dim;
    double *lo = t->lo + tree_row(t, i), *hi = t->hi + tree_row(t, i);
    float *x = t->x + tree_row(t, i);
    struct node *node = &t->node[i];
    node->active = tree_meets(lo, hi, dim);
    node->left = false;
    memset(x, 0, sizeof *x * (size_t)dim);
    if (!node->active) return;
    if (t->cfg.split == TREE_LONGEST) trim(lo, hi, dim);
    diagonal(x, lo, hi, dim, t->cfg.border);
    if (t->cfg.keep == dim) return;
    keep_largest(x, dim, t->cfg.keep);
    node->left = outside(x, lo, hi, dim);
}

/* ---- expansion ---- */

/* The side to halve, or NONE when all are too short. */
static int choose_side(struct tree *t, int i)
{
    const double *lo = t->lo + tree_row(t, i), *hi = t->hi + tree_row(t, i);
    double longest = 0;
    for (int k = 0; k < t->cfg.dim; k++)
        longest = fmax(longest, hi[k] - lo[k]);
    if (longest < SIDE_MIN) return NONE;
    double enough = t->cfg.split == TREE_LONGEST ? longest : SIDE_MIN;

    uint32_t equal = 0;
    for (int k = 0; k < t->cfg.dim; k++)
        equal += hi[k] - lo[k] >= enough;
    uint32_t drawn = rng_below(&t->rng, equal);
    for (int k = 0; k < t->cfg.dim; k++)
        if (hi[k] - lo[k] >= enough && drawn-- == 0) return k;
    return NONE;
}

/* The two halves of a node along a side; not yet in the list of leaves. */
static void halve(struct tree *t, int i, int side)
{
    size_t bytes = sizeof(double) * (size_t)t->cfg.dim;
    double middle =
        (t->lo[tree_row(t, i) + (size_t)side] + t->hi[tree_row(t, i) + (size_t)side]) / 2;
    t->node[i].child = t->n;
    t->node[i].side = side;
    for (int upper = 0; upper < 2; upper++) {
        int c = t->n++;
        t->node[c] = (struct node){.child = NONE, .depth = t->node[i].depth + 1};
        memcpy(t->lo + tree_row(t, c), t->lo + tree_row(t, i), bytes);
        memcpy(t->hi + tree_row(t, c), t->hi + tree_row(t, i), bytes);
        (upper ? t->lo : t->hi)[tree_row(t, c) + (size_t)side] = middle;
        tree_settle(t, c);
    }
}

/* The first active child takes the parent's place, the other goes to the end. */
static void replace_leaf(struct tree *t, int i)
{
    int at = 0;
    while (t->leaf[at] != i)
        at++;
    int first = t->node[i].child;
    bool low = t->node[first].active, high = t->node[first + 1].active;
    assert(low || high);
    t->leaf[at] = low ? first : first + 1;
    if (low && high) t->leaf[t->n_leaves++] = first + 1;
}

static bool expand(struct tree *t, int i)
{
    int side = t->n + 2 <= t->cfg.max_nodes ? choose_side(t, i) : NONE;
    if (side == NONE) {
        t->refused++;
        return false;
    }
    halve(t, i, side);
    replace_leaf(t, i);
    return true;
}

double tree_threshold(const struct tree_cfg *c, int depth, int64_t t)
{
    double ratio = c->c / c->nu1;
    return ratio * ratio * log((double)t / c->delta) * pow(c->rho, -2.0 * depth);
}

bool tree_visit(struct tree *t, int i, int64_t round)
{
    assert(i >= 0 && i < t->n && t->node[i].active && round >= 1);
    struct node *node = &t->node[i];
    node->visits++;
    if (node->child != NONE) return false;
    if ((double)node->visits < tree_threshold(&t->cfg, node->depth, round)) return false;
    return expand(t, i);
}

/* ---- life ---- */

static void plant(struct tree *t)
{
    t->n = t->n_leaves = 1;
    t->refused = 0;
    t->node[0] = (struct node){.child = NONE};
    t->leaf[0] = 0;
    for (int k = 0; k < t->cfg.dim; k++) {
        t->lo[k] = 0;
        t->hi[k] = 1;
    }
    tree_settle(t, 0);
}

struct tree *tree_new(const struct tree_cfg *cfg, uint64_t seed, struct err *e)
{
    if (tree_cfg_check(cfg, e)) return NULL;
    size_t nodes = (size_t)cfg->max_nodes, cells = nodes * (size_t)cfg->dim;
    struct tree *t = calloc(1, sizeof *t);
    if (!t) goto failed;
    t->cfg = *cfg;
    t->node = calloc(nodes, sizeof *t->node);
    t->lo = calloc(cells, sizeof *t->lo);
    t->hi = calloc(cells, sizeof *t->hi);
    t->x = calloc(cells, sizeof *t->x);
    t->leaf = calloc(nodes, sizeof *t->leaf);
    if (!t->node || !t->lo || !t->hi || !t->x || !t->leaf) goto failed;
    rng_init(&t->rng, seed, 0x74726565);
    plant(t);
    return t;

failed:
    tree_free(t);
    err_set(e, ERR_MEMORY, "no memory for a tree of %d nodes", cfg->max_nodes);
    return NULL;
}

void tree_free(struct tree *t)
{
    if (!t) return;
    free(t->node);
    free(t->lo);
    free(t->hi);
    free(t->x);
    free(t->leaf);
    free(t);
}

/* ---- looking ---- */

int tree_nodes(const struct tree *t)
{
    return t->n;
}

int tree_leaves(const struct tree *t)
{
    return t->n_leaves;
}

struct tree_leaf tree_node(const struct tree *t, int i)
{
    assert(i >= 0 && i < t->n);
    const struct node *node = &t->node[i];
    return (struct tree_leaf){
        i, node->depth, node->visits, t->x + tree_row(t, i), node->left, node->active};
}

int tree_child(const struct tree *t, int i)
{
    assert(i >= 0 && i < t->n);
    return t->node[i].child;
}

int tree_find(const struct tree *t, const float *x)
{
    /* a candidate may lie on the border of two cells */
    for (int l = 0; l < t->n_leaves; l++)
        if (!memcmp(x, t->x + tree_row(t, t->leaf[l]), sizeof *x * (size_t)t->cfg.dim))
            return t->leaf[l];
    int i = 0;
    while (t->node[i].child != NONE) {
        int low = t->node[i].child, high = low + 1;
        size_t side = (size_t)t->node[i].side;
        /* children may be trimmed: a point between them is in neither */
        double middle =
            (t->hi[tree_row(t, low) + side] + t->lo[tree_row(t, high) + side]) / 2;
        i = (double)x[side] <= middle ? low : high;
        if (!t->node[i].active) i = i == low ? high : low;
    }
    return i;
}

struct tree_leaf tree_leaf_at(const struct tree *t, int i)
{
    assert(i >= 0 && i < t->n_leaves);
    return tree_node(t, t->leaf[i]);
}

void tree_box(double *lo, double *hi, const struct tree *t, int i)
{
    assert(i >= 0 && i < t->n);
    memcpy(lo, t->lo + tree_row(t, i), sizeof *lo * (size_t)t->cfg.dim);
    memcpy(hi, t->hi + tree_row(t, i), sizeof *hi * (size_t)t->cfg.dim);
}

struct tree_stats tree_stats(const struct tree *t)
{
    struct tree_stats s = {.nodes = t->n, .leaves = t->n_leaves, .refused = t->refused};
    for (int i = 0; i < t->n; i++)
        s.inactive += !t->node[i].active;
    for (int i = 0; i < t->n_leaves; i++) {
        const struct node *leaf = &t->node[t->leaf[i]];
        if (leaf->depth > s.depth) s.depth = leaf->depth;
        s.left += leaf->left;
    }
    return s;
}

/* ---- state: the splits and visits; boxes and candidates follow from them ----
 *
 * u64 dim, nodes, refused, rng (4); then per node, max_nodes times:
 * u64 visits, u32 child + 1, u32 side. Unused nodes are 0. */

enum { HEAD = 7 * 8, PER_NODE = 16 };

size_t tree_state_size(const struct tree_cfg *cfg)
{
    return HEAD + PER_NODE * (size_t)cfg->max_nodes;
}

void tree_state_get(const struct tree *t, void *out)
{
    unsigned char *p = out;
    memset(p, 0, tree_state_size(&t->cfg));
    bytes_put_u64(p, (uint64_t)t->cfg.dim);
    bytes_put_u64(p + 8, (uint64_t)t->n);
    bytes_put_u64(p + 16, (uint64_t)t->refused);
    for (int i = 0; i < 4; i++)
        bytes_put_u64(p + 24 + 8 * i, t->rng.s[i]);
    p += HEAD;
    for (int i = 0; i < t->n; i++, p += PER_NODE) {
        bytes_put_u64(p, (uint64_t)t->node[i].visits);
        bytes_put_u32(p + 8, (uint32_t)(t->node[i].child + 1));
        bytes_put_u32(p + 12, (uint32_t)t->node[i].side);
    }
}

/* One node of a state, the children where halving puts them. */
struct record {
    uint64_t visits;
    uint32_t child, side; /* child + 1, 0 = leaf */
};

static struct record record_at(const unsigned char *nodes, int i)
{
    const unsigned char *p = nodes + (size_t)i * PER_NODE;
    return (struct record){bytes_get_u64(p), bytes_get_u32(p + 8), bytes_get_u32(p + 12)};
}

/* Do the records make one tree? Every child has one parent, which comes before it. Children
 * come in the order in which their parents were halved, which is not that of the parents. */
static bool tree_sound(const struct tree *t, const unsigned char *p)
{
    uint64_t n = bytes_get_u64(p + 8);
    if (bytes_get_u64(p) != (uint64_t)t->cfg.dim || n < 1 ||
        n > (uint64_t)t->cfg.max_nodes || n % 2 == 0)
        return false;
    if (bytes_get_u64(p + 16) > INT64_MAX) return false;
    uint64_t halved = 0;
    for (int i = 0; i < (int)n; i++) {
        struct record r = record_at(p + HEAD, i);
        if (r.visits > INT64_MAX || r.side >= (uint32_t)t->cfg.dim) return false;
        if (!r.child) continue;
        uint64_t child = (uint64_t)r.child - 1;
        if (child <= (uint64_t)i || child % 2 == 0 || child + 1 >= n) return false;
        for (int j = 0; j < i; j++)
            if (record_at(p + HEAD, j).child == r.child) return false;
        halved++;
    }
    return n == 2 * halved + 1;
}

/* The parent of `child` and its neighbour. */
static int parent_of(const unsigned char *nodes, int child)
{
    int i = 0;
    while (record_at(nodes, i).child != (uint32_t)child + 1)
        i++;
    return i;
}

static int corrupt(struct tree *t, struct err *e)
{
    plant(t);
    return err_set(e, ERR_CORRUPT,
                   "not the state of a tree of %d dimensions and at most %d nodes",
                   t->cfg.dim, t->cfg.max_nodes);
}

int tree_state_put(struct tree *t, const void *in, struct err *e)
{
    const unsigned char *p = in, *nodes = p + HEAD;
    if (!tree_sound(t, p)) return corrupt(t, e);
    plant(t);
    int n = (int)bytes_get_u64(p + 8);
    while (t->n < n) {
        int i = parent_of(nodes, t->n);
        if (!t->node[i].active) return corrupt(t, e);
        halve(t, i, (int)record_at(nodes, i).side);
        replace_leaf(t, i);
    }
    for (int i = 0; i < t->n; i++)
        t->node[i].visits = (int64_t)record_at(nodes, i).visits;
    t->refused = (int64_t)bytes_get_u64(p + 16);
    for (int i = 0; i < 4; i++)
        t->rng.s[i] = bytes_get_u64(p + 24 + 8 * i);
    return 0;
}
