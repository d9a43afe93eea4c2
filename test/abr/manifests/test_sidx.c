#include "abr/manifests/sidx.h"

#include "support/alloc.h"
#include "support/suites.h"

#include <stdlib.h>
#include <string.h>

/* Version 0, timescale 1000, from 7 s on, two references: 258 bytes of 4 s, 16 bytes of 2.5 s. */
static const unsigned char v0[56] = {
    0, 0, 0, 56, 's',  'i',  'd', 'x', 0,    0,    0,    0,    0,    0,
    0, 1, 0, 0,  0x03, 0xe8, 0,   0,   0x1b, 0x58, 0,    0,    0,    0,
    0, 0, 0, 2,  0,    0,    1,   2,   0,    0,    0x0f, 0xa0, 0x90, 0,
    0, 0, 0, 0,  0,    16,   0,   0,   0x09, 0xc4, 0x90, 0,    0,    0};

TEST(both_versions)
{
    struct sidx_entry *s = NULL;
    struct err e = {0};
    int n = 0;
    ck_assert_int_eq(sidx_parse(&s, &n, v0, sizeof v0, "f", &e), 0);
    ck_assert_int_eq(n, 2);
    ck_assert(s[0].bytes == 258 && s[0].duration_s == 4.0);
    ck_assert(s[1].bytes == 16 && s[1].duration_s == 2.5);
    ck_assert(s[0].from == 56 && s[1].from == 314); /* behind the box */
    ck_assert(s[0].start_s == 7.0 && s[1].start_s == 11.0);
    free(s);

    unsigned char v1[64] = {0};
    memcpy(v1, v0, 20);
    v1[3] = 64;
    v1[8] = 1;
    v1[23] = 1;                   /* from 2^32 ms on */
    memcpy(v1 + 36, v0 + 28, 28); /* times are of 8 bytes each */
    v1[31] = 1;                   /* segments begin 2^32 + 2^8 bytes behind it */
    v1[34] = 1;
    ck_assert_int_eq(sidx_parse(&s, &n, v1, sizeof v1, "f", &e), 0);
    ck_assert(n == 2 && s[0].bytes == 258 && s[1].duration_s == 2.5);
    ck_assert_int_eq(s[1].from - 258, 64 + (INT64_C(1) << 32) + 256);
    ck_assert(s[0].start_s == 4294967.296 && s[1].start_s == 4294971.296);
    free(s);
}

TEST(refusals)
{
    const struct {
        int at, value; /* what is changed in v0 */
        size_t len;
        const char *says;
    } bad[] = {
        {4, 'x', 56, "no sidx box"},
        {0, 0, 11, "no sidx box"},
        {0, 0, 55, "56 bytes where 55"},
        {3, 20, 56, "20 bytes where 56"},
        {8, 2, 56, "version 2"},
        {31, 0, 56, "0 references"},
        {31, 3, 56, "3 references do not"},
        {32, 0x80, 56, "to another index"},
        {47, 0, 56, "reference 1 has 0"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unsigned char box[56];
        memcpy(box, v0, sizeof box);
        box[bad[i].at] = (unsigned char)bad[i].value;
        struct sidx_entry *s = NULL;
        struct err e = {0};
        int n = 0, rc = sidx_parse(&s, &n, box, bad[i].len, "f", &e);
        ck_assert_msg(rc == ERR_INVALID && !s && strstr(e.detail, bad[i].says),
                      "%zu: %d %s", i, rc, e.detail);
    }
    struct sidx_entry *s = NULL;
    struct err e = {0};
    unsigned char box[56];
    int n = 0;
    memcpy(box, v0, sizeof box);
    memset(box + 16, 0, 4);
    ck_assert_int_eq(sidx_parse(&s, &n, box, sizeof box, "f", &e), ERR_INVALID);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    struct sidx_entry *s;
    int n;
    return sidx_parse(&s, &n, v0, sizeof v0, "f", e) ? NULL : s;
}

TEST(every_allocation_may_fail)
{
    ck_assert_int_eq(alloc_each_fails(make, free, NULL), 1);
}

SUITE(abr_manifests_sidx, both_versions, refusals, every_allocation_may_fail);
