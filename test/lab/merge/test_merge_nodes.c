#include "lab/merge/merge_nodes.h"

#include <check.h>

#include "support/plain_field.h"

enum { SLOTS = 200, SEEDS = 5 };

static double regret_of(const struct plain_field *f, enum merge_nodes_how how, int nodes,
                        enum merge_method m, uint64_t seed)
{
    struct merge_nodes_cfg c = {merge_sim_cfg_default(), nodes, how};
    c.sim.slots = SLOTS;
    c.sim.method = m;
    c.sim.seed = seed;
    double regret = NAN;
    struct err e = {0};
    ck_assert_msg(merge_nodes_run(&regret, &f->field, &c, &e) == 0, "%s", e.detail);
    return regret;
}

START_TEST(one_node_is_one_node)
{
    struct plain_field *f = make();
    double one = regret_of(f, MERGE_NODES_ONE, 3, MERGE_TANBR, 4);
    ck_assert_double_gt(one, 0);
    ck_assert_double_eq(regret_of(f, MERGE_NODES_ONE, 1, MERGE_TANBR, 4), one);
    ck_assert_double_eq(regret_of(f, MERGE_NODES_APART, 1, MERGE_TANBR, 4), one);
    ck_assert_double_eq(regret_of(f, MERGE_NODES_SHARED, 1, MERGE_TANBR, 4), one);
    drop(f);
}
END_TEST

START_TEST(who_shares_learns_as_fast_as_one_with_all_viewers)
{
    struct plain_field *f = make();
    static const enum merge_method start[] = {MERGE_TANBR_BARE, MERGE_TANBR_MISLED};
    for (int m = 0; m < 2; m++) {
        double one = 0, shared = 0, apart = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            one += regret_of(f, MERGE_NODES_ONE, 3, start[m], seed) / SEEDS;
            shared += regret_of(f, MERGE_NODES_SHARED, 3, start[m], seed) / SEEDS;
            apart += regret_of(f, MERGE_NODES_APART, 3, start[m], seed) / SEEDS;
        }
        ck_assert_msg(shared < 1.15 * one, "%g of %g", shared, one);
        ck_assert_msg(shared < .9 * apart, "%g of %g", shared, apart);
    }
    drop(f);
}
END_TEST

Suite *suite_lab_merge_merge_nodes(void);
Suite *suite_lab_merge_merge_nodes(void)
{
    Suite *s = suite_create("lab/merge_nodes");
    TCase *t = tcase_create("lab/merge_nodes");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, one_node_is_one_node);
    tcase_add_test(t, who_shares_learns_as_fast_as_one_with_all_viewers);
    suite_add_tcase(s, t);
    return s;
}
