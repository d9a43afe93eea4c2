/* What abrd eval --report writes is in test_cmd_eval.c. */
#include "cli/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/suites.h"
#include "support/tmpdir.h"

TEST(all_four_assets_or_the_way_to_get_them)
{
    const char *dir = tmpdir_new();
    setenv("ABRD_HOME", dir, 1);
    mkdir(tmpdir_path(dir, "web"), 0755);
    mkdir(tmpdir_path(dir, "web/vendor"), 0755);
    mkdir(tmpdir_path(dir, "web/report"), 0755);
    tmpdir_put(dir, "web/vendor/uPlot.iife.min.js", "one");
    tmpdir_put(dir, "web/report/report.js", "three");
    tmpdir_put(dir, "web/report/report.css", "four");

    struct report_assets a;
    struct err e = {0};
    ck_assert_int_eq(page_assets(&a, &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "make web"));
    ck_assert_ptr_nonnull(strstr(e.detail, "--report"));
    page_assets_free(&a);

    tmpdir_put(dir, "web/vendor/uPlot.min.css", "two");
    ck_assert_int_eq(page_assets(&a, &e), 0);
    ck_assert_str_eq(a.uplot_js, "one");
    ck_assert_str_eq(a.uplot_css, "two");
    ck_assert_str_eq(a.page_js, "three");
    ck_assert_str_eq(a.page_css, "four");
    page_assets_free(&a);
    ck_assert_ptr_null(a.uplot_js);

    remove(tmpdir_path(dir, "web/report/report.css"));
    e = (struct err){0};
    ck_assert_int_eq(page_assets(&a, &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "web/report/report.css");
    page_assets_free(&a);
}

TEST(points_are_sorted_and_ties_moved_apart)
{
    double x[4] = {3, 1, 3, 2}, y[4] = {30, 10, 31, 20};
    page_sort(x, y, 4);
    ck_assert(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] > 3 && x[3] < 3.00001);
    ck_assert(y[0] == 10 && y[1] == 20 && y[2] + y[3] == 61);
    double z[2] = {-1, -1};
    page_sort(z, NULL, 2);
    ck_assert(z[0] == -1 && z[1] > -1);
}

TEST(names_of_files)
{
    static const char *const bad[] = {"x",        "x.htm", ".html",
                                      "a b.html", "d/",    "/no/where.html"};
    for (int i = 0; i < 6; i++) {
        struct err e = {0};
        ck_assert_ptr_null(page_new(bad[i], "t", &e));
        ck_assert_str_eq(e.field, "--report");
    }
}

SUITE(cli_page, all_four_assets_or_the_way_to_get_them,
      points_are_sorted_and_ties_moved_apart, names_of_files);
