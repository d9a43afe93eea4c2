#include "serve/access/addr.h"
#include "support/suites.h"

#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct addr of(const char *text)
{
    struct addr a;
    ck_assert_msg(addr_parse(&a, text, strlen(text)), "%s", text);
    return a;
}

TEST(addresses_are_read_and_written)
{
    static const struct {
        const char *in, *out;
    } good[] = {{"192.0.2.7", "192.0.2.7"},
                {"2001:DB8::1", "2001:db8::1"},
                {"::ffff:192.0.2.7", "192.0.2.7"},
                {"::", "::"},
                {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255",
                 "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[ADDR_TEXT];
        struct addr a = of(good[i].in);
        addr_text(text, &a);
        ck_assert_str_eq(text, good[i].out);
    }

    struct addr a;
    static const char *const bad[] = {
        "",          "1.2.3",    "1.2.3.4.5", "256.1.1.1", "[::1]",   "fe80::1%eth0",
        "1.2.3.4:5", " 1.2.3.4", "1:2:3:4",   "x",         "01.2.3.4"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!addr_parse(&a, bad[i], strlen(bad[i])), "%s", bad[i]);
    ck_assert(!addr_parse(&a, "::1\0x", 5));
    ck_assert(addr_parse(&a, "10.0.0.12", 8)); /* only so many bytes are read */
    a = of("10.0.0.1");
}

TEST(sockets_have_them_too)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    v4.sin_addr.s_addr = htonl(0x7f000203);
    struct addr a, want = of("127.0.2.3");
    ck_assert(addr_from_socket(&a, (struct sockaddr *)&v4));
    ck_assert(addr_equal(&a, &want));

    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    ck_assert(addr_from_socket(&a, (struct sockaddr *)&v6));
    want = of("::1");
    ck_assert(addr_equal(&a, &want));

    v4.sin_port = htons(80);
    v6.sin6_port = htons(65535);
    ck_assert_int_eq(addr_port((struct sockaddr *)&v4), 80);
    ck_assert_int_eq(addr_port((struct sockaddr *)&v6), 65535);
    struct sockaddr other = {.sa_family = AF_UNIX};
    ck_assert_int_eq(addr_port(&other), 0);
    ck_assert(!addr_from_socket(&a, &other));
}

TEST(loopback_and_subscribers)
{
    struct addr a = of("127.255.0.1"), b = of("::1"), c = of("128.0.0.1"), d = of("::2");
    ck_assert(addr_is_loopback(&a) && addr_is_loopback(&b));
    ck_assert(!addr_is_loopback(&c) && !addr_is_loopback(&d));
    a = of("::ffff:127.0.0.1");
    ck_assert(addr_is_loopback(&a));

    a = of("2001:db8:1:2:3:4:5:6");
    b = of("2001:db8:1:2::");
    a = addr_subscriber(&a);
    ck_assert(addr_equal(&a, &b));
    a = addr_subscriber(&c);
    ck_assert(addr_equal(&a, &c));
}

static const struct {
    const char *address, *network;
} networks_of[] = {
    {"192.0.2.77", "192.0.2.0"},
    {"::ffff:192.0.2.77", "192.0.2.0"},
    {"2001:db8:1:2:3:4:5:6", "2001:db8:1::"},
};

TEST(the_network_of_an_address)
{
    struct addr a = of(networks_of[_i].address), b = of(networks_of[_i].network);
    a = addr_network(&a);
    ck_assert(addr_equal(&a, &b));
}

TEST(networks)
{
    struct err e = {0};
    struct addr_nets nets;
    ck_assert_int_eq(
        addr_nets_parse(&nets, "10.0.0.0/8, 192.0.2.7 2001:db8::/33,203.0.113.128/25",
                        "trust-proxy", &e),
        0);
    ck_assert_int_eq(nets.n, 4);
    static const struct {
        const char *text;
        bool in;
    } asked[] = {
        {"10.255.1.2", true},       {"11.0.0.0", false},     {"192.0.2.7", true},
        {"192.0.2.6", false},       {"2001:db8::1", true},   {"2001:db8:7fff::1", true},
        {"2001:db8:8000::", false}, {"203.0.113.128", true}, {"203.0.113.127", false},
        {"::ffff:10.0.0.1", true},  {"::10.0.0.1", false}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct addr a = of(asked[i].text);
        ck_assert_msg(addr_in(&nets, &a) == asked[i].in, "%s", asked[i].text);
    }

    /* everything, of each family */
    ck_assert_int_eq(addr_nets_parse(&nets, "0.0.0.0/0", "t", &e), 0);
    struct addr v4 = of("8.8.8.8"), v6 = of("2001::1");
    ck_assert(addr_in(&nets, &v4) && !addr_in(&nets, &v6));
    ck_assert_int_eq(addr_nets_parse(&nets, "::/0", "t", &e), 0);
    ck_assert(addr_in(&nets, &v4) && addr_in(&nets, &v6));
    ck_assert_int_eq(addr_nets_parse(&nets, NULL, "t", &e), 0);
    ck_assert(!addr_in(&nets, &v4));
}

TEST(malformed_networks_are_errors)
{
    static const char *const bad[] = {
        "10.0.0.1/8", "10.0.0.0/33",  "10.0.0.0/",   "10/8",          "::1/129",
        "proxy",      "10.0.0.0/8/8", "10.0.0.0/-1", "2001:db8::/16", "1.2.3.4/0032"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        struct addr_nets nets;
        ck_assert_int_eq(addr_nets_parse(&nets, bad[i], "trust-proxy", &e), ERR_INVALID);
        ck_assert_str_eq(e.field, "trust-proxy");
        ck_assert_msg(strstr(e.detail, bad[i]) != NULL, "%s", e.detail);
    }

    char many[ADDR_NETS * 4 + 8] = "";
    for (int i = 0; i <= ADDR_NETS; i++)
        strcat(many, "::1,");
    struct err e = {0};
    struct addr_nets nets;
    ck_assert_int_eq(addr_nets_parse(&nets, many, "t", &e), ERR_RANGE);
}

/* First and last address of every range, and the neighbours that are global. */
TEST(private_addresses)
{
    static const char *const inside[] = {"0.0.0.0",
                                         "0.255.255.255",
                                         "10.0.0.0",
                                         "10.255.255.255",
                                         "100.64.0.0",
                                         "100.127.255.255",
                                         "127.0.0.0",
                                         "127.255.255.255",
                                         "169.254.0.0",
                                         "169.254.169.254",
                                         "169.254.255.255",
                                         "172.16.0.0",
                                         "172.31.255.255",
                                         "192.0.0.0",
                                         "192.0.0.255",
                                         "192.0.2.0",
                                         "192.0.2.255",
                                         "192.88.99.0",
                                         "192.88.99.255",
                                         "192.168.0.0",
                                         "192.168.255.255",
                                         "198.18.0.0",
                                         "198.19.255.255",
                                         "198.51.100.0",
                                         "198.51.100.255",
                                         "203.0.113.0",
                                         "203.0.113.255",
                                         "224.0.0.0",
                                         "239.255.255.255",
                                         "240.0.0.0",
                                         "255.255.255.255",
                                         "::",
                                         "::1",
                                         "::8.8.8.8",
                                         "::ffff:0:8.8.8.8",
                                         "::ffff:127.0.0.1",
                                         "::ffff:10.0.0.1",
                                         "::ffff:169.254.169.254",
                                         "64:ff9b::7f00:1",
                                         "64:ff9b::a00:1",
                                         "64:ff9b:1::1",
                                         "64:ff9b:0:0:0:1:808:808",
                                         "100::1",
                                         "1fff:ffff::1",
                                         "2001::1",
                                         "2001:1ff:ffff::1",
                                         "2001:db8::",
                                         "2001:db8:ffff::1",
                                         "2002:7f00:1::1",
                                         "2002:a00:1::1",
                                         "2002:a9fe:a9fe::",
                                         "3fff::1",
                                         "3fff:fff:ffff::",
                                         "4000::1",
                                         "5f00::1",
                                         "fc00::1",
                                         "fdff:ffff::1",
                                         "fe80::1",
                                         "febf::1",
                                         "fec0::1",
                                         "ff00::",
                                         "ff02::1",
                                         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
    static const char *const outside[] = {
        "1.0.0.0",         "8.8.8.8",         "9.255.255.255",   "11.0.0.0",
        "100.63.255.255",  "100.128.0.0",     "126.255.255.255", "128.0.0.0",
        "169.253.255.255", "169.255.0.0",     "172.15.255.255",  "172.32.0.0",
        "191.255.255.255", "192.0.1.0",       "192.0.3.0",       "192.88.98.255",
        "192.88.100.0",    "192.167.255.255", "192.169.0.0",     "198.17.255.255",
        "198.20.0.0",      "198.51.99.255",   "198.51.101.0",    "203.0.112.255",
        "203.0.114.0",     "223.255.255.255", "::ffff:8.8.8.8",  "64:ff9b::808:808",
        "2000::1",         "2001:200::1",     "2001:db7:ffff::", "2001:db9::",
        "2002:808:808::1", "2606:4700::1111", "2a00:1450::1",    "3ffe:ffff::1",
        "3fff:1000::1"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        struct addr a = of(inside[i]);
        ck_assert_msg(addr_is_private(&a), "%s", inside[i]);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        struct addr a = of(outside[i]);
        ck_assert_msg(!addr_is_private(&a), "%s", outside[i]);
    }
}

/* Every /16 of IPv4, plain and within IPv6, against a second statement of the rule. */
TEST(private_addresses_one_after_the_other)
{
    for (unsigned hi = 0; hi < 0x10000; hi++) {
        unsigned a = hi >> 8, b = hi & 255;
        bool want = a == 0 || a == 10 || a == 127 || a >= 224 || hi == 0xa9fe ||
                    hi == 0xc0a8 || (a == 172 && b >= 16 && b < 32) ||
                    (a == 100 && b >= 64 && b < 128) ||
                    (a == 198 && (b == 18 || b == 19));
        char text[4][ADDR_TEXT];
        snprintf(text[0], ADDR_TEXT, "%u.%u.200.7", a, b);
        snprintf(text[1], ADDR_TEXT, "::ffff:%u.%u.200.7", a, b);
        snprintf(text[2], ADDR_TEXT, "64:ff9b::%u.%u.200.7", a, b);
        snprintf(text[3], ADDR_TEXT, "2002:%x:c807::1", hi);
        for (int i = 0; i < 4; i++) {
            struct addr x = of(text[i]);
            ck_assert_msg(addr_is_private(&x) == want, "%s", text[i]);
        }
    }
}

SUITE(serve_access_addr, addresses_are_read_and_written, sockets_have_them_too,
      loopback_and_subscribers, ROWS(the_network_of_an_address, networks_of),
      private_addresses, private_addresses_one_after_the_other, networks,
      malformed_networks_are_errors);
