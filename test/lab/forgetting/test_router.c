#include "lab/forgetting/router.h"

#include "support/suites.h"

#include <math.h>
#include <string.h>

static struct router two(double alpha, double theta[4])
{
    struct router g;
    router_init(
        &g,
        &(struct router_cfg){
            .experts = 2, .d = 2, .eta = .5, .alpha = alpha, .noise = .3, .gamma = .25},
        theta);
    return g;
}

/* theta = 0: pi = (1/2, 1/2). Expert 0 moved by 2: c = 2, step for m = 0:
 * -.5 * 2 * .5 * (1 - .5) x = -.25 x, for m = 1: +.25 x. With alpha = .5 in round 1:
 * c = 2 + .5 * 2 * 1 / 1 = 3, so .375 x. */
TEST(a_step_by_hand)
{
    double sum[] = {1, -4}, h[2], theta[4];
    struct router g = two(0, theta);
    router_scores(h, &g, sum);
    router_count(&g, 0);
    router_step(&g, h, sum, 0, 2);
    ck_assert_double_eq_tol(theta[0], -.25, 1e-15);
    ck_assert_double_eq_tol(theta[3], -1, 1e-15);

    g = two(.5, theta);
    router_count(&g, 0);
    router_step(&g, h, sum, 0, 2);
    ck_assert_double_eq_tol(theta[0], -.375, 1e-15);
}

/* L_loc + L_aux as a function of theta, from the definition: f and the earlier summands of P
 * are constants, pi of this round moves. */
static double loss(const struct router *g, const double *sum, int m, double moved,
                   const double *earlier)
{
    double h[RECALL_EXPERTS], pi[RECALL_EXPERTS], aux = 0;
    router_scores(h, g, sum);
    router_softmax(pi, h, g->cfg.experts);
    for (int k = 0; k < g->cfg.experts; k++) {
        double f = (double)g->chosen[k] / g->rounds;
        double P = (earlier[k] + (k == m ? pi[k] : 0)) / g->rounds;
        aux += f * P;
    }
    return pi[m] * moved + g->cfg.alpha * g->cfg.experts * aux;
}

TEST(the_step_is_minus_eta_times_the_gradient)
{
    struct router g;
    double theta[6], before[6];
    router_init(
        &g,
        &(struct router_cfg){.experts = 3, .d = 2, .eta = .2, .alpha = .5, .noise = .3},
        theta);
    struct rng r;
    rng_init(&r, 4, 1);
    for (int i = 0; i < 6; i++)
        before[i] = theta[i] = rng_normal(&r);
    double earlier[] = {.4, .7, .2}, sum[] = {.8, -1.1}, h[3];
    for (int t = 0; t < 4; t++)
        router_count(&g, t % 3);
    router_count(&g, 1);
    router_scores(h, &g, sum);
    router_step(&g, h, sum, 1, .9);
    struct router moved = g;
    double beside[6];
    moved.theta = beside;
    for (int i = 0; i < 6; i++) {
        memcpy(beside, before, sizeof beside);
        beside[i] = before[i] + 1e-5;
        double up = loss(&moved, sum, 1, .9, earlier);
        beside[i] = before[i] - 1e-5;
        double slope = (up - loss(&moved, sum, 1, .9, earlier)) / 2e-5;
        ck_assert_double_eq_tol(theta[i], before[i] - .2 * slope, 1e-9);
    }
}

TEST(picks_the_best_idle_expert)
{
    struct router g;
    double theta[3];
    router_init(&g, &(struct router_cfg){.experts = 3, .d = 1, .noise = .1}, theta);
    struct rng r;
    rng_init(&r, 1, 1);
    double h[] = {5, 1, 3};
    bool idle[] = {false, true, true}, none[] = {false, false, false};
    ck_assert_int_eq(router_pick(&g, h, NULL, &r), 0);
    ck_assert_int_eq(router_pick(&g, h, idle, &r), 2);
    ck_assert_int_eq(router_pick(&g, h, none, &r), -1);

    /* noise decides between equals: each about half of the time */
    double equal[] = {1, 1, -9};
    int first = 0;
    for (int i = 0; i < 1000; i++)
        first += router_pick(&g, equal, NULL, &r) == 0;
    ck_assert(first > 430 && first < 570);
}

TEST(flags_stay_and_all_of_them_settle)
{
    double theta[4];
    struct router g = two(0, theta);
    double far[] = {0, .3}, near[] = {0, .2};
    router_converge(&g, far, 0);
    ck_assert(g.flag[0] && !g.flag[1] && !router_settled(&g));
    router_converge(&g, near, 0);
    ck_assert(router_settled(&g));
    router_converge(&g, far, 0);
    ck_assert(router_settled(&g));
}

TEST(sets_and_gaps_by_hand)
{
    double theta[4],
        signal[] = {1, 0, 9, 0, 1, 9}; /* the third column is not looked at */
    struct router g = two(0, theta);
    theta[0] = 1;
    theta[3] = 1;
    ck_assert_int_eq(router_specialty(&g, 0, signal, 2, 3), 0);
    ck_assert_int_eq(router_specialty(&g, 1, signal, 2, 3), 1);

    double h[] = {0, 1, 5}, in, out;
    router_gaps(&in, &out, h, (int[]){0, 0, 1}, 3);
    ck_assert_double_eq(in, 1);
    ck_assert_double_eq(out, 4.5);
    router_gaps(&in, &out, h, (int[]){0, 0, 0}, 3);
    ck_assert_double_eq_tol(in, 10.0 / 3, 1e-15);
    ck_assert_double_nan(out);
}

SUITE(lab_forgetting_router, a_step_by_hand, the_step_is_minus_eta_times_the_gradient,
      picks_the_best_idle_expert, flags_stay_and_all_of_them_settle,
      sets_and_gaps_by_hand);
