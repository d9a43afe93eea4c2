#include "serve/players/origins.h"

#include "support/suites.h"

#include <stdio.h>
#include <string.h>

TEST(names_and_urls)
{
    static const struct {
        const char *text, *name, *url;
    } good[] = {
        {"cdn=http://media.example", "cdn", "http://media.example"},
        {"cdn=https://media.example/", "cdn", "https://media.example"},
        {"c-d_N9=https://media.example:8443/vod/a%20b/", "c-d_N9",
         "https://media.example:8443/vod/a%20b"},
        {"a=http://127.0.0.1:9/x", "a", "http://127.0.0.1:9/x"},
        {"a=http://[::1]:9", "a", "http://[::1]:9"},
        {"a=http://[2001:db8::7]/x=y", "a", "http://[2001:db8::7]/x=y"},
        {"a=http://h/..x/.y/z./a..b", "a", "http://h/..x/.y/z./a..b"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct origins o = {0};
        struct err e = {0};
        ck_assert_msg(origins_add(&o, good[i].text, &e) == 0, "%s: %s", good[i].text,
                      e.detail);
        ck_assert_int_eq(origins_find(&o, good[i].name), 0);
        ck_assert_str_eq(o.at[0].url, good[i].url);
        ck_assert_int_eq(origins_find(&o, "other"), -1);
    }
}

TEST(mistakes_are_named)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "NAME=URL"},
        {"http://h/", "NAME=URL"},
        {"=http://h/", "NAME=URL"},
        {"a/b=http://h/", "NAME=URL"},
        {"..=http://h/", "NAME=URL"},
        {"a%2e=http://h/", "NAME=URL"},
        {"abcdefghijklmnopqrstuvwxyzabcdefg=http://h/", "NAME=URL"},
        {"a=", "http:// or https://"},
        {"a=media.example", "http:// or https://"},
        {"a=ftp://h/", "http:// or https://"},
        {"a=file:///etc/passwd", "http:// or https://"},
        {"a=HTTP://h/", "http:// or https://"},
        {"a=//h/", "http:// or https://"},
        {"a=http://", "host"},
        {"a=http:///x", "host"},
        {"a=http://u@h/", "user"},
        {"a=http://u:p@h/", "user"},
        {"a=http://h:0/", "port"},
        {"a=http://h:65536/", "port"},
        {"a=http://h:/", "port"},
        {"a=http://h:+80/", "port"},
        {"a=http://h:80x/", "port"},
        {"a=http://h:80:80/", "port"},
        {"a=http://[::1/", "host"},
        {"a=http://[::1]x/", "host"},
        {"a=http://[1.2.3.4]/", "host"},
        {"a=http://[]/", "host"},
        {"a=http://::1/", "host"},
        {"a=http://h h/", "host"},
        {"a=http://h\\x/", "host"},
        {"a=http://h%2e/", "host"},
        {"a=http://h?x", "query"},
        {"a=http://h/#x", "fragment"},
        {"a=http://h/a,b=http://i/", "comma"},
        {"a=http://h/../x", "'..'"},
        {"a=http://h/x/%2E%2e", "'..'"},
        {"a=http://h/a%2fb", "slash"},
        {"a=http://h/a b", "percent-encoded"},
        {"a=http://h/\xc3\xa4", "percent-encoded"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct origins o = {0};
        struct err e = {0};
        ck_assert_msg(origins_add(&o, bad[i].text, &e) < 0, "%s", bad[i].text);
        ck_assert_msg(strstr(e.detail, bad[i].says) != NULL, "%s: %s", bad[i].text,
                      e.detail);
        ck_assert_msg(strncmp(e.field, "origin", 6) == 0, "%s", e.field);
        ck_assert_int_eq(o.n, 0);
    }
}

TEST(so_many_and_no_more)
{
    struct origins o = {0};
    struct err e = {0};
    char text[ORIGINS_URL + 40];
    for (int i = 0; i < ORIGINS_MAX; i++) {
        snprintf(text, sizeof text, "n%d=http://h/", i);
        ck_assert_int_eq(origins_add(&o, text, &e), 0);
    }
    ck_assert_int_eq(origins_add(&o, "more=http://h/", &e), ERR_RANGE);
    o.n = 1;
    e = (struct err){0};
    ck_assert_int_eq(origins_add(&o, "n0=http://other/", &e), ERR_CONFLICT);
    snprintf(text, sizeof text, "long=http://h/%0*d", ORIGINS_URL - 1 - 9, 0);
    e = (struct err){0};
    ck_assert_int_eq(origins_add(&o, text, &e), 0);
    strcat(text, "0");
    text[0] = 'm';
    ck_assert_int_eq(origins_add(&o, text, &e), ERR_RANGE);
}

TEST(targets)
{
    static const struct {
        const char *path, *query, *want;
    } good[] = {
        {"", "", "http://h/b/"},
        {"1.m4s", "", "http://h/b/1.m4s"},
        {"a/b/1.m4s", "x=1&y=%2F..", "http://h/b/a/b/1.m4s?x=1&y=%2F.."},
        {"a//b", "", "http://h/b/a//b"},
        {"/etc/passwd", "", "http://h/b//etc/passwd"},
        {"http://evil/", "", "http://h/b/http://evil/"},
        {"@evil/", "", "http://h/b/@evil/"},
        {"...", "", "http://h/b/..."},
        {"..a/.b/c../d.", "", "http://h/b/..a/.b/c../d."},
        {"...;x", "", "http://h/b/...;x"},
        {"a;v=1/b", "", "http://h/b/a;v=1/b"},
        {"%2ea", "", "http://h/b/%2ea"},
        {"100%25.m4s", "", "http://h/b/100%25.m4s"},
        {"a%25zz", "", "http://h/b/a%25zz"},
        {"%C3%A4", "", "http://h/b/%C3%A4"},
        {"a[1]|^", "", "http://h/b/a[1]|^"},
    };
    static const struct {
        const char *path, *query, *says;
    } bad[] = {
        {"..", "", "'..'"},
        {".", "", "'..'"},
        {"../x", "", "'..'"},
        {"a/../x", "", "'..'"},
        {"a/..", "", "'..'"},
        {"a/./b", "", "'..'"},
        {"%2e%2e/x", "", "'..'"},
        {"a/%2E./x", "", "'..'"},
        {".%2e", "", "'..'"},
        {"%2e", "", "'..'"},
        {"..;/x", "", "'..'"},
        {"..;jsessionid=1", "", "'..'"},
        {".%2e%3b/x", "", "'..'"},
        {"a/%2e%2E;x/y", "", "'..'"},
        {"a%2fb", "", "slash"},
        {"..%2Fx", "", "slash"},
        {"a%5cb", "", "slash"},
        {"..\\x", "", "percent-encoded"},
        {"%252e%252e/x", "", "twice"},
        {"%252E.", "", "twice"},
        {"%252f", "", "twice"},
        {"%255c", "", "twice"},
        {"%2500", "", "twice"},
        {"%25252e", "", "twice"},
        {".%25%32e", "", "twice"},
        {".%252%65", "", "twice"},
        {"%25%32%65/", "", "twice"},
        {"..%253b", "", "twice"},
        {"%00", "", "control"},
        {"a%0d%0aX: y", "", "control"},
        {"%7f", "", "control"},
        {"a\x01", "", "percent-encoded"},
        {"a\r\nb", "", "percent-encoded"},
        {"a b", "", "percent-encoded"},
        {"\xc3\xa4", "", "percent-encoded"},
        {"a?b", "", "percent-encoded"},
        {"a#b", "", "percent-encoded"},
        {"%", "", "escape"},
        {"%2", "", "escape"},
        {"%zz", "", "escape"},
        {"a", "x y", "percent-encoded"},
        {"a", "x#y", "percent-encoded"},
        {"a", "x\ny", "percent-encoded"},
        {"a", "\xff", "percent-encoded"},
    };
    char out[ORIGINS_TARGET];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct err e = {0};
        int rc = origins_target(out, sizeof out, "http://h/b", good[i].path,
                                good[i].query, &e);
        ck_assert_msg(rc == 0, "%s: %s", good[i].path, e.detail);
        ck_assert_str_eq(out, good[i].want);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        int rc =
            origins_target(out, sizeof out, "http://h/b", bad[i].path, bad[i].query, &e);
        ck_assert_msg(rc == ERR_INVALID, "%s", bad[i].path);
        ck_assert_msg(strstr(e.detail, bad[i].says) != NULL, "%s: %s", bad[i].path,
                      e.detail);
    }
    struct err e = {0};
    ck_assert_int_eq(origins_target(out, 13, "http://h/b", "ab", "", &e), ERR_RANGE);
    ck_assert_int_eq(origins_target(out, 14, "http://h/b", "ab", "", &e), 0);
}

TEST(urls_and_paths)
{
    struct origins o = {0};
    struct err e = {0};
    char out[64];
    ck_assert_int_eq(origins_add(&o, "far=http://h", &e), 0);
    ck_assert_int_eq(origins_add(&o, "near=http://h/vod/x", &e), 0);
    const struct {
        const char *url, *path; /* NULL: no origin has it */
    } t[] = {{"http://h/a/b.ts?c", "far/a/b.ts?c"},
             {"http://h/vod/x/1", "near/1"}, /* the longer one */
             {"http://h/vod/xy/1", "far/vod/xy/1"},
             {"http://h", NULL},
             {"http://h2/a", NULL},
             {"https://h/a", NULL}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        bool is = origins_path(out, sizeof out, &o, t[i].url);
        ck_assert_msg(is == (t[i].path != NULL), "%s", t[i].url);
        if (!is) continue;
        ck_assert_str_eq(out, t[i].path);
        ck_assert(origins_url(out, sizeof out, &o, t[i].path));
        ck_assert_str_eq(out, t[i].url);
    }
    ck_assert(!origins_path(out, 10, &o, "http://h/a/b.ts?c"));
    ck_assert(!origins_url(out, sizeof out, &o, "other/a"));
    ck_assert(!origins_url(out, 10, &o, "far/a/b.ts"));
}

SUITE(serve_players_origins, names_and_urls, mistakes_are_named, so_many_and_no_more,
      targets, urls_and_paths);
