#include "cli/assets.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "support/tmpdir.h"

static void put(const char *dir, const char *rel, const char *text)
{
    struct err e = {0};
    const char *path = tmpdir_path(dir, rel);
    ck_assert_msg(text_write_file(path, text, strlen(text), &e) == 0, "%s", e.detail);
}

START_TEST(all_four_texts_or_the_way_to_get_them)
{
    const char *dir = tmpdir_new();
    setenv("ABRD_HOME", dir, 1);
    mkdir(tmpdir_path(dir, "web"), 0755);
    mkdir(tmpdir_path(dir, "web/vendor"), 0755);
    mkdir(tmpdir_path(dir, "web/report"), 0755);
    put(dir, "web/vendor/uPlot.iife.min.js", "one");
    put(dir, "web/report/report.js", "three");
    put(dir, "web/report/report.css", "four");

    struct report_assets a;
    struct err e = {0};
    ck_assert_int_eq(assets_load(&a, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "make web"));
    ck_assert_ptr_nonnull(strstr(e.detail, "--report"));
    assets_free(&a);

    put(dir, "web/vendor/uPlot.min.css", "two");
    ck_assert_int_eq(assets_load(&a, &e), 0);
    ck_assert_str_eq(a.uplot_js, "one");
    ck_assert_str_eq(a.uplot_css, "two");
    ck_assert_str_eq(a.page_js, "three");
    ck_assert_str_eq(a.page_css, "four");
    assets_free(&a);
    ck_assert_ptr_null(a.uplot_js);

    remove(tmpdir_path(dir, "web/report/report.css"));
    e = (struct err){0};
    ck_assert_int_eq(assets_load(&a, &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "web/report/report.css");
    assets_free(&a);
    tmpdir_remove(dir);
}
END_TEST

Suite *suite_cli_assets(void);
Suite *suite_cli_assets(void)
{
    Suite *s = suite_create("cli/assets");
    TCase *t = tcase_create("cli/assets");
    tcase_add_test(t, all_four_texts_or_the_way_to_get_them);
    suite_add_tcase(s, t);
    return s;
}
