#include "lab/tracking/tracking.h"

#include "support/labs.h"
#include "support/suites.h"

/* the smallest run that is allowed */
static void small(struct labs_run *r, int threads, uint64_t seed)
{
    labs_start(r, &tracking_lab);
    labs_set(r, "steps", 1600);
    labs_set(r, "pairs", 8);
    r->task.threads = threads;
    r->task.seed = seed;
}

TEST(every_check_passes_with_any_seed)
{
    struct labs_run r;
    small(&r, 2, 5 + (uint64_t)_i);
    labs_go(&r, 0);
    ck_assert_int_gt(r.asked, 10);
    ck_assert_int_eq(report_tables(r.task.report), 2);
    ck_assert_int_eq(report_rows(r.task.report, 0), 4);
    ck_assert_int_eq(report_rows(r.task.report, 1), 3);
    labs_pass(r.task.report, 19);
    labs_end(&r);
}

TEST(threads_do_not_matter)
{
    struct labs_run run[2];
    small(&run[0], 1, 1);
    small(&run[1], 2, 1);
    labs_go_twice(run);
    labs_end(&run[0]);
}

TEST(it_stops_when_asked)
{
    struct labs_run r;
    small(&r, 1, 1);
    labs_stops(&r, 2);
}

SUITE(lab_tracking_tracking, TIMES(every_check_passes_with_any_seed, 2),
      threads_do_not_matter, it_stops_when_asked);
