/* Answers of megabytes. */
#include "serve/http/api.h"

#include <check.h>
#include <stdlib.h>

static int answer_long(struct reply *r, struct api_shared *sh, size_t n)
{
    struct api one = {.shared = sh};
    reply_init(r);
    api_long(&one, r, "text/csv", calloc(1, n), n);
    return r->status;
}

START_TEST(long_answers_that_nobody_reads_are_bounded)
{
    struct api_shared sh = {0};
    struct reply first, second;
    const size_t most = API_LONG_BYTES / 2 + 1;
    ck_assert_int_eq(answer_long(&first, &sh, most), 200);
    ck_assert_int_eq(answer_long(&second, &sh, most), 503);
    ck_assert_str_eq(reply_header_get(&second, "Retry-After"), "1");
    reply_drop(&second);
    ck_assert_int_eq(answer_long(&second, &sh, 1000), 200);
    reply_drop(&first);

    char buf[300];
    size_t got = 0;
    for (ssize_t n; (n = second.stream.pull(second.stream.self, buf, sizeof buf)) > 0;)
        got += (size_t)n;
    ck_assert_uint_eq(got, 1000);
    reply_drop(&second);
    ck_assert_uint_eq(sh.long_bytes, 0);
    ck_assert_int_eq(answer_long(&first, &sh, 3 * most), 200); /* alone */
    reply_drop(&first);
}
END_TEST

Suite *suite_serve_http_api_long(void);
Suite *suite_serve_http_api_long(void)
{
    Suite *s = suite_create("serve/api_long");
    TCase *t = tcase_create("serve/api_long");
    tcase_add_test(t, long_answers_that_nobody_reads_are_bounded);
    suite_add_tcase(s, t);
    return s;
}
