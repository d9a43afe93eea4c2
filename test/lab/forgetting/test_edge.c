#include "lab/forgetting/edge.h"

#include "support/glyphs.h"
#include "support/labs.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKS = 12 }; /* 2 rules x 2 forms, 2 sizes x 3 rules, 2 more */

static void small(struct labs_run *r)
{
    labs_start(r, &edge_lab);
    labs_set(r, "reps", 4);
    labs_set(r, "slots", 500);
    labs_set(r, "exact-reps", 60);
    labs_set(r, "exact-slots", 300);
    labs_set(r, "image-reps", 2);
    labs_set(r, "image-slots", 60);
    r->task.quick = false;
}

START_TEST(a_full_run_is_as_long_as_the_papers)
{
    ck_assert_double_eq(labs_option(&edge_lab, "slots")->value, 3000);
    ck_assert_double_eq(labs_option(&edge_lab, "exact-slots")->value, 3000);
    ck_assert_double_ge(labs_option(&edge_lab, "image-reps")->value, 10);
}
END_TEST

/* A small run's checks, but that on the printed form, which 60 repetitions do not always tell
 * from the corrected one; the figures do not depend on the number of threads. */
START_TEST(a_small_run_holds)
{
    struct labs_run run[2];
    small(&run[0]);
    small(&run[1]);
    labs_go_twice(run);

    const struct report *r = run[0].task.report;
    ck_assert_int_eq(report_checks(r), CHECKS);
    for (int i = 0; i < CHECKS; i++) {
        struct report_check c = report_check_at(r, i);
        ck_assert_msg(c.pass || c.low == 4, "%s: %g", c.name, c.value);
    }
    ck_assert_int_eq(report_rows(r, 0), 4);  /* 2 rules, with and without signal */
    ck_assert_int_eq(report_rows(r, 1), 16); /* 4 sizes x 4 rules */
    labs_end(&run[0]);
}
END_TEST

/* With images there are a table and checks more, of one size with --quick; the same for any number of
 * threads. */
START_TEST(with_images)
{
    char *dir = strdup(tmpdir_new());
    glyphs_write(dir, 20, 8, -1);
    for (int quick = 0; quick < 2; quick++) {
        struct labs_run run[2];
        for (int i = 0; i < 2; i++) {
            small(&run[i]);
            run[i].dir = dir;
            run[i].task.quick = quick;
            labs_set(&run[i], "reps", 2);
            labs_set(&run[i], "slots", 60);
            labs_set(&run[i], "exact-reps", 2);
        }
        labs_go_twice(run);
        const struct report *r = run[0].task.report;
        labs_names(r, CHECKS + (quick ? 3 : 6), CHECKS, "MNIST");
        ck_assert_int_eq(report_rows(r, 3), quick ? 4 : 12);
        labs_end(&run[0]);
    }
    tmpdir_remove(dir);
    free(dir);
}
END_TEST

START_TEST(progress_stops_it)
{
    struct labs_run r;
    small(&r);
    r.stop_at = 6;
    labs_go(&r, LAB_STOPPED);
    ck_assert_int_eq(r.asked, 6);
    labs_end(&r);
}
END_TEST

Suite *suite_lab_forgetting_edge(void);
Suite *suite_lab_forgetting_edge(void)
{
    Suite *s = suite_create("lab/edge");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, a_full_run_is_as_long_as_the_papers);
    tcase_add_test(t, a_small_run_holds);
    tcase_add_test(t, with_images);
    tcase_add_test(t, progress_stops_it);
    suite_add_tcase(s, t);
    return s;
}
