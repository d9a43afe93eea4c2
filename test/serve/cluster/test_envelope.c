#include "serve/cluster/envelope.h"

#include "support/suites.h"

#include <string.h>

TEST(what_was_sealed_opens)
{
    unsigned char p[ENVELOPE_HEAD + 5];
    memcpy(p + ENVELOPE_HEAD, "hello", 5);
    ck_assert_uint_eq(envelope_seal(p, ENVELOPE_STATE, 3, 5), sizeof p);
    /* as it is written down */
    static const unsigned char head[ENVELOPE_HEAD] = {
        'a', 'b', 'r', 'd', '-', 'b', 'u', 's', 5, 0, 3, 0, 0x86, 0xa6, 0x10, 0x36, 5};
    ck_assert_mem_eq(p, head, ENVELOPE_HEAD);
    const void *body;
    size_t n;
    int form;
    ck_assert_int_eq(
        envelope_open(&body, &n, &form, p, sizeof p, ENVELOPE_STATE, 4, NULL), 0);
    ck_assert_uint_eq(n, 5);
    ck_assert_int_eq(form, 3);
    ck_assert_mem_eq(body, "hello", 5);
    ck_assert_int_eq(
        envelope_open(&body, &n, &form, p, sizeof p, ENVELOPE_STATE, 2, NULL), ERR_RANGE);
    ck_assert_int_eq(
        envelope_open(&body, &n, &form, p, sizeof p, ENVELOPE_HEARTBEAT, 4, NULL),
        ERR_INVALID);
    ck_assert_int_eq(
        envelope_open(&body, &n, &form, p, sizeof p - 1, ENVELOPE_STATE, 4, NULL),
        ERR_CORRUPT);
    p[ENVELOPE_HEAD] ^= 1;
    ck_assert_int_eq(
        envelope_open(&body, &n, &form, p, sizeof p, ENVELOPE_STATE, 4, NULL),
        ERR_CORRUPT);
    ck_assert_int_eq(envelope_open(&body, &n, &form, "short", 5, ENVELOPE_STATE, 4, NULL),
                     ERR_INVALID);
}

SUITE(serve_cluster_envelope, what_was_sealed_opens);
