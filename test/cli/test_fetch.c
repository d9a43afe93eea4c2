#include "cli/fetch.h"

#include "support/suites.h"

TEST(other_schemes_and_nobody_there)
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

SUITE(cli_fetch, other_schemes_and_nobody_there);
