/* Answers of megabytes. */
#include "serve/http/api.h"
#include "support/suites.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int answer_to(const struct admit_client *client, struct reply *r,
                     struct api_shared *sh, size_t n)
{
    struct api one = {.shared = sh};
    reply_init(r);
    api_long(&one, client, r, "text/csv", calloc(1, n), n);
    return r->status;
}

static int answer_long(struct reply *r, struct api_shared *sh, size_t n)
{
    return answer_to(&(struct admit_client){0}, r, sh, n);
}

TEST(long_answers_that_nobody_reads_are_bounded)
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

TEST(each_address_has_its_share_of_long_answers)
{
    struct err e = {0};
    struct api_shared sh = {.answering = occupancy_new(8, 7, &e), .answers_each_kb = 100};
    struct admit_client one = {.known = true, .limited = true}, other = one,
                        here = {.known = true};
    ck_assert(addr_parse(&one.addr, "192.0.2.1", 9));
    ck_assert(addr_parse(&other.addr, "192.0.2.2", 9));
    here.addr = one.addr;
    struct reply a, b, c;
    ck_assert_int_eq(answer_to(&one, &a, &sh, 60000), 200);
    ck_assert_int_eq(answer_to(&one, &b, &sh, 60000), 429);
    ck_assert_str_eq(reply_header_get(&b, "Retry-After"), "1");
    ck_assert_ptr_nonnull(strstr(b.data, "too_many"));
    reply_drop(&b);
    ck_assert_uint_eq(sh.long_bytes, 60000);
    ck_assert_int_eq(answer_to(&other, &b, &sh, 60000), 200);
    ck_assert_int_eq(answer_to(&here, &c, &sh, 60000), 200); /* this machine's own */
    reply_drop(&c);
    reply_drop(&a);
    ck_assert_int_eq(answer_to(&one, &a, &sh, 3000000), 200); /* alone */
    reply_drop(&a);
    reply_drop(&b);

    /* no room for all together: nothing is kept of the share */
    sh.long_bytes = API_LONG_BYTES;
    ck_assert_int_eq(answer_to(&one, &a, &sh, 1000), 503);
    reply_drop(&a);
    ck_assert_int_eq(occupancy_held(sh.answering, &one.addr), 0);
    ck_assert_uint_eq(occupancy_refused(sh.answering), 1);
    occupancy_free(sh.answering);
}

SUITE(serve_http_api_long, long_answers_that_nobody_reads_are_bounded,
      each_address_has_its_share_of_long_answers);
