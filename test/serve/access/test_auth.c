#include "serve/access/auth.h"
#include "support/suites.h"

#include <check.h>
#include <stdlib.h>

static struct err e;
static struct auth *a;

static void make(const char *hosts, const char *origins, const char *token)
{
    e = (struct err){0};
    a = auth_new("127.0.0.1", hosts, origins, token, &e);
}

static void drop(void)
{
    auth_free(a);
    a = NULL;
}

TEST(hosts)
{
    make("video.example.org, cdn.example.org", NULL, NULL);
    static const char *const good[] = {"localhost",       "localhost:8080",
                                       "LOCALHOST",       "127.0.0.1:8080",
                                       "[::1]:8080",      "[::1]",
                                       "192.168.7.3:80",  "a.localhost:1",
                                       "cdn.example.org", "video.example.org:8080"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        ck_assert_msg(auth_host_ok(a, good[i]), "%s", good[i]);
    ck_assert(auth_host_ok(a, NULL));

    static const char *const bad[] = {"evil.example",
                                      "localhost.evil.example",
                                      "example.org",
                                      "xlocalhost",
                                      "",
                                      ":8080",
                                      "[::1",
                                      "127.0.0.1.evil.example:8080",
                                      ".localhost"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!auth_host_ok(a, bad[i]), "%s", bad[i]);
}

TEST(origins)
{
    make(NULL, "https://player.example.org,http://localhost:3000", NULL);
    const char *host = "127.0.0.1:8080";
    ck_assert_int_eq(auth_origin(a, NULL, host), AUTH_NO_ORIGIN);
    ck_assert_int_eq(auth_origin(a, "http://127.0.0.1:8080", host), AUTH_OUR_ORIGIN);
    ck_assert_int_eq(auth_origin(a, "https://127.0.0.1:8080", host), AUTH_OUR_ORIGIN);
    ck_assert_int_eq(auth_origin(a, "https://player.example.org", host), AUTH_OUR_ORIGIN);
    ck_assert_int_eq(auth_origin(a, "http://localhost:3000", host), AUTH_OUR_ORIGIN);
    ck_assert_int_eq(auth_origin(a, "http://localhost:3001", host), AUTH_FOREIGN);
    ck_assert_int_eq(auth_origin(a, "http://player.example.org", host), AUTH_FOREIGN);
    ck_assert_int_eq(auth_origin(a, "null", host), AUTH_FOREIGN);
    ck_assert_int_eq(auth_origin(a, "", host), AUTH_FOREIGN);
    ck_assert_int_eq(auth_origin(a, "http://127.0.0.1:8080.evil.example", host),
                     AUTH_FOREIGN);
    ck_assert_int_eq(auth_origin(a, "http://127.0.0.1:8080", NULL), AUTH_FOREIGN);
}

TEST(any_origin_must_be_asked_for)
{
    make(NULL, "*", NULL);
    ck_assert_int_eq(auth_origin(a, "https://x.example", "h"), AUTH_OUR_ORIGIN);
}

TEST(malformed_origins_are_errors)
{
    static const char *const bad[] = {"player.example.org", "https://x.example/",
                                      "ftp://x.example", "https://"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        make(NULL, bad[i], NULL);
        ck_assert_ptr_null(a);
        ck_assert_int_eq(e.code, ERR_INVALID);
        ck_assert_str_eq(e.field, "allow-origin");
    }
}

TEST(tokens)
{
    make(NULL, NULL, NULL);
    ck_assert(auth_token_ok(a, NULL));
    drop();
    make(NULL, NULL, "s3cret");
    ck_assert(auth_token_ok(a, "Bearer s3cret"));
    ck_assert(auth_token_ok(a, "bearer  s3cret"));
    static const char *const bad[] = {
        "",       "s3cret",       "Basic s3cret",   "Bearer ",
        "Bearer", "Bearer s3cre", "Bearer s3crets", "Bearer S3cret"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!auth_token_ok(a, bad[i]), "%s", bad[i]);
    ck_assert(!auth_token_ok(a, NULL));
}

SUITE_SET_UP(serve_access_auth, 0, NULL, drop, hosts, origins,
             any_origin_must_be_asked_for, malformed_origins_are_errors, tokens);
