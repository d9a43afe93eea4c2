#include "serve/http/range.h"
#include "support/suites.h"

#include <check.h>
#include <stdlib.h>

/* Of 1000 bytes: "FIRST+N", or "whole" or "beyond". */
static void expect(const char *header, enum range_kind kind, int64_t first, int64_t n)
{
    int64_t f = -1, k = -1;
    ck_assert_int_eq(range_of(&f, &k, header, 1000), kind);
    ck_assert_int_eq(f, first);
    ck_assert_int_eq(k, n);
}

TEST(parts)
{
    expect("bytes=0-0", RANGE_PART, 0, 1);
    expect("bytes=0-999", RANGE_PART, 0, 1000);
    expect("bytes=100-199", RANGE_PART, 100, 100);
    expect("bytes=900-5000", RANGE_PART, 900, 100);
    expect("bytes=999-", RANGE_PART, 999, 1);
    expect("bytes=-1", RANGE_PART, 999, 1);
    expect("bytes=-5000", RANGE_PART, 0, 1000);
    expect("Bytes=1-2", RANGE_PART, 1, 2); /* a unit's letters may be of any case */
    expect("BYTES=-1", RANGE_PART, 999, 1);
}

TEST(beyond)
{
    expect("bytes=1000-", RANGE_BEYOND, 0, 1000);
    expect("bytes=1000-2000", RANGE_BEYOND, 0, 1000);
    expect("bytes=-0", RANGE_BEYOND, 0, 1000);
    int64_t f, n;
    ck_assert_int_eq(range_of(&f, &n, "bytes=0-", 0), RANGE_BEYOND);
    ck_assert_int_eq(range_of(&f, &n, "bytes=-5", 0), RANGE_BEYOND);
}

TEST(anything_else_is_the_whole)
{
    static const char *const odd[] = {
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=a-b",
        "bytes=5-4",
        "bytes=1-2,4",
        "bytes=1-2 ",
        "bytes= 1-2",
        "bytes=+1-2",
        "bytes=--1",
        "bytes=1",
        "chunks=1-2",
        "bytes=1-2x",
        "bytes=-1-2",
        "BYTES=1-2x",
        "bytes=0x1-2",
        "bytes=1-2-3",
        "bytes=1.0-2",
        "bytes=9999999999999999999-",
    };
    expect(NULL, RANGE_WHOLE, 0, 1000);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        expect(odd[i], RANGE_WHOLE, 0, 1000);
}

SUITE(serve_http_range, parts, beyond, anything_else_is_the_whole);
