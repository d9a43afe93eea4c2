#include "lab/forgetting.h"

#include "support/glyphs.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* in the order of the options */
enum { REPS, ROUNDS, EXACT_REPS, IMAGE_REPS, IMAGE_ROUNDS, VALUES };

static struct lab_task small(struct lab_value *value, struct err *e)
{
    value[REPS].number = 30;
    value[ROUNDS].number = 400;
    value[EXACT_REPS].number = 400;
    value[IMAGE_REPS].number = 3;
    value[IMAGE_ROUNDS].number = 60;
    struct report *r = report_new("forgetting", "a title", e);
    ck_assert_ptr_nonnull(r);
    return (struct lab_task){.lab = &forgetting_lab,
                             .value = value,
                             .report = r,
                             .version = "test",
                             .threads = 1,
                             .seed = 1};
}

START_TEST(options_and_their_order)
{
    const struct lab_option *o = forgetting_lab.options;
    ck_assert_str_eq(o[REPS].name, "reps");
    ck_assert_str_eq(o[ROUNDS].name, "rounds");
    ck_assert_str_eq(o[EXACT_REPS].name, "exact-reps");
    ck_assert_str_eq(o[IMAGE_REPS].name, "image-reps");
    ck_assert_str_eq(o[IMAGE_ROUNDS].name, "image-rounds");
    ck_assert_ptr_null(o[VALUES].name);
    ck_assert_double_ge(o[IMAGE_REPS].value, 10);
    ck_assert_double_ge(o[REPS].quick, 50);
    ck_assert_double_ge(o[EXACT_REPS].quick, 2000);
}
END_TEST

/* A small run holds, and its figures do not depend on the number of threads. */
START_TEST(a_small_run_holds)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task one = small(value, &e), two = small(value, &e);
    two.threads = 2;
    ck_assert_int_eq(forgetting_lab.run(&one, &e), 0);
    ck_assert_int_eq(forgetting_lab.run(&two, &e), 0);

    int n = report_checks(one.report);
    ck_assert_int_eq(n, 17);
    for (int i = 0; i < n; i++) {
        struct report_check a = report_check_at(one.report, i);
        struct report_check b = report_check_at(two.report, i);
        ck_assert_msg(a.pass, "%s: %g", a.name, a.value);
        ck_assert_double_eq(a.value, b.value);
    }
    ck_assert_int_eq(report_rows(one.report, 0), 7); /* one expert has no second row */
    report_free(one.report);
    report_free(two.report);
}
END_TEST

/* Too few rounds to learn anything: the mixtures do not beat one expert and the checks say so. */
START_TEST(checks_can_fail)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    value[ROUNDS].number = 45;
    ck_assert_int_eq(forgetting_lab.run(&t, &e), 0);
    ck_assert_int_gt(report_checks_failed(t.report), 0);
    report_free(t.report);
}
END_TEST

/* With images there are a table and checks more; fewer with --quick, and the same
 * for any number of threads. */
START_TEST(with_images)
{
    struct err e = {0};
    char *dir = strdup(tmpdir_new());
    glyphs_write(dir, 20, 8, -1);
    struct lab_value value[VALUES] = {0};
    for (int quick = 0; quick < 2; quick++) {
        struct lab_task one = small(value, &e), two = small(value, &e);
        one.find = two.find = glyphs_find;
        one.ctx = two.ctx = dir;
        one.quick = two.quick = quick;
        two.threads = 2;
        value[REPS].number = 2;
        value[ROUNDS].number = 60;
        value[EXACT_REPS].number = 2;
        ck_assert_int_eq(forgetting_lab.run(&one, &e), 0);
        ck_assert_int_eq(forgetting_lab.run(&two, &e), 0);
        ck_assert_int_eq(report_checks(one.report), quick ? 17 + 4 : 17 + 8);
        for (int i = 17; i < report_checks(one.report); i++) {
            struct report_check a = report_check_at(one.report, i);
            ck_assert_ptr_eq(strstr(a.name, "MNIST"), a.name);
            ck_assert_double_eq(a.value, report_check_at(two.report, i).value);
        }
        ck_assert_int_eq(report_rows(one.report, 2), quick ? 3 : 10);
        report_free(one.report);
        report_free(two.report);
    }
    tmpdir_remove(dir);
    free(dir);
}
END_TEST

/* A file that is there and broken is an error, not left out. */
START_TEST(broken_images)
{
    struct err e = {0};
    char *dir = strdup(tmpdir_new());
    glyphs_write(dir, 20, 8, -1);
    ck_assert_int_eq(truncate(tmpdir_path(dir, "t10k-labels-idx1-ubyte"), 50), 0);
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    value[REPS].number = 2;
    value[ROUNDS].number = 60;
    value[EXACT_REPS].number = 2;
    t.find = glyphs_find;
    t.ctx = dir;
    ck_assert_int_eq(forgetting_lab.run(&t, &e), ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(e.field, "t10k-labels"));
    report_free(t.report);
    tmpdir_remove(dir);
    free(dir);
}
END_TEST

static bool stop(void *ctx, double share, const char *note)
{
    int *calls = ctx;
    ck_assert(share >= 0 && share <= 1 && note[0]);
    return ++*calls == 4;
}

START_TEST(progress_stops_it)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    int calls = 0;
    t.progress = stop;
    t.ctx = &calls;
    ck_assert_int_eq(forgetting_lab.run(&t, &e), LAB_STOPPED);
    ck_assert_int_eq(calls, 4);
    report_free(t.report);
}
END_TEST

Suite *suite_lab_forgetting(void);
Suite *suite_lab_forgetting(void)
{
    Suite *s = suite_create("lab/forgetting");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, options_and_their_order);
    tcase_add_test(t, a_small_run_holds);
    tcase_add_test(t, checks_can_fail);
    tcase_add_test(t, with_images);
    tcase_add_test(t, broken_images);
    tcase_add_test(t, progress_stops_it);
    suite_add_tcase(s, t);
    return s;
}
