#include "policy/tree.h"

#include "support/suites.h"

#include "base/rng.h"
#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct tree *added(struct tree_cfg c, int visits, uint64_t seed)
{
    struct tree *t = tree_new(&c, seed, NULL);
    struct rng r;
    rng_init(&r, seed, 9);
    for (int i = 1; i <= visits; i++) {
        int leaf = (int)rng_below(&r, (uint32_t)tree_leaves(t));
        tree_visit(t, tree_leaf_at(t, leaf).node, i);
    }
    return t;
}

/* ---- which boxes meet the simplex ---- */

/* Is there a point of the grid of quarters in the box whose entries have sum 1? With bounds
 * on that grid there is one whenever there is any (an interval of sums, of integers). */
static bool brute(const int *lo, const int *hi)
{
    for (int a = lo[0]; a <= hi[0]; a++)
        for (int b = lo[1]; b <= hi[1]; b++)
            for (int c = lo[2]; c <= hi[2]; c++)
                if (a + b + c == 4) return true;
    return false;
}

START_TEST(activity_against_every_point)
{
    int met = 0, boxes = 0;
    for (int code = 0; code < 25 * 25 * 25; code++) {
        int lo[3], hi[3], rest = code;
        bool box = true;
        double from[3], to[3];
        for (int k = 0; k < 3; k++, rest /= 25) {
            lo[k] = rest % 5, hi[k] = rest % 25 / 5;
            box = box && lo[k] <= hi[k];
            from[k] = lo[k] / 4.0, to[k] = hi[k] / 4.0;
        }
        if (!box) continue;
        boxes++;
        met += brute(lo, hi);
        ck_assert_int_eq(tree_meets(from, to, 3), brute(lo, hi));
    }
    ck_assert_int_eq(boxes, 15 * 15 * 15);
    ck_assert_int_gt(met, 0);
    ck_assert_int_lt(met, boxes);

    /* the paper's own example of a region without a feasible point */
    ck_assert(!tree_meets((double[]){.5, .75}, (double[]){1, 1}, 2));
}
END_TEST

/* ---- Eq. 2 ---- */

START_TEST(thresholds)
{
    struct tree_cfg c = tree_cfg_default(3);
    c.c = 0.1, c.rho = 0.5, c.delta = 0.5, c.nu1 = 2;
    /* .01 ln(200) / 4 * .5^-4 */
    ck_assert_double_eq_tol(tree_threshold(&c, 2, 100), 0.2119326947, 1e-9);
    c.delta = 1;
    ck_assert_double_eq(tree_threshold(&c, 7, 1), 0);
}
END_TEST

START_TEST(a_leaf_expands_when_it_was_visited_enough)
{
    struct tree_cfg c = tree_cfg_default(2);
    c.c = c.nu1 = 1, c.rho = 0.5; /* root: ln t, below: 4 ln t */
    struct tree *t = tree_new(&c, 1, NULL);
    ck_assert_int_eq(tree_leaves(t), 1);
    ck_assert_int_eq(tree_child(t, 0), -1);
    ck_assert(tree_visit(t, 0, 1)); /* threshold 0 at t = 1 */
    ck_assert_int_eq(tree_child(t, 0), 1);
    ck_assert_int_eq(tree_leaves(t), 2);
    ck_assert(!tree_visit(t, 0, 2)); /* no leaf any more */
    ck_assert_int_eq(tree_node(t, 0).visits, 2);

    int node = tree_leaf_at(t, 0).node;
    for (int i = 0; i < 6; i++)
        ck_assert(!tree_visit(t, node, 5)); /* 4 ln 5 = 6.44 */
    ck_assert(tree_visit(t, node, 5));
    ck_assert_int_eq(tree_leaves(t), 3);
    ck_assert_int_eq(tree_stats(t).depth, 2);
    tree_free(t);
}
END_TEST

/* ---- cells and candidates ---- */

static void check_candidates(const struct tree *t, int dim)
{
    double lo[TREE_DIM_MAX], hi[TREE_DIM_MAX];
    for (int i = 0; i < tree_leaves(t); i++) {
        struct tree_leaf leaf = tree_leaf_at(t, i);
        tree_box(lo, hi, t, leaf.node);
        ck_assert(tree_meets(lo, hi, dim));
        double sum = 0;
        for (int k = 0; k < dim; k++) {
            sum += (double)leaf.x[k];
            ck_assert((double)leaf.x[k] >= lo[k] - 1e-6);
            ck_assert((double)leaf.x[k] <= hi[k] + 1e-6);
        }
        ck_assert_double_eq_tol(sum, 1, 1e-5);
        ck_assert(!leaf.left);
    }
}

/* how many active leaves hold a point */
static int holders(const struct tree *t, const double *x, int dim)
{
    double lo[TREE_DIM_MAX], hi[TREE_DIM_MAX];
    int n = 0;
    for (int i = 0; i < tree_leaves(t); i++) {
        tree_box(lo, hi, t, tree_leaf_at(t, i).node);
        bool in = true;
        for (int k = 0; k < dim; k++)
            in = in && x[k] >= lo[k] && x[k] <= hi[k];
        n += in;
    }
    return n;
}

static void on_simplex(double *x, int dim, struct rng *r)
{
    double sum = 0;
    for (int k = 0; k < dim; k++)
        sum += x[k] = rng_exponential(r, 1);
    for (int k = 0; k < dim; k++)
        x[k] /= sum;
}

START_TEST(leaves_share_out_the_simplex)
{
    static const int dims[] = {2, 4, 9};
    for (int d = 0; d < 3; d++)
        for (int split = 0; split < 2; split++) {
            struct tree_cfg c = tree_cfg_default(dims[d]);
            c.split = split ? TREE_RANDOM : TREE_LONGEST;
            struct tree *t = added(c, 3000, 3);
            ck_assert_int_gt(tree_leaves(t), 20);
            check_candidates(t, dims[d]);
            struct rng r;
            rng_init(&r, 4, 0);
            double x[9];
            for (int i = 0; i < 300; i++) {
                on_simplex(x, dims[d], &r);
                ck_assert_int_eq(holders(t, x, dims[d]), 1);
            }
            struct tree_stats s = tree_stats(t);
            if (split) ck_assert_int_gt(s.inactive, 0);
            if (!split) ck_assert_int_eq(s.inactive, 0);
            ck_assert_int_eq(s.nodes, tree_nodes(t));
            tree_free(t);
        }
}
END_TEST

START_TEST(weights_are_found_in_the_leaf_that_holds_them)
{
    for (int split = 0; split < 2; split++) {
        struct tree_cfg c = tree_cfg_default(4);
        c.split = split ? TREE_RANDOM : TREE_LONGEST;
        struct tree *t = added(c, 2000, 3);
        for (int i = 0; i < tree_leaves(t); i++) {
            struct tree_leaf leaf = tree_leaf_at(t, i);
            struct tree_leaf found = tree_node(t, tree_find(t, leaf.x));
            ck_assert_mem_eq(found.x, leaf.x, 4 * sizeof *leaf.x); /* some are twins */
        }
        struct rng r;
        rng_init(&r, 5, 0);
        for (int i = 0; i < 300; i++) {
            double x[4], lo[4], hi[4];
            float f[4];
            on_simplex(x, 4, &r);
            for (int k = 0; k < 4; k++)
                f[k] = (float)x[k];
            int node = tree_find(t, f);
            ck_assert(tree_node(t, node).active);
            ck_assert_int_eq(tree_child(t, node), -1);
            tree_box(lo, hi, t, node);
            for (int k = 0; k < 4; k++)
                ck_assert(x[k] >= lo[k] - 1e-6 && x[k] <= hi[k] + 1e-6);
        }
        tree_free(t);
    }
}
END_TEST

START_TEST(trimmed_boxes)
{
    struct tree_cfg c = tree_cfg_default(3);
    struct tree *t = tree_new(&c, 1, NULL);
    const float *x = tree_leaf_at(t, 0).x;
    for (int k = 0; k < 3; k++)
        ck_assert_double_eq_tol((double)x[k], 1 / 3.0, 1e-6);
    ck_assert(tree_visit(t, 0, 1));
    /* the upper half of side k leaves 0 .. 1/2 to the others */
    double lo[3], hi[3];
    tree_box(lo, hi, t, 2);
    int halves = 0;
    for (int k = 0; k < 3; k++) {
        ck_assert_double_eq(hi[k] - lo[k], .5);
        halves += lo[k] == .5;
    }
    ck_assert_int_eq(halves, 1);
    /* its candidate: (lo + s (hi - lo)), s = .5 / 1.5 */
    float largest = 0;
    for (int k = 0; k < 3; k++)
        largest = fmaxf(largest, tree_node(t, 2).x[k]);
    ck_assert_double_eq_tol((double)largest, .5 + .5 / 3, 1e-6);
    tree_free(t);
}
END_TEST

START_TEST(no_more_than_so_many_weights)
{
    struct tree_cfg c = tree_cfg_default(6);
    c.keep = 2;
    struct tree *t = added(c, 400, 5);
    double lo[6], hi[6];
    int left = 0;
    for (int i = 0; i < tree_leaves(t); i++) {
        struct tree_leaf leaf = tree_leaf_at(t, i);
        tree_box(lo, hi, t, leaf.node);
        int used = 0;
        double sum = 0;
        bool out = false;
        for (int k = 0; k < 6; k++) {
            used += leaf.x[k] > 0;
            sum += (double)leaf.x[k];
            out = out || (double)leaf.x[k] < lo[k] - 1e-5 ||
                  (double)leaf.x[k] > hi[k] + 1e-5;
        }
        ck_assert_int_le(used, 2);
        ck_assert_double_eq_tol(sum, 1, 1e-6);
        ck_assert_int_eq(leaf.left, out);
        left += out;
    }
    ck_assert_int_gt(left, 0);
    ck_assert_int_eq(tree_stats(t).left, left);
    tree_free(t);
}
END_TEST

START_TEST(the_largest_stay)
{
    /* root of 4, one kept: equal weights, so the first */
    struct tree_cfg c = tree_cfg_default(4);
    c.keep = 1;
    struct tree *t = tree_new(&c, 1, NULL);
    const float *x = tree_leaf_at(t, 0).x, want[4] = {1, 0, 0, 0};
    ck_assert_mem_eq(x, want, sizeof want);
    ck_assert(!tree_leaf_at(t, 0).left); /* the root's cell is everything */
    tree_free(t);
}
END_TEST

/* ---- bounds ---- */

START_TEST(a_full_tree_stays)
{
    struct tree_cfg c = tree_cfg_default(3);
    c.max_nodes = 6; /* three splits want 7 */
    struct tree *t = added(c, 200, 6);
    struct tree_stats s = tree_stats(t);
    ck_assert_int_eq(s.nodes, 5);
    ck_assert_int_eq(s.leaves, 3);
    ck_assert_int_gt(s.refused, 0);
    tree_free(t);
}
END_TEST

START_TEST(sides_have_a_shortest_length)
{
    struct tree_cfg c = tree_cfg_default(2);
    c.c = 1e-9, c.rho = .9;
    struct tree *t = tree_new(&c, 1, NULL);
    for (int i = 1; i <= 100; i++) {
        int last = tree_leaf_at(t, tree_leaves(t) - 1).node;
        tree_visit(t, last, i);
    }
    /* a side of 2 halves both at once: 2^-21 after 21 */
    ck_assert_int_eq(tree_stats(t).depth, 21);
    ck_assert_int_eq(tree_stats(t).refused, 79);
    tree_free(t);
}
END_TEST

START_TEST(limits_of_the_configuration)
{
    struct tree_cfg good = tree_cfg_default(4), c;
    ck_assert_int_eq(tree_cfg_check(&good, NULL), 0);
#define BAD(member, value)                                   \
    do {                                                     \
        struct err e = {0};                                  \
        c = good;                                            \
        c.member = (value);                                  \
        ck_assert_int_eq(tree_cfg_check(&c, &e), ERR_RANGE); \
        ck_assert_str_eq(e.field, #member);                  \
    } while (0)
    BAD(dim, 0);
    BAD(dim, 257);
    BAD(keep, 0);
    BAD(keep, 5);
    BAD(max_nodes, 0);
    BAD(max_nodes, TREE_NODES_MAX + 1);
    BAD(c, 0);
    BAD(delta, 0);
    BAD(delta, 1.5);
    BAD(nu1, -1);
    BAD(nu1, (double)NAN);
    BAD(rho, 1);
    BAD(rho, 0);
    BAD(split, 2);
#undef BAD
    c = good;
    c.dim = 0;
    ck_assert_ptr_null(tree_new(&c, 1, NULL));
}
END_TEST

/* ---- state ---- */

static void same_leaves(const struct tree *a, const struct tree *b, int dim)
{
    ck_assert_int_eq(tree_leaves(a), tree_leaves(b));
    for (int i = 0; i < tree_leaves(a); i++) {
        struct tree_leaf x = tree_leaf_at(a, i), y = tree_leaf_at(b, i);
        ck_assert_int_eq(x.node, y.node);
        ck_assert_int_eq(x.depth, y.depth);
        ck_assert_int_eq(x.visits, y.visits);
        ck_assert_mem_eq(x.x, y.x, sizeof *x.x * (size_t)dim);
    }
}

START_TEST(a_state_goes_on_where_it_was)
{
    for (int split = 0; split < 2; split++) {
        struct tree_cfg c = tree_cfg_default(5);
        c.split = split ? TREE_RANDOM : TREE_LONGEST;
        struct tree *a = added(c, 300, 7), *b = tree_new(&c, 99, NULL);
        void *state = malloc(tree_state_size(&c));
        tree_state_get(a, state);
        ck_assert_int_eq(tree_state_put(b, state, NULL), 0);
        same_leaves(a, b, 5);
        for (int i = 301; i < 600; i++) {
            int leaf = i % tree_leaves(a);
            ck_assert_int_eq(tree_visit(a, tree_leaf_at(a, leaf).node, i),
                             tree_visit(b, tree_leaf_at(b, leaf).node, i));
        }
        same_leaves(a, b, 5);
        ck_assert_int_eq(tree_stats(a).refused, tree_stats(b).refused);
        free(state);
        tree_free(a);
        tree_free(b);
    }
}
END_TEST

START_TEST(states_that_are_none)
{
    struct tree_cfg c = tree_cfg_default(3);
    c.max_nodes = 15;
    struct tree *t = added(c, 60, 8), *b = tree_new(&c, 1, NULL);
    size_t n = tree_state_size(&c);
    unsigned char *good = malloc(n), *bad = malloc(n);
    tree_state_get(t, good);
    ck_assert_int_eq(tree_state_put(b, good, NULL), 0);

    enum { NODES = 56, CHILD = NODES + 8, SIDE = NODES + 12 };
    static const struct {
        size_t at;
        unsigned char value;
    } damage[] = {
        {0, 4},            /* dimensions */
        {8, 0},            /* no node */
        {8, 16},           /* more than there may be */
        {8, 3},            /* fewer than its parents have */
        {23, 0x80},        /* refused less than never */
        {CHILD, 1},        /* the root is its own child */
        {CHILD, 3},        /* children come in pairs */
        {CHILD, 200},      /* beyond the last */
        {CHILD, 0},        /* a child that nobody has */
        {CHILD, 4},        /* two parents */
        {SIDE, 3},         /* a side too many */
        {NODES + 7, 0x80}, /* visits below 0 */
    };
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        memcpy(bad, good, n);
        bad[damage[i].at] = damage[i].value;
        ck_assert_int_eq(tree_state_put(b, bad, NULL), ERR_CORRUPT);
        ck_assert_int_eq(tree_leaves(b), 1);
        ck_assert_int_eq(tree_leaf_at(b, 0).visits, 0);
    }
    free(good);
    free(bad);
    tree_free(t);
    tree_free(b);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    return tree_new(ctx, 1, e);
}

static void drop(void *made)
{
    tree_free(made);
}

START_TEST(without_memory)
{
    struct tree_cfg c = tree_cfg_default(3);
    ck_assert_int_eq(alloc_each_fails(make, drop, &c), 6);
}
END_TEST

SUITE(policy_tree, activity_against_every_point, thresholds,
      a_leaf_expands_when_it_was_visited_enough, leaves_share_out_the_simplex,
      weights_are_found_in_the_leaf_that_holds_them, trimmed_boxes,
      no_more_than_so_many_weights, the_largest_stay, a_full_tree_stays,
      sides_have_a_shortest_length, limits_of_the_configuration,
      a_state_goes_on_where_it_was, states_that_are_none, without_memory);
