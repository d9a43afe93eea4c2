#include "lab/trials/replay_sim.h"

#include <math.h>

#include "support/suites.h"

static const char *const HYB_AND_RATE[] = {"hyb", "rate"};

static struct replay_sim_pool must_make(double crowding)
{
    struct replay_sim_pool p;
    struct err e = {0};
    ck_assert_msg(!replay_sim_pool(&p, HYB_AND_RATE, 60, crowding, 3, &e), "%s",
                  e.detail);
    return p;
}

/* A session replayed with its own decider is the session again. */
TEST(own_deciders_give_the_session_again)
{
    for (int crowded = 0; crowded < 2; crowded++) {
        struct replay_sim_pool p = must_make(.8 * crowded);
        int same = 0;
        for (int i = 0; i < p.n; i++)
            for (int a = 0; a < 2; a++)
                same +=
                    fabs(p.viewer[i].y[a][COMPARE_QOE] -
                         p.viewer[i].p[a][a][COMPARE_QOE]) < 1e-4; /* points are floats */
        ck_assert_int_eq(same, 2 * p.n);
        replay_sim_pool_free(&p);
    }
}

TEST(the_truth_is_that_of_all_viewers)
{
    struct replay_sim_pool p = must_make(.8);
    struct replay_sim_cfg c = {.pool = &p, .sessions = 20000, .seed = 1};
    for (int own = 0; own < 2; own++) {
        double bias[REPLAY_SIM_FIGURES], difference[REPLAY_SIM_FIGURES];
        struct replay_bias b[REPLAY_SIM_FIGURES];
        c.own = own;
        replay_sim_truth(bias, difference, &c);
        ck_assert_int_eq(replay_sim_run(b, &c, 0, NULL), 0);
        for (int f = 0; f < REPLAY_SIM_FIGURES; f++) { /* a long trial knows it */
            double width = b[f].bias.hi - b[f].bias.lo + 1e-9;
            ck_assert(b[f].known);
            ck_assert_double_eq_tol(b[f].bias.mean, bias[f], 2 * width);
            ck_assert_double_eq_tol(b[f].observed.mean, difference[f], 2 * width + .01);
        }
    }
    replay_sim_pool_free(&p);
    struct err e = {0};
    const char *const none[] = {"hyb", "nonsense"};
    ck_assert_int_eq(replay_sim_pool(&p, none, 10, 0, 1, &e), ERR_ABSENT);
}

SUITE_WITHIN(lab_trials_replay_sim, 60, own_deciders_give_the_session_again,
             the_truth_is_that_of_all_viewers);
