#include "lab/forgetting/edge_sim.h"

#include "support/alloc.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(the_slides_setting)
{
    struct edge_sim_cfg c = edge_sim_default(5, EDGE_STOP);
    ck_assert_int_eq(edge_sim_t1(&c), 30); /* 10 + ceil(5 ln 50 = 19.56) */
    c = edge_sim_default(60, EDGE_STOP);
    ck_assert_int_eq(edge_sim_t1(&c), 394); /* 10 + ceil(60 ln 600 = 383.8) */
    ck_assert_double_eq_tol(edge_sim_mth(&c), 1, 1e-12); /* log_10 10 */
    ck_assert_int_eq(edge_sim_t2(&c), 438);              /* + 10 + ceil(10 * 3.3026) */
    ck_assert_double_eq_tol(edge_sim_need(&c), 23.0259, 1e-4);
    c.delta = 1e-30;
    ck_assert_double_eq(edge_sim_mth(&c), 10); /* d_u */
}
END_TEST

START_TEST(norms_count_the_tasks_own_part)
{
    struct edge_sim_cfg c = edge_sim_default(5, EDGE_STOP);
    c.task.clusters = c.task.tasks = 2, c.task.d = 2;
    struct task_pool p = {.w = {{1, 0}, {0, 3}}};
    double own = 2 * .108 * .108; /* d (.3 * .36)^2 */
    struct exact_norms n = edge_sim_norms(&p, &c.task);
    ck_assert_double_eq_tol(n.a, 5 + own, 1e-14);
    ck_assert_double_eq_tol(n.b, 5 + 2 * own, 1e-14);
}
END_TEST

/* One server works tasks off one by one, so every rule does the same, and since no task takes less
 * than two slots all but the first wait. */
START_TEST(one_expert_serves_a_line)
{
    struct edge_sim_end end, first;
    for (int rule = EDGE_STOP; rule <= EDGE_POWERFUL; rule++) {
        struct edge_sim_cfg c = edge_sim_default(1, (enum edge_rule)rule);
        c.slots = 80;
        ck_assert_int_eq(edge_sim_run(NULL, &end, &c, NULL, NULL, 0, 5, 1), 0);
        if (rule == EDGE_STOP) first = end;
        ck_assert_double_eq(end.error, first.error);
        ck_assert_int_eq(end.waited, 79);
    }
    /* task i begins when the i - 1 before it are done: mean wait about (mean delay - 1) T/2 */
    ck_assert_double_eq_tol(first.wait / ((first.delay - 1) * 79 / 2), 1, .1);
}
END_TEST

START_TEST(rules_choose_by_what_they_say)
{
    double delay[4];
    for (int rule = EDGE_STOP; rule <= EDGE_POWERFUL; rule++) {
        struct edge_sim_cfg c = edge_sim_default(30, (enum edge_rule)rule);
        c.slots = 400;
        struct edge_sim_end end;
        ck_assert_int_eq(edge_sim_run(NULL, &end, &c, NULL, NULL, 0, 6, 1), 0);
        ck_assert_int_eq(end.waited, 0);
        delay[rule] = end.delay;
    }
    /* powers 1 to 3 and 0 to 4 slots of the way: the gate looks at neither */
    ck_assert_double_lt(delay[EDGE_POWERFUL], delay[EDGE_STOP] - .8);
    ck_assert_double_lt(delay[EDGE_NEAREST], delay[EDGE_STOP] - .5);
}
END_TEST

/* Up to T1 both gates are one, after it the one that stops keeps its sets. */
START_TEST(the_gate_stops_at_t1)
{
    struct edge_sim_cfg stop = edge_sim_default(10, EDGE_STOP), on = stop;
    on.rule = EDGE_ON;
    stop.slots = on.slots = 300;
    int grid[] = {20, 57, 300}; /* T1 = 57 */
    double a[EDGE_SERIES * 3], b[EDGE_SERIES * 3];
    struct edge_sim_end ea, eb, early;
    ck_assert_int_eq(edge_sim_run(a, &ea, &stop, NULL, grid, 3, 7, 2), 0);
    ck_assert_int_eq(edge_sim_run(b, &eb, &on, NULL, grid, 3, 7, 2), 0);
    ck_assert_double_eq(a[0], b[0]);
    ck_assert_double_eq(a[1], b[1]);
    ck_assert_double_ne(a[2], b[2]);

    stop.slots = 57;
    ck_assert_int_eq(edge_sim_run(NULL, &early, &stop, NULL, NULL, 0, 7, 2), 0);
    ck_assert_mem_eq(early.set, ea.set, sizeof ea.set);
    ck_assert(memcmp(ea.set, eb.set, sizeof ea.set) != 0);
}
END_TEST

/* Without signal, routing blind to the tasks: G - its expectation given the L^(m), over
 * repetitions with one pool. The printed form fails the same test. */
START_TEST(proposition_nine_needs_its_factor)
{
    enum { REPS = 300 };
    for (int rule = EDGE_NEAREST; rule <= EDGE_POWERFUL; rule++) {
        struct edge_sim_cfg c = edge_sim_default(10, (enum edge_rule)rule);
        c.task.signal = false;
        c.slots = 100;
        struct task_pool pool;
        edge_sim_pool(&pool, &c, 1, 0);
        double sum[2] = {0}, squares[2] = {0};
        for (int i = 0; i < REPS; i++) {
            struct edge_sim_end e;
            ck_assert_int_eq(edge_sim_run(NULL, &e, &c, &pool, NULL, 0, 8, i), 0);
            double off[2] = {e.error - e.exact, e.error - e.printed};
            for (int k = 0; k < 2; k++) {
                sum[k] += off[k] / REPS;
                squares[k] += off[k] * off[k] / REPS;
            }
        }
        double z[2];
        for (int k = 0; k < 2; k++)
            z[k] = fabs(sum[k]) / sqrt((squares[k] - sum[k] * sum[k]) / (REPS - 1));
        ck_assert_double_le(z[0], 4);
        ck_assert_double_gt(z[1], 8);
    }
}
END_TEST

static void *run_once(void *ctx, struct err *e)
{
    struct edge_sim_cfg c = edge_sim_default(5, EDGE_STOP);
    c.slots = 10;
    int rc = edge_sim_run(NULL, ctx, &c, NULL, NULL, 0, 1, 0);
    if (rc) err_set(e, rc, "edge_sim_run");
    return rc ? NULL : ctx;
}

static void nothing(void *made)
{
    (void)made;
}

START_TEST(without_memory_it_says_so)
{
    struct edge_sim_end end;
    ck_assert_int_eq(alloc_each_fails(run_once, nothing, &end), 1);
}
END_TEST

Suite *suite_lab_forgetting_edge_sim(void);
Suite *suite_lab_forgetting_edge_sim(void)
{
    Suite *s = suite_create("lab/edge_sim");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_slides_setting);
    tcase_add_test(t, norms_count_the_tasks_own_part);
    tcase_add_test(t, one_expert_serves_a_line);
    tcase_add_test(t, rules_choose_by_what_they_say);
    tcase_add_test(t, the_gate_stops_at_t1);
    tcase_add_test(t, proposition_nine_needs_its_factor);
    tcase_add_test(t, without_memory_it_says_so);
    suite_add_tcase(s, t);
    return s;
}
