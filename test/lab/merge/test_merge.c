#include "lab/merge/merge.h"

#include "support/labs.h"
#include "support/suites.h"

#include <stdio.h>
#include <string.h>

static int find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    (void)ctx;
    (void)e;
    snprintf(out, LAB_PATH, "%s", rel);
    return 0;
}

/* The smallest run. */
static void small(struct labs_run *r)
{
    labs_start(r, &merge_lab);
    labs_set(r, "seeds", 3);
    labs_set(r, "sweep", 1);
    labs_set(r, "slots", 50);
    labs_set(r, "viewers", 10);
    labs_set(r, "full", 0);
    labs_set(r, "grid", 3);
    labs_set(r, "links", 2);
    labs_set(r, "starts", 1);
    labs_set(r, "prior-links", 1);
    labs_set(r, "prior-grid", 2);
    r->task.find = find;
}

TEST(runs_and_does_not_depend_on_threads)
{
    struct labs_run run[2];
    small(&run[0]);
    small(&run[1]);
    labs_go_twice(run);
    ck_assert_int_gt(run[0].asked, 20);
    ck_assert_int_gt(run[1].asked, 20);
    ck_assert_int_eq(report_tables(run[0].task.report), 9);
    ck_assert_int_gt(report_checks(run[0].task.report), 10);
    labs_end(&run[0]);
}

TEST(stops_when_asked)
{
    struct labs_run r;
    small(&r);
    labs_stops(&r, 6);
}

TEST(wants_experts_for_the_profiles)
{
    struct labs_run r;
    small(&r);
    labs_set_text(&r, "policy", "deploy/policy/papers.safetensors");
    labs_go(&r, ERR_INVALID);
    ck_assert_str_eq(r.e.field, "--policy");
    ck_assert_ptr_nonnull(strstr(r.e.detail, "has experts for nobody"));
    labs_end(&r);
}

SUITE(lab_merge_merge, runs_and_does_not_depend_on_threads, stops_when_asked,
      wants_experts_for_the_profiles);
