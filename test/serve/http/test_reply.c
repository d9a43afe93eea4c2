#include "serve/http/reply.h"

#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/suites.h"
#include "support/tmpdir.h"

static struct reply r;

static void setup(void)
{
    reply_init(&r);
}

static void teardown(void)
{
    reply_drop(&r);
}

static const struct {
    int code, status;
} codes[] = {{ERR_INVALID, 400},  {ERR_RANGE, 400},   {ERR_ABSENT, 404},
             {ERR_CONFLICT, 409}, {ERR_FULL, 503},    {ERR_IO, 503},
             {ERR_MEMORY, 500},   {ERR_NUMERIC, 500}, {ERR_CORRUPT, 500}};

TEST(every_code_has_its_status)
{
    struct err e = {0};
    err_field(&e, codes[_i].code, "f", "d");
    reply_err(&r, &e);
    ck_assert_int_eq(r.status, codes[_i].status);
    ck_assert_ptr_nonnull(strstr(r.data, "\"field\":\"f\",\"detail\":\"d\"}"));
    ck_assert_int_eq(reply_header_get(&r, "Retry-After") != NULL, r.status == 503);
}

/* Errors of files name their path for the operator; it is no client's business, nor is what the
 * file holds. */
TEST(paths_and_contents_of_files_are_not_sent)
{
    struct err io = {0}, damaged = {0}, beside = {0};
    err_field(&io, ERR_IO, "/var/lib/abrd/abrd.db", "the disk is full (13): make room");
    reply_err(&r, &io);
    ck_assert_int_eq(r.status, 503);
    ck_assert_ptr_nonnull(
        strstr(r.data, "\"field\":\"\",\"detail\":\"the disk is full (13): make room\""));
    err_field(&damaged, ERR_INVALID, "var/trace", "line 1: 'secret' is no number");
    reply_err(&r, &damaged);
    ck_assert_ptr_null(strstr(r.data, "var"));
    ck_assert_ptr_null(strstr(r.data, "secret"));
    err_field(&beside, ERR_IO, "var/a.db", "cannot be copied to /var/backup/a.db");
    reply_err(&r, &beside);
    ck_assert_ptr_null(strstr(r.data, "backup"));
    ck_assert_ptr_nonnull(strstr(r.data, "log"));
}

TEST(headers_replace_and_cannot_split)
{
    reply_header(&r, "X-A", "one");
    reply_header(&r, "x-a", "two\r\nSet-Cookie: x");
    ck_assert_int_eq(r.n_headers, 1);
    ck_assert_str_eq(reply_header_get(&r, "X-A"), "two  Set-Cookie: x");
    ck_assert_ptr_null(reply_header_get(&r, "X-B"));
}

TEST(errors_carry_the_id_of_their_request)
{
    reply_fail(&r, 404, "f", "d");
    reply_error_id(&r, "abc-1");
    static const char want[] =
        "{\"error\":\"absent\",\"field\":\"f\",\"detail\":\"d\",\"request\":\"abc-1\"}\n";
    ck_assert_uint_eq(r.n, sizeof want - 1);
    ck_assert_mem_eq(r.data, want, r.n);

    /* what is no error stays as it is */
    reply_owned(&r, 200, "a/b", strdup("{}\n"), 3);
    reply_error_id(&r, "abc-1");
    ck_assert_uint_eq(r.n, 3);
    reply_empty(&r, 404);
    reply_error_id(&r, "abc-1");
    ck_assert_int_eq(r.kind, REPLY_EMPTY);
}

static void count(void *self)
{
    ++*(int *)self;
}

static ssize_t nothing(void *self, char *buf, size_t max)
{
    (void)self, (void)buf, (void)max;
    return REPLY_END;
}

TEST(a_later_body_frees_the_earlier)
{
    int done = 0;
    reply_stream(&r, 200, "a/b",
                 &(struct reply_stream){nothing, count, &done, 5, -1, false});
    reply_fail(&r, 404, "", "changed our mind");
    ck_assert_int_eq(done, 1);

    int fd = open("/dev/null", O_RDONLY);
    reply_file(&r, 200, "a/b", fd, 1);
    reply_empty(&r, 204);
    ck_assert_int_eq(fcntl(fd, F_GETFD), -1);

    reply_owned(&r, 200, "a/b", strdup("x"), 1);
    reply_copy(&r, 200, "a/b", "y", 1); /* the sanitizer would tell of a leak */
    ck_assert_int_eq(r.status, 200);
}

SUITE_SET_UP(serve_http_reply, 0, setup, teardown, ROWS(every_code_has_its_status, codes),
             paths_and_contents_of_files_are_not_sent, headers_replace_and_cannot_split,
             errors_carry_the_id_of_their_request, a_later_body_frees_the_earlier);
