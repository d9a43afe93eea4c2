#include "serve/wire/emit.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/suites.h"

TEST(rounded_to_six_decimals)
{
    static const struct {
        double v;
        const char *text;
    } some[] = {{0.0, "0"},
                {-0.0, "0"},
                {1.0, "1"},
                {0.1, "0.1"},
                {2.0 / 3, "0.666667"},
                {-1.0 / 3, "-0.333333"},
                {0.0000004, "0"},
                {-0.0000004, "0"},
                {0.0000006, "0.000001"},
                {0.9999996, "1"},
                {-123.4567891, "-123.456789"},
                {9007199254.0, "9007199254"},
                {1e300, "1e+300"},
                {(double)NAN, "null"},
                {(double)INFINITY, "null"}};
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        struct emit o = {0};
        emit_rounded(&o, some[i].v);
        ck_assert_str_eq(o.at, some[i].text);
        emit_free(&o);
    }
}

/* The digits equal those of printf without trailing zeros. */
TEST(digits_equal_printf)
{
    struct rng r;
    rng_init(&r, 7, 0);
    struct emit o = {0};
    char text[64];
    for (int i = 0; i < 100000; i++) {
        uint64_t whole = rng_u64(&r) >> rng_below(&r, 64);
        emit_reset(&o);
        emit_u64(&o, whole);
        snprintf(text, sizeof text, "%llu", (unsigned long long)whole);
        ck_assert_str_eq(o.at, text);

        long long millionths = (long long)(whole >> 12) * (i % 2 ? -1 : 1);
        emit_reset(&o);
        emit_rounded(&o, (double)millionths / 1e6);
        long long size = llabs(millionths);
        int n = snprintf(text, sizeof text, "%s%lld.%06lld", millionths < 0 ? "-" : "",
                         size / 1000000, size % 1000000);
        while (text[n - 1] == '0')
            n--;
        text[text[n - 1] == '.' ? n - 1 : n] = '\0';
        if (size < 1LL << 50) ck_assert_str_eq(o.at, text);
    }
    emit_free(&o);
}

TEST(whole_numbers_of_64_bits)
{
    struct emit o = {0};
    emit_open(&o, '[');
    emit_int(&o, INT64_MIN), emit_int(&o, INT64_MAX), emit_int(&o, 0), emit_int(&o, -10);
    emit_u64(&o, UINT64_MAX), emit_u64(&o, 100);
    emit_double(&o, -42.0), emit_double(&o, 1e14), emit_double(&o, 0.0);
    emit_close(&o, ']');
    ck_assert_str_eq(o.at, "[-9223372036854775808,9223372036854775807,0,-10,"
                           "18446744073709551615,100,-42,100000000000000,0]");
    emit_free(&o);
}

TEST(objects_arrays_and_commas)
{
    struct emit o = {0};
    emit_open(&o, '{');
    emit_key(&o, "a"), emit_int(&o, -3);
    emit_key(&o, "b"), emit_open(&o, '[');
    emit_close(&o, ']');
    emit_key(&o, "c"), emit_doubles(&o, (double[]){1, 0.5, 4.3}, 3);
    emit_key(&o, "d"), emit_bool(&o, true);
    emit_key(&o, "e"), emit_null(&o);
    emit_key(&o, "f"), emit_u64(&o, UINT64_MAX);
    emit_key(&o, "g"), emit_double(&o, (double)INFINITY);
    emit_close(&o, '}');
    ck_assert_str_eq(o.at, "{\"a\":-3,\"b\":[],\"c\":[1,0.5,4.3],\"d\":true,\"e\":null,"
                           "\"f\":18446744073709551615,\"g\":null}");
    emit_free(&o);
}

TEST(strings_are_safe)
{
    struct emit o = {0};
    emit_string(&o, "</script> \"\\\n\x7f\x1f \xc3\xa4 \xf0\x9f\x98\x80");
    ck_assert_str_eq(o.at, "\"\\u003c/script\\u003e \\u0022\\u005c\\u000a\\u007f\\u001f "
                           "\xc3\xa4 \xf0\x9f\x98\x80\"");
    /* overlong, surrogate, cut off, alone, beyond the last */
    emit_reset(&o);
    emit_string(&o, "\xc0\x80|\xed\xa0\x80|\xc3");
    ck_assert_str_eq(o.at, "\"\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd|\\ufffd\"");
    emit_reset(&o);
    emit_string(&o, "\x80|\xf5\x80\x80\x80|\xf4\x90\x80\x80");
    ck_assert_ptr_null(strpbrk(o.at, "\x80\x90\xf4\xf5"));
    emit_free(&o);
}

TEST(doubles_round_trip_in_the_shortest_form)
{
    char text[32];
    emit_format_double(text, 0.1);
    ck_assert_str_eq(text, "0.1");
    static const double plain[] = {
        8.7,  -4.3,    1e-5,   123456789012345.0,     0.30000000000000004, 0.00012, 1e15,
        1e22, -2.5e-7, 5e-324, 1.7976931348623157e308};
    static const char *const wanted[] = {"8.7",
                                         "-4.3",
                                         "0.00001",
                                         "123456789012345",
                                         "0.30000000000000004",
                                         "0.00012",
                                         "1e+15",
                                         "1e+22",
                                         "-2.5e-07",
                                         "4.94065645841247e-324",
                                         "1.7976931348623157e+308"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        emit_format_double(text, plain[i]);
        ck_assert_str_eq(text, wanted[i]);
    }
    emit_format_double(text, 0.0);
    ck_assert_str_eq(text, "0");
    emit_format_double(text, 300.0);
    ck_assert_str_eq(text, "300");
    emit_format_double(text, -0.0);
    ck_assert_str_eq(text, "-0");
    emit_format_double(text, 1.0 / 3.0);
    ck_assert_str_eq(text, "0.3333333333333333");

    struct rng r;
    rng_init(&r, 1, 1);
    for (int i = 0; i < 200000; i++) {
        union {
            uint64_t u;
            double d;
        } v = {.u = rng_u64(&r)};
        if (i % 4 == 1) v.d = rng_range(&r, -100.0, 100.0);
        if (i % 4 == 2) v.d = (double)(float)rng_uniform(&r);
        if (i % 4 == 3) v.d = nearbyint(rng_range(&r, 0.0, 1e6)) / 1000.0;
        if (!isfinite(v.d)) continue;
        ck_assert_int_lt(emit_format_double(text, v.d), 32);
        ck_assert_msg(strtod(text, NULL) == v.d, "%s", text);
    }
}

TEST(the_buffer_grows_and_stops_at_the_limit)
{
    struct emit o = {0};
    char block[1000];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1000; i++)
        emit_raw(&o, block, sizeof block);
    ck_assert(!o.failed);
    ck_assert_uint_eq(o.n, 1000000);
    emit_text(&o, "%0700d", 7);
    ck_assert_uint_eq(strlen(o.at), 1000700);
    emit_reserve(&o, EMIT_LIMIT + 1);
    ck_assert(o.failed);
    emit_int(&o, 1);
    ck_assert_uint_eq(o.n, 1000700);
    emit_free(&o);
}

SUITE(serve_wire_emit, rounded_to_six_decimals, digits_equal_printf,
      whole_numbers_of_64_bits, objects_arrays_and_commas, strings_are_safe,
      doubles_round_trip_in_the_shortest_form, the_buffer_grows_and_stops_at_the_limit);
