#include "cli/fetch.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

static bool is_private(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return fetch_is_private((const struct sockaddr *)&in);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return fetch_is_private((const struct sockaddr *)&in6);
}

START_TEST(private_addresses)
{
    static const char *const inside[] = {"127.0.0.1",
                                         "10.1.2.3",
                                         "172.16.0.1",
                                         "172.31.255.255",
                                         "192.168.0.1",
                                         "169.254.169.254",
                                         "100.64.0.1",
                                         "100.127.255.255",
                                         "0.0.0.0",
                                         "224.0.0.1",
                                         "255.255.255.255",
                                         "198.18.0.1",
                                         "192.0.0.8",
                                         "::1",
                                         "::",
                                         "fe80::1",
                                         "febf::1",
                                         "fc00::1",
                                         "fdff::1",
                                         "ff02::1",
                                         "::ffff:10.0.0.1",
                                         "::10.0.0.1",
                                         "64:ff9b::7f00:1",
                                         "2002:7f00:1::1",
                                         "fec0::1"};
    static const char *const outside[] = {
        "8.8.8.8",        "172.15.0.1",  "172.32.0.1",     "192.167.0.1",
        "100.63.0.1",     "100.128.0.1", "198.20.0.1",     "11.0.0.1",
        "223.255.0.1",    "2001:db8::1", "::ffff:8.8.8.8", "64:ff9b::808:808",
        "2002:808:808::1"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        ck_assert_msg(is_private(inside[i]), "%s", inside[i]);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        ck_assert_msg(!is_private(outside[i]), "%s", outside[i]);
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    ck_assert(fetch_is_private((const struct sockaddr *)&un));
}
END_TEST

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
    tcase_add_test(t, private_addresses);
    tcase_add_test(t, other_schemes_and_nobody_there);
    suite_add_tcase(s, t);
    return s;
}
