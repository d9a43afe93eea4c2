#include "lab/trials/trial_sim.h"

#include <check.h>
#include <math.h>

#include "support/suites.h"

static struct trial_sim_pool hyb, rate;

static void load(void)
{
    ck_assert_int_eq(trial_sim_pool(&hyb, "hyb", 300, 3, NULL), 0);
    ck_assert_int_eq(trial_sim_pool(&rate, "rate", 300, 3, NULL), 0);
}

static void unload(void)
{
    trial_sim_pool_free(&hyb);
    trial_sim_pool_free(&rate);
}

TEST(pools_have_the_same_viewers)
{
    int stalled = 0, networks = 0;
    for (int i = 0; i < hyb.n; i++) {
        const struct trial_sim_session *a = &hyb.session[i], *b = &rate.session[i];
        ck_assert_double_eq(a->ended.played_s, b->ended.played_s);
        ck_assert_int_eq(a->network, b->network);
        ck_assert(a->ended.started && a->ended.chunks > 0);
        stalled += a->ended.stall_s > 0;
        networks |= 1 << a->network;
    }
    ck_assert_int_gt(stalled, 5);
    ck_assert_int_lt(stalled, 150);
    ck_assert_int_eq(networks & 14, 14); /* slow, middle, fast */
    struct err e = {0};
    struct trial_sim_pool none;
    ck_assert_int_eq(trial_sim_pool(&none, "nonsense", 10, 3, &e), ERR_ABSENT);
}

TEST(the_truth_is_the_pools)
{
    struct trial_sim_cfg c = trial_sim_cfg_default();
    struct trial_sim_truth t;
    c.pool[0] = c.pool[1] = &hyb;
    trial_sim_truth(&t, &c);
    ck_assert_double_eq(t.difference[COMPARE_STALL_RATIO], 0);
    ck_assert(isinf(trial_sim_fixed(&t, .5, COMPARE_STALL_RATIO)));
    c.twice = true;
    trial_sim_truth(&t, &c);
    ck_assert_double_gt(t.difference[COMPARE_STALL_RATIO], 0);
    ck_assert_double_eq(t.difference[COMPARE_QUALITY], 0);
    t.difference[0] = 1; /* by hand: (2 + 2) (1.96 + 0.84)^2 = 31.4 */
    t.deviation[0][0] = t.deviation[0][1] = 1;
    ck_assert_double_eq(trial_sim_fixed(&t, .5, 0), 32);
}

TEST(equal_seeds_give_equal_trials)
{
    struct trial_sim_cfg c = trial_sim_cfg_default();
    struct trial_sim_truth t;
    struct trial_sim a, b;
    c.pool[0] = &hyb;
    c.pool[1] = &rate;
    c.sessions = 1500;
    trial_sim_truth(&t, &c);
    trial_sim_run(&a, &c, &t, 5);
    trial_sim_run(&b, &c, &t, 5);
    ck_assert_int_eq(a.stopped, b.stopped);
    for (int f = 0; f < COMPARE_FIGURES; f++)
        ck_assert_int_eq(a.decided[f], b.decided[f]);
    ck_assert_int_gt(a.decided[COMPARE_SWITCHES], 0); /* they differ much in switches */
    c.stops = c.twice = true;
    c.sessions = 20000;
    trial_sim_truth(&t, &c);
    trial_sim_run(&a, &c, &t, 5);
    ck_assert_int_gt(a.stopped, 0);
    ck_assert_int_lt(a.stopped_all, 20000);
}

SUITE_SET_UP(lab_trials_trial_sim, 60, load, unload, pools_have_the_same_viewers,
             the_truth_is_the_pools, equal_seeds_give_equal_trials);
