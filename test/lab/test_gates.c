#include "lab/gates.h"

#include <check.h>
#include <math.h>

/* in the order of the options */
enum { REPS, STARTS, VALUES };

static struct lab_task small(struct lab_value *value, struct err *e)
{
    value[REPS].number = 2;
    value[STARTS].number = 1;
    struct report *r = report_new("gates", "a title", e);
    ck_assert_ptr_nonnull(r);
    return (struct lab_task){.lab = &gates_lab,
                             .value = value,
                             .report = r,
                             .version = "test",
                             .quick = true,
                             .threads = 1,
                             .seed = 1};
}

START_TEST(options_and_their_order)
{
    const struct lab_option *o = gates_lab.options;
    ck_assert_str_eq(o[REPS].name, "reps");
    ck_assert_str_eq(o[STARTS].name, "starts");
    ck_assert_ptr_null(o[VALUES].name);
    ck_assert_double_ge(o[REPS].value, 20);
}
END_TEST

/* A small run's checks; the figures do not depend on the number of threads. */
START_TEST(a_small_run_holds)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task one = small(value, &e), two = small(value, &e);
    two.threads = 2;
    ck_assert_int_eq(gates_lab.run(&one, &e), 0);
    ck_assert_int_eq(gates_lab.run(&two, &e), 0);

    int n = report_checks(one.report);
    ck_assert_int_eq(n, 14); /* 2 splits, 3 experts x 4 gates */
    for (int i = 0; i < n; i++) {
        struct report_check a = report_check_at(one.report, i);
        struct report_check b = report_check_at(two.report, i);
        ck_assert_msg(a.pass, "%s: %g", a.name, a.value);
        ck_assert_double_eq(a.value, b.value);
    }
    ck_assert_int_eq(report_rows(one.report, 0), 5);  /* claims */
    ck_assert_int_eq(report_rows(one.report, 1), 12); /* 3 experts x 4 gates */
    ck_assert_int_eq(report_rows(one.report, 2), 6);  /* splits */
    report_free(one.report);
    report_free(two.report);
}
END_TEST

static bool stop(void *ctx, double share, const char *note)
{
    int *calls = ctx;
    ck_assert(share >= 0 && share <= 1 && note[0]);
    return ++*calls == 3;
}

START_TEST(progress_stops_it)
{
    struct err e = {0};
    struct lab_value value[VALUES] = {0};
    struct lab_task t = small(value, &e);
    int calls = 0;
    t.progress = stop;
    t.ctx = &calls;
    ck_assert_int_eq(gates_lab.run(&t, &e), LAB_STOPPED);
    ck_assert_int_eq(calls, 3);
    report_free(t.report);
}
END_TEST

Suite *suite_lab_gates(void);
Suite *suite_lab_gates(void)
{
    Suite *s = suite_create("lab/gates");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, options_and_their_order);
    tcase_add_test(t, a_small_run_holds);
    tcase_add_test(t, progress_stops_it);
    suite_add_tcase(s, t);
    return s;
}
