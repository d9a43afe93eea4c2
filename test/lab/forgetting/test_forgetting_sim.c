#include "lab/forgetting/forgetting_sim.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

enum { POINTS = 8 };
static const int GRID[POINTS] = {2, 5, 15, 25, 40, 80, 150, 300};

static struct forgetting_sim_cfg short_run(int experts, bool terminate)
{
    struct forgetting_sim_cfg c = forgetting_sim_default(experts, terminate);
    c.rounds = 300;
    return c;
}

static double at(const double *out, enum forgetting_series s, int p)
{
    return out[(size_t)s * POINTS + (size_t)p];
}

START_TEST(the_slides_setting)
{
    struct forgetting_sim_cfg c = forgetting_sim_default(5, true);
    ck_assert_int_eq(c.settle, 10); /* ceil(5 / .5) */
    ck_assert_double_eq_tol(c.router.gamma, .31811, 1e-5);
    ck_assert_int_eq(forgetting_sim_default(20, true).settle, 40);
}
END_TEST

/* One expert: the same streams, F and G summed over the whole past as they are defined. */
START_TEST(one_expert_is_a_plain_loop)
{
    struct forgetting_sim_cfg c = short_run(1, true);
    double out[FORGETTING_SERIES * POINTS];
    struct forgetting_sim_end end;
    forgetting_sim_run(out, &end, &c, NULL, GRID, POINTS, 9, 4);

    struct rng pool_rng, data;
    rng_init(&pool_rng, 9, 12);
    rng_init(&data, 9, 13);
    struct task_pool p;
    task_pool_draw(&p, &c.task, &pool_rng);
    double w[TASK_DIM] = {0}, once[300];
    int past[300], k = 0;
    for (int t = 1; t <= 300; t++) {
        past[t - 1] = (int)rng_below(&data, 6);
        struct task_data x;
        task_draw(&x, &c.task, p.w[past[t - 1]], &data);
        task_learn(w, &c.task, &x, p.w[past[t - 1]]);
        once[t - 1] = task_distance2(w, p.w[past[t - 1]], 10);
        if (t != GRID[k]) continue;
        double f = 0, g = 0;
        for (int i = 0; i < t; i++) {
            double e = task_distance2(w, p.w[past[i]], 10);
            g += e / t;
            if (i < t - 1) f += (e - once[i]) / (t - 1);
        }
        ck_assert_double_eq_tol(at(out, FORGETTING_FORGOT, k), f, 1e-11);
        ck_assert_double_eq_tol(at(out, FORGETTING_ERROR, k), g, 1e-11);
        ck_assert_double_nan(at(out, FORGETTING_ACROSS, k)); /* no pair of experts */
        k++;
    }
    ck_assert_int_eq(k, POINTS);
}
END_TEST

/* The gate stops once; before that nothing differs, after it the sets stay. */
START_TEST(termination_is_a_latch)
{
    struct forgetting_sim_cfg on = short_run(10, false), off = short_run(10, true);
    double a[FORGETTING_SERIES * POINTS], b[FORGETTING_SERIES * POINTS];
    struct forgetting_sim_end ea, eb;
    for (int rep = 0; rep < 5; rep++) {
        forgetting_sim_run(a, &ea, &on, NULL, GRID, POINTS, 1, rep);
        forgetting_sim_run(b, &eb, &off, NULL, GRID, POINTS, 1, rep);
        ck_assert_int_eq(ea.stopped, 0);
        ck_assert_int_gt(eb.stopped, off.settle);
        ck_assert_int_lt(eb.stopped, 80);
        for (int p = 0; p < POINTS; p++) {
            bool running = GRID[p] < eb.stopped;
            ck_assert(at(b, FORGETTING_RUNNING, p) == running);
            if (running)
                ck_assert_double_eq(at(a, FORGETTING_ERROR, p),
                                    at(b, FORGETTING_ERROR, p));
            if (p > 0 && GRID[p - 1] >= eb.stopped)
                ck_assert_double_eq(at(b, FORGETTING_MOVED, p), 0);
        }
        ck_assert_double_gt(at(a, FORGETTING_MOVED, POINTS - 1), 0);
    }
}
END_TEST

/* The sets at the points are those that MOVED, LARGEST and SMALLEST count. */
START_TEST(sets_and_their_sizes)
{
    enum { M = 10 };
    struct forgetting_sim_cfg c = short_run(M, false);
    double out[FORGETTING_SERIES * POINTS];
    struct forgetting_sim_end end;
    int set[POINTS][M];
    forgetting_sim_run(out, &end, &c, NULL, GRID, POINTS, 3, 1);
    forgetting_sim_sets(set[0], &c, GRID, POINTS, 3, 1);
    ck_assert_mem_eq(set[POINTS - 1], end.set, sizeof set[0]);
    for (int p = 0; p < POINTS; p++) {
        int size[3] = {0}, moved = 0;
        for (int m = 0; m < M; m++) {
            size[set[p][m]]++;
            moved += p > 0 && set[p][m] != set[p - 1][m];
        }
        int low = size[0] < size[1] ? size[0] : size[1];
        int high = size[0] > size[1] ? size[0] : size[1];
        low = size[2] < low ? size[2] : low;
        high = size[2] > high ? size[2] : high;
        ck_assert_double_eq_tol(at(out, FORGETTING_LARGEST, p), high / 10.0, 1e-15);
        ck_assert_double_eq_tol(at(out, FORGETTING_SMALLEST, p), low / 10.0, 1e-15);
        if (p > 0)
            ck_assert_double_eq_tol(at(out, FORGETTING_MOVED, p), moved / 10.0, 1e-15);
    }
}
END_TEST

/* Theorem 1 behind T1: F falls as (T1 - 1)/(t - 1). */
START_TEST(the_theorem_is_drawn_as_printed)
{
    struct forgetting_sim_cfg c = short_run(20, true); /* T1 = 40 = GRID[4] */
    double out[FORGETTING_SERIES * POINTS];
    struct forgetting_sim_end end;
    forgetting_sim_run(out, &end, &c, NULL, GRID, POINTS, 2, 0);
    double first = at(out, FORGETTING_BOUND_F, 4);
    ck_assert_double_gt(first, 0);
    ck_assert_double_eq_tol(at(out, FORGETTING_BOUND_F, 5), first * 39 / 79, 1e-14);
    ck_assert_double_eq_tol(at(out, FORGETTING_BOUND_F, 7), first * 39 / 299, 1e-14);
}
END_TEST

/* Three experts, two clusters. Cluster 0: experts 0 and 1 with 30 and 10 of 50 picks, cluster 1:
 * expert 2 with all of 40. home = (.8 + 1)/2; even = (exp(H(.75, .25))/2 + 1)/2. */
START_TEST(spread_by_hand)
{
    struct forgetting_sim_end end = {.set = {0, 0, 1},
                                     .chosen = {{30, 0}, {10, 0}, {10, 40}}};
    struct forgetting_sim_spread s = forgetting_sim_spread(&end, 3, 2);
    double h = -.75 * log(.75) - .25 * log(.25);
    ck_assert_double_eq_tol(s.home, .9, 1e-15);
    ck_assert_double_eq_tol(s.even, (exp(h) / 2 + 1) / 2, 1e-15);
    ck_assert_double_eq(s.served, 1);

    end.set[2] = 0; /* nobody is left for cluster 1 */
    s = forgetting_sim_spread(&end, 3, 2);
    ck_assert_double_eq(s.served, .5);
    ck_assert_double_eq(s.home, 1);
}
END_TEST

Suite *suite_lab_forgetting_forgetting_sim(void);
Suite *suite_lab_forgetting_forgetting_sim(void)
{
    Suite *s = suite_create("lab/forgetting_sim");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_slides_setting);
    tcase_add_test(t, one_expert_is_a_plain_loop);
    tcase_add_test(t, termination_is_a_latch);
    tcase_add_test(t, sets_and_their_sizes);
    tcase_add_test(t, the_theorem_is_drawn_as_printed);
    tcase_add_test(t, spread_by_hand);
    suite_add_tcase(s, t);
    return s;
}
