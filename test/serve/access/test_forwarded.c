#include "serve/access/forwarded.h"
#include "support/suites.h"

#include <check.h>
#include <string.h>

#define TRUSTED "127.0.0.1, 10.0.0.0/8, 2001:db8::/32"

static void client_is(const char *want, const char *peer, enum forwarded_by by,
                      const char *value)
{
    struct err e = {0};
    struct addr_nets nets;
    struct addr p, c;
    char text[ADDR_TEXT];
    ck_assert_int_eq(addr_nets_parse(&nets, TRUSTED, "t", &e), 0);
    ck_assert(addr_parse(&p, peer, strlen(peer)));
    c = forwarded_client(&p, &nets, by, value);
    addr_text(text, &c);
    ck_assert_msg(strcmp(text, want) == 0, "%s by %s of '%s', not %s", text, peer,
                  value ? value : "(none)", want);
}

static void x_for(const char *want, const char *peer, const char *value)
{
    client_is(want, peer, FORWARDED_X_FOR, value);
}

static void rfc7239(const char *want, const char *peer, const char *value)
{
    client_is(want, peer, FORWARDED_RFC7239, value);
}

TEST(headers_of_untrusted_peers_are_ignored)
{
    x_for("198.51.100.9", "198.51.100.9", "1.2.3.4");
    x_for("198.51.100.9", "198.51.100.9", "127.0.0.1");
    rfc7239("198.51.100.9", "198.51.100.9", "for=1.2.3.4");
    x_for("10.1.1.1", "10.1.1.1", NULL);
}

TEST(the_walk_is_from_the_right)
{
    x_for("1.2.3.4", "127.0.0.1", "1.2.3.4");
    /* what the client wrote stands on the left and changes nothing */
    x_for("1.2.3.4", "127.0.0.1", "9.9.9.9, 1.2.3.4");
    x_for("1.2.3.4", "127.0.0.1", "9.9.9.9,127.0.0.1,1.2.3.4");
    /* through two proxies of ours, and no further */
    x_for("1.2.3.4", "127.0.0.1", "9.9.9.9, 1.2.3.4, 10.0.0.2");
    x_for("1.2.3.4", "127.0.0.1", "10.7.7.7, 1.2.3.4, 10.0.0.2 , 2001:db8::5");
    /* all are ours: the first of them asks for itself */
    x_for("10.0.0.3", "127.0.0.1", "10.0.0.3, 10.0.0.2");
    /* ports and brackets */
    x_for("1.2.3.4", "127.0.0.1", "1.2.3.4:5678");
    x_for("2001:4::1", "127.0.0.1", "[2001:4::1]:5678");
    x_for("2001:4::1", "127.0.0.1", "[2001:4::1]");
    x_for("2001:4::1", "127.0.0.1", "2001:4::1");
}

TEST(a_malformed_address_ends_the_walk)
{
    static const char *const broken[] = {
        "",          "unknown", "1.2.3.4,",      "1.2.3.4, unknown", "1.2.3.4 5.6.7.8",
        "[1.2.3.4",  "[::1]x",  "1.2.3.4, _gaz", "1.2.3.4\"",        "999.1.1.1",
        "1.2.3.4, ,"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        x_for("127.0.0.1", "127.0.0.1", broken[i]);
    x_for("10.0.0.2", "127.0.0.1", "1.2.3.4, unknown, 10.0.0.2");

    /* the same, with more hops than any chain has */
    char many[512] = "6.6.6.6";
    for (int i = 0; i < 30; i++)
        strcat(many, ", 10.0.0.1");
    x_for("10.0.0.1", "127.0.0.1", many);
}

TEST(the_standard_header)
{
    rfc7239("192.0.2.60", "127.0.0.1", "for=192.0.2.60;proto=http;by=203.0.113.43");
    rfc7239("2001:4::17", "127.0.0.1", "For=\"[2001:4::17]:4711\"");
    rfc7239("192.0.2.43", "127.0.0.1", "for=6.6.6.6, for=192.0.2.43,for=10.0.0.2");
    rfc7239("192.0.2.43", "127.0.0.1", "proto=https ; FOR=192.0.2.43");
    rfc7239("10.0.0.2", "127.0.0.1", "for=6.6.6.6, for=_hidden, for=10.0.0.2");
    /* an element without for= has no address */
    rfc7239("127.0.0.1", "127.0.0.1", "for=1.2.3.4, proto=https");
}

TEST(broken_quotes_of_a_client_do_not_hide_entries_of_proxies)
{
    static const char *const forged[] = {
        "for=\", for=1.2.3.4",                     /* an open quote, then the proxy's */
        "for=6.6.6.6;x=\", for=\"[2001:4::1]:1\"", /* quotes that pair up wrongly */
        "for=6.6.6.6;x=\"\\\", for=1.2.3.4",       /* an escape */
        "for=6.6.6.6 x, for=1.2.3.4",
        "for=6.6.6.6;, for=1.2.3.4",
        "for=6.6.6.6;for, for=1.2.3.4",
        "=6.6.6.6, for=1.2.3.4",
        ", for=1.2.3.4",
        "",
    };
    /* never 6.6.6.6: the proxy itself answers for it */
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++)
        rfc7239("127.0.0.1", "127.0.0.1", forged[i]);
}

TEST(names)
{
    struct err e = {0};
    enum forwarded_by by;
    ck_assert_int_eq(forwarded_parse(&by, "Forwarded", &e), 0);
    ck_assert_int_eq(by, FORWARDED_RFC7239);
    ck_assert_int_eq(forwarded_parse(&by, "x-forwarded-for", &e), 0);
    ck_assert_int_eq(by, FORWARDED_X_FOR);
    ck_assert_int_eq(forwarded_parse(&by, "x-real-ip", &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "proxy-header");
}

SUITE(serve_access_forwarded, headers_of_untrusted_peers_are_ignored,
      the_walk_is_from_the_right, a_malformed_address_ends_the_walk, the_standard_header,
      broken_quotes_of_a_client_do_not_hide_entries_of_proxies, names);
