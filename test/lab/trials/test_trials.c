#include "lab/trials/trials.h"

#include "support/labs.h"
#include "support/suites.h"

/* Few trials: the figures' limits are for more, so only their form is checked. */
static void small(struct labs_run *r, int threads)
{
    labs_start(r, &trials_lab);
    labs_set(r, "trials", 20);
    labs_set(r, "sessions", 200);
    labs_set(r, "pool", 200);
    labs_set(r, "viewers", 60);
    labs_set(r, "replayed", 120);
    r->task.threads = threads;
    r->task.seed = 3;
}

TEST(it_measures_all_kinds_of_trials)
{
    struct labs_run r;
    small(&r, 2);
    labs_go(&r, 0);
    ck_assert_int_eq(report_tables(r.task.report), 4);
    ck_assert_int_eq(report_rows(r.task.report, 0), 2);
    ck_assert_int_eq(report_rows(r.task.report, 1), 3);
    ck_assert_int_eq(report_rows(r.task.report, 2), 2);
    ck_assert_int_eq(report_rows(r.task.report, 3), 20); /* two links, two controls */
    ck_assert_int_eq(report_checks(r.task.report), 15);
    labs_end(&r);
}

TEST(threads_do_not_matter)
{
    struct labs_run run[2];
    small(&run[0], 1);
    small(&run[1], 2);
    labs_go_twice(run);
    labs_end(&run[0]);
}

SUITE_WITHIN(lab_trials_trials, 60, it_measures_all_kinds_of_trials,
             threads_do_not_matter);
