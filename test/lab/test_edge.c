#include "lab/edge.h"

#include "support/glyphs.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* in the order of the options */
enum { REPS, SLOTS, EXACT_REPS, EXACT_SLOTS, IMAGE_REPS, IMAGE_SLOTS, VALUES };

static struct lab_task small(struct lab_value *value, struct err *e)
{
    value[REPS].number = 4;
    value[SLOTS].number = 500;
    value[EXACT_REPS].number = 60;
    value[EXACT_SLOTS].number = 300;
    value[IMAGE_REPS].number = 2;
    value[IMAGE_SLOTS].number = 60;
    struct report *r = report_new("edge", "a title", e);
    ck_assert_ptr_nonnull(r);
    return (struct lab_task){.lab = &edge_lab,
                             .value = value,
                             .report = r,
                             .version = "test",
                             .threads = 1,
                             .seed = 1};
}

START_TEST(options_and_their_order)
{
    const struct lab_option *o = edge_lab.options;
    ck_assert_str_eq(o[REPS].name, "reps");
    ck_assert_str_eq(o[SLOTS].name, "slots");
    ck_assert_str_eq(o[EXACT_REPS].name, "exact-reps");
    ck_assert_str_eq(o[EXACT_SLOTS].name, "exact-slots");
    ck_assert_str_eq(o[IMAGE_REPS].name, "image-reps");
    ck_assert_str_eq(o[IMAGE_SLOTS].name, "image-slots");
    ck_assert_ptr_null(o[VALUES].name);
    ck_assert_double_ge(o[IMAGE_REPS].value, 10);
    ck_assert_double_eq(o[SLOTS].value, 3000);
    ck_assert_double_eq(o[EXACT_SLOTS].value, 3000);
}
END_TEST

/* A small run's checks, but that on the printed form, which 60 repetitions do not always tell
 * from the corrected one; the figures do not depend on the number of threads. */
START_TEST(a_small_run_holds)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task one = small(value, &e), two = small(value, &e);
    two.threads = 2;
    ck_assert_int_eq(edge_lab.run(&one, &e), 0);
    ck_assert_int_eq(edge_lab.run(&two, &e), 0);

    int n = report_checks(one.report);
    ck_assert_int_eq(n, 12); /* 2 rules x 2 forms, 2 sizes x 3 rules, 2 more */
    for (int i = 0; i < n; i++) {
        struct report_check a = report_check_at(one.report, i);
        struct report_check b = report_check_at(two.report, i);
        ck_assert_msg(a.pass || a.low == 4, "%s: %g", a.name, a.value);
        ck_assert_double_eq(a.value, b.value);
    }
    ck_assert_int_eq(report_rows(one.report, 0),
                     4); /* 2 rules, with and without signal */
    ck_assert_int_eq(report_rows(one.report, 1), 16); /* 4 sizes x 4 rules */
    report_free(one.report);
    report_free(two.report);
}
END_TEST

/* With images there are a table and checks more, of one size with --quick; the same for any number of
 * threads. */
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
        value[SLOTS].number = 60;
        value[EXACT_REPS].number = 2;
        ck_assert_int_eq(edge_lab.run(&one, &e), 0);
        ck_assert_int_eq(edge_lab.run(&two, &e), 0);
        ck_assert_int_eq(report_checks(one.report), quick ? 12 + 3 : 12 + 6);
        for (int i = 12; i < report_checks(one.report); i++) {
            struct report_check a = report_check_at(one.report, i);
            ck_assert_ptr_eq(strstr(a.name, "MNIST"), a.name);
            ck_assert_double_eq(a.value, report_check_at(two.report, i).value);
        }
        ck_assert_int_eq(report_rows(one.report, 3), quick ? 4 : 12);
        report_free(one.report);
        report_free(two.report);
    }
    tmpdir_remove(dir);
    free(dir);
}
END_TEST

static bool stop(void *ctx, double share, const char *note)
{
    int *calls = ctx;
    ck_assert(share >= 0 && share <= 1 && note[0]);
    return ++*calls == 6;
}

START_TEST(progress_stops_it)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    int calls = 0;
    t.progress = stop;
    t.ctx = &calls;
    ck_assert_int_eq(edge_lab.run(&t, &e), LAB_STOPPED);
    ck_assert_int_eq(calls, 6);
    report_free(t.report);
}
END_TEST

Suite *suite_lab_edge(void);
Suite *suite_lab_edge(void)
{
    Suite *s = suite_create("lab/edge");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, options_and_their_order);
    tcase_add_test(t, a_small_run_holds);
    tcase_add_test(t, with_images);
    tcase_add_test(t, progress_stops_it);
    suite_add_tcase(s, t);
    return s;
}
