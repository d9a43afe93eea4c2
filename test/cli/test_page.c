/* What abrd eval --report writes is in test_cmd_eval.c. */
#include "cli/page.h"

#include <check.h>

START_TEST(points_are_sorted_and_ties_moved_apart)
{
    double x[4] = {3, 1, 3, 2}, y[4] = {30, 10, 31, 20};
    page_sort(x, y, 4);
    ck_assert(x[0] == 1 && x[1] == 2 && x[2] == 3 && x[3] > 3 && x[3] < 3.00001);
    ck_assert(y[0] == 10 && y[1] == 20 && y[2] + y[3] == 61);
    double z[2] = {-1, -1};
    page_sort(z, NULL, 2);
    ck_assert(z[0] == -1 && z[1] > -1);
}
END_TEST

START_TEST(names_of_files)
{
    static const char *const bad[] = {"x",        "x.htm", ".html",
                                      "a b.html", "d/",    "/no/where.html"};
    for (int i = 0; i < 6; i++) {
        struct err e = {0};
        ck_assert_ptr_null(page_new(bad[i], "t", &e));
        ck_assert_str_eq(e.field, "--report");
    }
}
END_TEST

Suite *suite_cli_page(void);
Suite *suite_cli_page(void)
{
    Suite *s = suite_create("cli/page");
    TCase *t = tcase_create("cli/page");
    tcase_add_test(t, points_are_sorted_and_ties_moved_apart);
    tcase_add_test(t, names_of_files);
    suite_add_tcase(s, t);
    return s;
}
