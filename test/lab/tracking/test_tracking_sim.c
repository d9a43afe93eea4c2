/* The tracking model against closed forms that need no simulation, and its sampled errors
 * against the recursion of their mean and variance. */
#include "lab/tracking/tracking_sim.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <math.h>
#include <string.h>

static struct tracking_sim run(struct tracking_sim_cfg c)
{
    struct tracking_sim out;
    memset(&out, 0xff, sizeof out);
    struct err e = {0};
    int rc = tracking_sim_run(&out, &c, &e);
    ck_assert_msg(rc == 0, "%s: %s", e.field, e.detail);
    return out;
}

/* one curvature, no noise */
static struct tracking_sim_cfg plain(enum tracking_sim_drift drift, double eta, int steps)
{
    struct tracking_sim_cfg c = tracking_sim_cfg_default();
    c.mu = c.l = 1;
    c.eta = eta;
    c.gamma = 0;
    c.pairs = 2;
    c.drift = drift;
    c.steps = steps;
    return c;
}

static void close_to(double a, double b)
{
    ck_assert_double_eq_tol(a, b, 1e-9 * (fabs(b) + 1e-12));
}

TEST(steady_drift_by_hand)
{
    /* e_t = -(1 - a^t) Delta / eta */
    struct tracking_sim_cfg c = plain(TRACKING_SIM_STEADY, .25, 10);
    struct tracking_sim r = run(c);
    double sum = 0;
    for (int t = 1; t <= 10; t++)
        sum += pow((1 - pow(.75, t)) * .05 / .25, 2) / 10;
    close_to(r.measured, sum);
    close_to(r.expected, sum);
    ck_assert(r.noise == 0 && r.se == 0 && r.term_noise == 0);
    close_to(r.path, .5);
    close_to(r.energy, 10 * .0025);
    close_to(r.term_path, .25 / (10 * .25));
    close_to(r.eq39, 4 * .25 / (.0625 * 10));

    /* with eta = 1 / L it is one step behind: the energy bound to the digit */
    r = run(plain(TRACKING_SIM_STEADY, 1, 50));
    close_to(r.measured, .0025);
    close_to(r.bound_energy, .0025);
    close_to(r.bound_path, .0025 * 50);
}

TEST(jumps_by_hand)
{
    /* one jump of length 1, which e_400 .. e_799 see */
    struct tracking_sim_cfg c = plain(TRACKING_SIM_JUMPS, 1, 799);
    struct tracking_sim r = run(c);
    close_to(r.path, 1);
    close_to(r.energy, 1);
    close_to(r.measured, 1.0 / 799);
    close_to(r.bound_path, 1.0 / 799); /* tight */

    /* it fades as a^t: energy of the error 1 / (1 - a^2) */
    c.eta = .5;
    r = run(c);
    close_to(r.measured, 1 / (1 - .25) / 799);

    /* three jumps lead back: with a step size near 0 the optimum is met again */
    c = plain(TRACKING_SIM_JUMPS, 1e-9, 1200);
    double three = run(c).measured * 1200;
    /* 400 steps at each of the other two places, both a distance of 1 away */
    ck_assert_double_eq_tol(three, 800, 1e-3);
    c.steps = 1600; /* 399 steps at the first place again, then a jump */
    ck_assert_double_eq_tol(run(c).measured * 1600 - three, 1, 1e-3);
}

TEST(noise_by_hand)
{
    struct tracking_sim_cfg c = plain(TRACKING_SIM_STEADY, .2, 300);
    c.speed = 0;
    c.gamma = 3;
    c.mu = .5;
    c.dim = 3; /* curvatures .5, sqrt(.5), 1 */
    struct tracking_sim r = run(c);
    double sum = 0, curvature[] = {.5, sqrt(.5), 1};
    for (int i = 0; i < 3; i++) {
        double a = 1 - .2 * curvature[i];
        for (int t = 1; t <= 300; t++)
            sum += .36 * (1 - pow(a, 2 * t)) / (1 - a * a) / 300;
    }
    close_to(r.expected, sum);
    close_to(r.noise, sum);
    ck_assert(r.drift == 0 && r.path == 0);
    close_to(r.term_noise, .2 * 9 * 3);
    close_to(r.bound_path, .2 * 9 * 3 / .5);
}

TEST(a_walk_is_followed_as_theory_says)
{
    struct tracking_sim_cfg c = plain(TRACKING_SIM_WALK, .1, 100000);
    c.pairs = 1;
    struct tracking_sim r = run(c);
    ck_assert_double_eq_tol(r.energy / 100000, .0025, .0025 * .02);
    /* speed^2 / (1 - a^2), up to the luck of one path */
    double stationary = .0025 / (1 - .81);
    ck_assert_double_eq_tol(r.expected, stationary, .05 * stationary);
    ck_assert_double_nan(r.se);
    close_to(r.measured, r.expected);
}

TEST(sampled_errors_agree_with_the_recursion)
{
    for (int drift = 0; drift <= TRACKING_SIM_WALK; drift++) {
        struct tracking_sim_cfg c = tracking_sim_cfg_default();
        c.drift = (enum tracking_sim_drift)drift;
        c.steps = 2000;
        struct tracking_sim r = run(c);
        ck_assert_double_gt(r.se, 0);
        ck_assert_double_lt(r.se, .05 * r.measured);
        ck_assert_double_gt(r.measured, r.drift); /* pairs: noise never helps by luck */
        ck_assert_double_le(fabs(r.measured - r.expected), 4 * r.se);

        /* the check can fail: another gamma's expectation is far off */
        c.gamma = 1.2;
        ck_assert_double_gt(fabs(r.measured - run(c).expected), 4 * r.se);
    }
}

TEST(bounds_hold_and_not_with_less)
{
    double tightest = 0;
    for (int drift = 0; drift <= TRACKING_SIM_WALK; drift++)
        for (double eta = 1; eta > 1e-3; eta /= 3)
            for (double gamma = 0; gamma < 5; gamma += 2) {
                struct tracking_sim_cfg c = tracking_sim_cfg_default();
                c.drift = (enum tracking_sim_drift)drift;
                c.eta = eta;
                c.gamma = gamma;
                c.pairs = 1;
                c.steps = 1500;
                struct tracking_sim r = run(c);
                ck_assert_double_le(r.expected, r.bound_path);
                ck_assert_double_le(r.expected, r.bound_energy);
                ck_assert_double_le(r.bound_path, r.eq39);
                tightest = fmax(tightest, r.expected / r.bound_path);
            }
    ck_assert_double_gt(tightest, .2); /* within a factor of 5 somewhere */
}

TEST(eta_and_gamma_do_not_change_the_luck)
{
    struct tracking_sim_cfg c = tracking_sim_cfg_default();
    c.drift = TRACKING_SIM_WALK;
    c.steps = 300;
    struct tracking_sim a = run(c), again = run(c);
    ck_assert_mem_eq(&a, &again, sizeof a);
    c.gamma = 4;
    struct tracking_sim b = run(c);
    ck_assert(a.path == b.path && a.drift == b.drift);
    close_to(b.noise, 16 * a.noise);
    c.seed = 2;
    ck_assert(run(c).path != a.path);
}

TEST(what_is_out_of_range_is_named)
{
    struct tracking_sim_cfg ok = tracking_sim_cfg_default(), bad[9];
    for (int i = 0; i < 9; i++)
        bad[i] = ok;
    bad[0].dim = 2, bad[1].pairs = 0, bad[2].steps = 0, bad[3].mu = 0;
    bad[4].l = .4, bad[5].eta = 1.01, bad[6].gamma = -1, bad[7].speed = NAN;
    bad[8].drift = (enum tracking_sim_drift)3;
    static const char *const names[] = {"dim", "pairs", "steps", "mu",   "l",
                                        "eta", "gamma", "speed", "drift"};
    for (int i = 0; i < 9; i++) {
        struct tracking_sim out;
        struct err e = {0};
        ck_assert_int_eq(tracking_sim_run(&out, &bad[i], &e), ERR_RANGE);
        ck_assert_str_eq(e.field, names[i]);
    }
    ck_assert_str_eq(tracking_sim_word(TRACKING_SIM_STEADY), "steady");
    ck_assert_ptr_null(tracking_sim_word((enum tracking_sim_drift)3));
}

static void *make(void *ctx, struct err *e)
{
    struct tracking_sim_cfg c = tracking_sim_cfg_default();
    c.steps = 1;
    return tracking_sim_run(ctx, &c, e) ? NULL : ctx;
}

static void destroy(void *out)
{
    (void)out;
}

TEST(no_memory_is_told)
{
    struct tracking_sim out;
    ck_assert_int_eq(alloc_each_fails(make, destroy, &out), 2);
}

SUITE(lab_tracking_tracking_sim, steady_drift_by_hand, jumps_by_hand, noise_by_hand,
      a_walk_is_followed_as_theory_says, sampled_errors_agree_with_the_recursion,
      bounds_hold_and_not_with_less, eta_and_gamma_do_not_change_the_luck,
      what_is_out_of_range_is_named, no_memory_is_told);
