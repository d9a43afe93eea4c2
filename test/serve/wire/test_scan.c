#include "serve/wire/scan.h"

#include <check.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "support/suites.h"

struct body {
    bool has_object; /* the first member, at place 0 */
    double number, list[4], sizes[4];
    int whole, n_list, n_sizes, inner;
    int64_t wide;
    uint64_t key;
    bool yes, has_yes;
    char text[8];
};

#define ROW(member) FIELD(struct body, member)
#define HAS(member) .has = FIELD_PLACE(struct body, member)
#define LENGTH(member) .n = FIELD_PLACE(struct body, member)
static const struct field INNER[] = {{"inner", ROW(inner), .flags = FIELD_REQUIRED}, {0}};

/* The table is the same for all tests; only `number` is required. */
static const struct field FIELDS[] = {
    {"number", ROW(number), .flags = FIELD_REQUIRED},
    {"whole", ROW(whole)},
    {"wide", ROW(wide)},
    {"key", ROW(key)},
    {"yes", ROW(yes), HAS(has_yes)},
    {"text", ROW(text)},
    {"list", ROW(list), LENGTH(n_list)},
    {"sizes", ROW(sizes), LENGTH(n_sizes), .flags = FIELD_NULL_IS_ZERO},
    {"object", .type = FIELD_OBJECT, HAS(has_object), .fields = INNER},
    {0}};

static bool scan(struct body *b, const char *body, size_t n)
{
    *b = (struct body){.whole = -7, .inner = -7};
    /* a copy without anything behind it: reading on would be seen by the sanitizer */
    char *exact = malloc(n ? n : 1);
    memcpy(exact, body, n);
    bool usual = scan_object(FIELDS, b, exact, n);
    free(exact);
    return usual;
}

static bool takes(struct body *b, const char *body)
{
    return scan(b, body, strlen(body));
}

TEST(every_kind_is_read)
{
    struct body b;
    alloc_watch();
    bool usual = takes(&b, "{\"number\":1.5,\"whole\":-3,\"wide\":900719925474099312,"
                           "\"key\":9007199254740992,\"yes\":true,\"text\":\"a b/~\","
                           "\"list\":[1,2.5,-3e2],\"sizes\":[null,7],"
                           "\"object\":{\"inner\":4}}");
    long calls = alloc_calls();
    ck_assert(usual);
    ck_assert_int_eq(calls, 1); /* our copy of the body */
    ck_assert(b.number == 1.5 && b.whole == -3 && b.wide == 900719925474099312);
    ck_assert(b.key == (uint64_t)1 << 53 && b.yes && b.has_yes && b.has_object);
    ck_assert_str_eq(b.text, "a b/~");
    ck_assert(b.n_list == 3 && b.list[0] == 1 && b.list[1] == 2.5 && b.list[2] == -300);
    ck_assert(b.n_sizes == 2 && b.sizes[0] == 0 && b.sizes[1] == 7);
    ck_assert_int_eq(b.inner, 4);

    /* any order, spaces, empty arrays and texts, null as if it were not there */
    ck_assert(takes(&b, "{ \"yes\" : false ,\n\t\"object\":null, \"list\" : [ ] ,\r"
                        "\"whole\":null,\"text\":\"\", \"number\" : 0 } \n"));
    ck_assert(!b.yes && b.has_yes && !b.has_object && b.whole == -7 && b.n_list == 0);
}

/* Each is refused, and accepted without its fault. */
TEST(unusual_forms_are_left_to_jansson)
{
    static const char *const bad[] = {
        "",
        " {\"number\":1}",
        "[1]",
        "{",
        "{\"number\":1",
        "{\"number\":1}}",
        "{\"number\":1} x",
        "{\"number\":1,}",
        "{\"number\":1 \"whole\":2}",
        "{\"number\" 1}",
        "{number:1}",
        "{}",
        "{\"number\":null}",
        "{\"whole\":1}",
        "{\"number\":1,\"number\":1}",
        "{\"number\":1,\"whole\":null,\"whole\":1}",
        "{\"number\":1,\"other\":1}",
        "{\"number\":1,\"numbe\":1}",
        "{\"number\":1,\"wholes\":1}",
        "{\"num\\u0062er\":1}",
        "{\"number\":1,\"text\":\"a\\n\"}",
        "{\"number\":1,\"text\":\"\xc3\xa9\"}",
        "{\"number\":1,\"text\":\"a\tb\"}",
        "{\"number\":1,\"text\":\"ab\t\"}",
        "{\"number\":1,\"text\":\"12345678\"}",
        "{\"number\":1,\"text\":7}",
        "{\"number\":\"1\"}",
        "{\"number\":01}",
        "{\"number\":-}",
        "{\"number\":+1}",
        "{\"number\":.5}",
        "{\"number\":5.}",
        "{\"number\":1e}",
        "{\"number\":1e+}",
        "{\"number\":1e999}",
        "{\"number\":1e99999}",
        "{\"number\":NaN}",
        "{\"number\":0x1}",
        "{\"number\":1,\"whole\":3.0}",
        "{\"number\":1,\"whole\":2147483648}",
        "{\"number\":1,\"wide\":9223372036854775808}",
        "{\"number\":1,\"key\":\"7\"}",
        "{\"number\":1,\"key\":-1}",
        "{\"number\":1,\"key\":9007199254740993}",
        "{\"number\":1,\"yes\":1}",
        "{\"number\":1,\"yes\":tru}",
        "{\"number\":1,\"list\":[1,2,3,4,5]}",
        "{\"number\":1,\"list\":[1,]}",
        "{\"number\":1,\"list\":[,1]}",
        "{\"number\":1,\"list\":[1 2]}",
        "{\"number\":1,\"list\":[null]}",
        "{\"number\":1,\"list\":1}",
        "{\"number\":1,\"object\":{}}",
        "{\"number\":1,\"object\":{\"inner\":1,\"x\":1}}",
        "{\"number\":1,\"object\":[]}",
    };
    struct body b;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!takes(&b, bad[i]), "took %s", bad[i]);
    ck_assert(!scan(&b, "{\"number\":1}\0", 13));
    ck_assert(takes(&b, "{\"number\":1}"));

    /* wherever it is cut off */
    const char *whole = "{\"number\":-1.25e1,\"list\":[1,null],\"text\":\"a\"}";
    for (size_t n = 0; n < strlen(whole); n++)
        ck_assert(!scan(&b, whole, n));
}

TEST(numbers_equal_strtod)
{
    static const char *const some[] = {"0",
                                       "-0.0",
                                       "0.1",
                                       "1.7976931348623157e308",
                                       "5e-324",
                                       "1e22",
                                       "1e23",
                                       "123e-22",
                                       "9007199254740993.0",
                                       "0.3",
                                       "1e-400",
                                       "-12.5E+2",
                                       "2.2250738585072011e-308",
                                       "0e9999",
                                       "0.30000000000000004",
                                       "8.5070591730234616e37",
                                       "123456789012345678",
                                       "123456789012345678.5",
                                       "7.2057594037927933e16"};
    struct body b;
    char text[64];
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        snprintf(text, sizeof text, "{\"number\":%s}", some[i]);
        ck_assert_msg(takes(&b, text), "%s", some[i]);
        double want = strtod(some[i], NULL);
        ck_assert_msg(memcmp(&b.number, &want, sizeof want) == 0, "%s: %.17g", some[i],
                      b.number);
    }
    /* as JavaScript and C print them */
    uint64_t bits = 1;
    for (int i = 0; i < 20000; i++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        double v = ldexp((double)(bits >> 11), (int)(bits >> 3 & 127) - 90);
        snprintf(text, sizeof text, "{\"number\":%.*g}", 1 + i % 17, v);
        double want = strtod(text + 10, NULL);
        if (takes(&b, text) && b.number == want) continue;
        ck_abort_msg("%s: %.17g", text, b.number);
    }
    /* a whole number has no sign of zero: it is an integer to jansson */
    ck_assert(takes(&b, "{\"number\":-0}") && !signbit(b.number));
}

SUITE(serve_wire_scan, every_kind_is_read, unusual_forms_are_left_to_jansson,
      numbers_equal_strtod);
