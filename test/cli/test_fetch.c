#include "cli/fetch.h"

#include <check.h>

START_TEST(other_schemes_and_nobody_there)
{
    static const char *const urls[] = {"file:///etc/passwd", "gopher://127.0.0.1/",
                                       "http://127.0.0.1:1/", "http://"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct err e = {0};
        char *text = NULL;
        size_t len;
        ck_assert_ptr_null(fetch_new(urls[i], true, &text, &len, &e));
        ck_assert_ptr_null(text);
        ck_assert(e.code < 0 && *e.detail);
    }
}
END_TEST

Suite *suite_cli_fetch(void);
Suite *suite_cli_fetch(void)
{
    Suite *s = suite_create("cli/fetch");
    TCase *t = tcase_create("cli/fetch");
    tcase_add_test(t, other_schemes_and_nobody_there);
    suite_add_tcase(s, t);
    return s;
}
