#include "lab/scale.h"

#include "support/labs.h"
#include "support/suites.h"

static const struct scale_units U = {.rate = 1000,
                                     .chunk_s = 4,
                                     .explore = .1,
                                     .decide_us = 50,
                                     .learn_us = 100,
                                     .step_bytes = 80,
                                     .weights_bytes = 2e5,
                                     .state_bytes = 4e5,
                                     .gradient_bytes = 2e5,
                                     .batch = 1000,
                                     .minibatches = 10,
                                     .load = .5,
                                     .net_mb = 100};

TEST(ten_nodes_by_hand)
{
    struct scale_point p = scale_at(&U, 10);
    ck_assert_double_eq_tol(p.viewers, 40000, 1e-9);
    ck_assert_double_eq_tol(p.steps, 1000, 1e-9);
    ck_assert_double_eq_tol(p.updates, 1, 1e-12);
    ck_assert_double_eq_tol(p.decide_cpus, .5, 1e-12);
    ck_assert_double_eq_tol(p.learn_cpus, .1, 1e-12);
    ck_assert_double_eq_tol(p.stream_mb, .08, 1e-12);
    ck_assert_double_eq_tol(p.weights_mb, 2.2, 1e-12); /* to ten nodes and a learner */
    ck_assert_double_eq_tol(p.state_mb, .4, 1e-12);
    ck_assert_double_eq_tol(p.explore, .1, 1e-12);
    ck_assert_double_eq(p.learners, 1);
    ck_assert_double_eq(p.gradient_mb, 0);
    ck_assert_double_eq_tol(scale_learner_full(&U), 50, 1e-9);
}

TEST(beyond_one_learner)
{
    struct scale_point p = scale_at(&U, 200);
    ck_assert_double_eq_tol(p.learn_cpus, 2, 1e-12);
    ck_assert_double_eq_tol(p.explore, .025,
                            1e-12); /* of which the learner has .5 CPUs */
    ck_assert_double_eq(p.learners, 4);
    /* ring of four: 2 * 3/4 * .2 MB * 10 minibatches * 20 updates */
    ck_assert_double_eq_tol(p.gradient_mb, 60, 1e-9);
    ck_assert_double_eq_tol(p.sampled_weights_mb, 5 * .2 * 201, 1e-9);
    /* at its limit the network carries just that */
    struct scale_point full = scale_at(&U, scale_network_full(&U));
    ck_assert_double_eq_tol(full.weights_mb + full.state_mb + full.stream_mb, 100, 1e-6);
}

TEST(the_report_holds_both_tables)
{
    struct labs_run r;
    labs_start(&r, &scale_lab);
    labs_go(&r, 0);
    ck_assert_int_eq(report_tables(r.task.report), 2);
    ck_assert_int_eq(report_rows(r.task.report, 0), 8);
    labs_pass(r.task.report, 2);
    labs_end(&r);
}

TEST(too_much_for_three_nodes_is_said)
{
    struct labs_run r;
    labs_start(&r, &scale_lab);
    labs_set(&r, "learn-us", 290); /* 24 nodes a tenth of that */
    labs_go(&r, 0);
    ck_assert_int_eq(report_checks_failed(r.task.report), 1);
    labs_end(&r);
}

SUITE(lab_scale, ten_nodes_by_hand, beyond_one_learner, the_report_holds_both_tables,
      too_much_for_three_nodes_is_said);
