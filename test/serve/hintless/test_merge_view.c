#include "serve/hintless/merge_view.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"

enum { K = 3, V = 2, NODES = 63 };

static struct tanbr *bandit;
static struct merge_view *g;

static void setup(void)
{
    struct tanbr_cfg cfg = tanbr_cfg_default(K, V);
    cfg.max_nodes = NODES;
    cfg.width = 8;
    bandit = tanbr_new(&cfg, 5, NULL);
    g = merge_view_new(K, NODES, NULL);
    ck_assert(bandit != NULL && g != NULL);
}

static void teardown(void)
{
    tanbr_free(bandit);
    merge_view_free(g);
}

/* One slot; the node that was chosen. */
static int play(void)
{
    static const float psi[V] = {.5f, .5f}, reward[V] = {.25f, .5f};
    float x[K];
    int node = tanbr_choose(bandit, x, NULL, psi);
    ck_assert_int_eq(tanbr_learn(bandit, node, psi, reward, NULL), 0);
    return node;
}

START_TEST(it_is_the_bandits_tree)
{
    int node = -1;
    for (int i = 0; i < 200; i++)
        node = play();
    merge_view_update(g, bandit, node);
    struct merge_view_copy *v = merge_view_get(g, NULL);
    struct tree_stats s = tanbr_stats(bandit).tree;
    ck_assert_int_gt(s.nodes, 5);
    ck_assert_int_eq(v->nodes, s.nodes);
    ck_assert_int_eq(v->experts, K);
    ck_assert_int_eq(v->chosen, node);
    ck_assert_int_eq(v->node[0].parent, -1);

    int leaves = 0, children[NODES] = {0};
    int64_t visits = 0;
    for (int i = 0; i < v->nodes; i++) {
        const struct merge_view_node *n = &v->node[i];
        struct tree_leaf want = tree_node(tanbr_tree(bandit), i);
        ck_assert_int_eq(n->depth, want.depth);
        ck_assert_int_eq(n->visits, want.visits);
        ck_assert_mem_eq(n->x, want.x, K * sizeof *n->x);
        leaves += n->leaf && n->active;
        visits += n->visits;
        if (!i) continue;
        ck_assert_int_lt(n->parent, i);
        ck_assert(!v->node[n->parent].leaf);
        ck_assert_int_eq(n->depth, v->node[n->parent].depth + 1);
        children[n->parent]++;
    }
    ck_assert_int_eq(leaves, s.leaves);
    ck_assert_int_eq(visits, 200);
    for (int i = 0; i < v->nodes; i++)
        ck_assert_int_eq(children[i], v->node[i].leaf ? 0 : 2);

    /* a picture stays as it was */
    int nodes = v->nodes;
    for (int i = 0; i < 200; i++)
        merge_view_update(g, bandit, play());
    ck_assert_int_eq(v->nodes, nodes);
    merge_view_copy_free(v);
}
END_TEST

START_TEST(the_last_slots_stay_in_order)
{
    struct merge_view_copy *v = merge_view_get(g, NULL);
    ck_assert_int_eq(v->slots, 0);
    ck_assert_int_eq(v->chosen, -1);
    merge_view_copy_free(v);
    for (uint64_t i = 1; i <= MERGE_VIEW_SLOTS + 3; i++)
        merge_view_add_slot(g, &(struct merge_view_slot){.slot = i, .reward = NAN});
    v = merge_view_get(g, NULL);
    ck_assert_int_eq(v->slots, MERGE_VIEW_SLOTS);
    ck_assert_uint_eq(v->slot[0].slot, 4);
    ck_assert_uint_eq(v->slot[MERGE_VIEW_SLOTS - 1].slot, MERGE_VIEW_SLOTS + 3);
    ck_assert(isnan(v->slot[7].reward));
    merge_view_copy_free(v);
}
END_TEST

START_TEST(writing_allocates_nothing)
{
    int node = play();
    alloc_watch();
    merge_view_update(g, bandit, node);
    merge_view_add_slot(g, &(struct merge_view_slot){.slot = 1});
    ck_assert_int_eq(alloc_calls(), 0);
}
END_TEST

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return merge_view_new(K, NODES, e);
}

static void destroy(void *made)
{
    merge_view_free(made);
}

static void *look(void *ctx, struct err *e)
{
    (void)ctx;
    return merge_view_get(g, e);
}

static void look_away(void *made)
{
    merge_view_copy_free(made);
}

START_TEST(memory_may_run_out)
{
    ck_assert_int_eq(alloc_each_fails(make, destroy, NULL), 2);
    ck_assert_int_eq(alloc_each_fails(look, look_away, NULL), 2);
}
END_TEST

Suite *suite_serve_hintless_merge_view(void);
Suite *suite_serve_hintless_merge_view(void)
{
    Suite *s = suite_create("serve/hintless/merge_view");
    TCase *t = tcase_create("merge_view");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, it_is_the_bandits_tree);
    tcase_add_test(t, the_last_slots_stay_in_order);
    tcase_add_test(t, writing_allocates_nothing);
    tcase_add_test(t, memory_may_run_out);
    suite_add_tcase(s, t);
    return s;
}
