#include "lab/shift.h"

#include "rl/ckpt.h"
#include "support/tmpdir.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* The options in their order, a run of ten iterations. */
static int run(struct report *r, const char *preset, const char *policies, int threads)
{
    struct lab_value value[32] = {{0}};
    for (int i = 0; shift_lab.options[i].name; i++) {
        const struct lab_option *o = &shift_lab.options[i];
        value[i] = (struct lab_value){.number = o->quick,
                                      .text = o->quick_text ? o->quick_text : o->text};
        if (!strcmp(o->name, "preset")) value[i].text = preset;
        if (!strcmp(o->name, "steps")) value[i].number = 20000;
        if (!strcmp(o->name, "variant")) value[i].text = "moe,pamoe";
        if (!strcmp(o->name, "policies")) value[i].text = policies;
    }
    struct lab_task t = {.lab = &shift_lab,
                         .value = value,
                         .report = r,
                         .quick = true,
                         .version = "1",
                         .threads = threads,
                         .seed = 1};
    struct err e = {0};
    int rc = shift_lab.run(&t, &e);
    ck_assert_msg(rc == 0 || policies, "%s: %s", e.field, e.detail);
    return rc;
}

START_TEST(from_runs_to_report)
{
    const char *dir = tmpdir_new();
    struct report *r = report_new("shift", shift_lab.title, NULL);
    ck_assert_int_eq(run(r, "code", dir, 2), 0);
    ck_assert_int_eq(report_checks(r), 1); /* the router's gradient, exactly 0 */
    ck_assert_int_eq(report_checks_failed(r), 0);
    ck_assert_int_ge(report_tables(r), 3);
    ck_assert_int_ge(report_rows(r, 0), 15);

    struct policy *p = ckpt_load(tmpdir_path(dir, "code-moe-2-news.safetensors"), NULL,
                                 NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->cfg.experts, 3);
    policy_free(p);
    report_free(r);
    tmpdir_remove(dir);
}
END_TEST

START_TEST(threads_do_not_matter)
{
    struct report *a = report_new("shift", "a", NULL),
                  *b = report_new("shift", "b", NULL);
    run(a, "paper", "", 1);
    run(b, "paper", "", 2);
    char x[64], y[64];
    for (int row = 0; row < report_rows(a, 0); row++)
        for (int k = 0; report_column(a, 0, k); k++) {
            const char *one = report_shown(x, a, 0, row, k);
            const char *two = report_shown(y, b, 0, row, k);
            ck_assert(!one == !two);
            if (one) ck_assert_str_eq(one, two);
        }
    report_free(b);
    report_free(a);
}
END_TEST

START_TEST(a_folder_that_is_not_there)
{
    struct report *r = report_new("shift", "test", NULL);
    ck_assert_int_ne(run(r, "code", "/nonexistent/place", 2), 0);
    report_free(r);
}
END_TEST

Suite *suite_lab_shift(void);
Suite *suite_lab_shift(void)
{
    Suite *s = suite_create("lab/shift");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, from_runs_to_report);
    tcase_add_test(t, threads_do_not_matter);
    tcase_add_test(t, a_folder_that_is_not_there);
    suite_add_tcase(s, t);
    return s;
}
