#include "lab/forgetting/forgetting.h"

#include "support/glyphs.h"
#include "support/labs.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECKS = 17 };

static void small(struct labs_run *r)
{
    labs_start(r, &forgetting_lab);
    labs_set(r, "reps", 30);
    labs_set(r, "rounds", 400);
    labs_set(r, "exact-reps", 400);
    labs_set(r, "image-reps", 3);
    labs_set(r, "image-rounds", 60);
    r->task.quick = false;
}

/* As small as it goes: for what is not about the figures. */
static void tiny(struct labs_run *r)
{
    small(r);
    labs_set(r, "reps", 2);
    labs_set(r, "rounds", 60);
    labs_set(r, "exact-reps", 2);
}

START_TEST(quick_runs_repeat_enough_for_their_checks)
{
    ck_assert_double_ge(labs_option(&forgetting_lab, "image-reps")->value, 10);
    ck_assert_double_ge(labs_option(&forgetting_lab, "reps")->quick, 50);
    ck_assert_double_ge(labs_option(&forgetting_lab, "exact-reps")->quick, 2000);
}
END_TEST

/* A small run holds, and its figures do not depend on the number of threads. */
START_TEST(a_small_run_holds)
{
    struct labs_run run[2];
    small(&run[0]);
    small(&run[1]);
    labs_go_twice(run);
    labs_pass(run[0].task.report, CHECKS);
    /* one expert has no second row */
    ck_assert_int_eq(report_rows(run[0].task.report, 0), 7);
    labs_end(&run[0]);
}
END_TEST

/* Too few rounds to learn anything: the mixtures do not beat one expert and the checks say so. */
START_TEST(checks_can_fail)
{
    struct labs_run r;
    small(&r);
    labs_set(&r, "rounds", 45);
    labs_go(&r, 0);
    ck_assert_int_gt(report_checks_failed(r.task.report), 0);
    labs_end(&r);
}
END_TEST

/* With images there are a table and checks more; fewer with --quick, and the same
 * for any number of threads. */
START_TEST(with_images)
{
    char *dir = strdup(tmpdir_new());
    glyphs_write(dir, 20, 8, -1);
    for (int quick = 0; quick < 2; quick++) {
        struct labs_run run[2];
        for (int i = 0; i < 2; i++) {
            tiny(&run[i]);
            run[i].dir = dir;
            run[i].task.quick = quick;
        }
        labs_go_twice(run);
        const struct report *r = run[0].task.report;
        labs_names(r, CHECKS + (quick ? 4 : 8), CHECKS, "MNIST");
        ck_assert_int_eq(report_rows(r, 2), quick ? 3 : 10);
        labs_end(&run[0]);
    }
    tmpdir_remove(dir);
    free(dir);
}
END_TEST

/* A file that is there and broken is an error, not left out. */
START_TEST(broken_images)
{
    char *dir = strdup(tmpdir_new());
    glyphs_write(dir, 20, 8, -1);
    ck_assert_int_eq(truncate(tmpdir_path(dir, "t10k-labels-idx1-ubyte"), 50), 0);
    struct labs_run r;
    tiny(&r);
    r.dir = dir;
    labs_go(&r, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(r.e.field, "t10k-labels"));
    labs_end(&r);
    tmpdir_remove(dir);
    free(dir);
}
END_TEST

START_TEST(progress_stops_it)
{
    struct labs_run r;
    small(&r);
    r.stop_at = 4;
    labs_go(&r, LAB_STOPPED);
    ck_assert_int_eq(r.asked, 4);
    labs_end(&r);
}
END_TEST

Suite *suite_lab_forgetting_forgetting(void);
Suite *suite_lab_forgetting_forgetting(void)
{
    Suite *s = suite_create("lab/forgetting");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, quick_runs_repeat_enough_for_their_checks);
    tcase_add_test(t, a_small_run_holds);
    tcase_add_test(t, checks_can_fail);
    tcase_add_test(t, with_images);
    tcase_add_test(t, broken_images);
    tcase_add_test(t, progress_stops_it);
    suite_add_tcase(s, t);
    return s;
}
