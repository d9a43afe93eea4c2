#include "serve/cluster/slot_log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "serve/cluster/envelope.h"
#include "support/suites.h"

enum { EXPERTS = 3 };

static struct slot_log l, got;
static const struct slot_tasks builtin = {2, {"pensieve", "live"}};
static const struct slot_tasks here = {3, {"pensieve", "live", "sport"}};
static const struct slot_tasks there = {3, {"pensieve", "sport", "live"}};

static void setup(void)
{
    slot_log_begin(&l, 77, 0xabc, EXPERTS);
}

static struct slot_record record(uint64_t maker, uint64_t number)
{
    return (struct slot_record){.maker = maker,
                                .number = number,
                                .x = {.5f, .25f, .25f},
                                .psi = {.5f, .3f, .2f},
                                .reward = {.9f, -.5f, .1f},
                                .trust = {1, .5f, .25f}};
}

static void add(uint64_t maker, uint64_t number)
{
    struct slot_record r = record(maker, number);
    slot_log_add(&l, &r, &builtin);
}

static void *encode(size_t *n)
{
    void *bytes;
    struct err e = {0};
    ck_assert_msg(shared_value_encode(&bytes, n, &slot_log_kind, &l, &e) == 0, "%s",
                  e.detail);
    return bytes;
}

/* A place without a name is no task: neither in the log nor for who reads. */
TEST(a_place_that_is_free_is_no_task)
{
    static const struct slot_tasks holes = {3, {"pensieve", "", "sport"}};
    struct slot_record r = record(5, 9), read;
    slot_log_add(&l, &r, &holes);
    ck_assert_int_eq(l.tasks.n, 2);
    size_t n;
    void *bytes = encode(&n);
    ck_assert_int_eq(shared_value_decode(&got, &slot_log_kind, bytes, n, NULL), 0);
    free(bytes);
    slot_log_read(&read, &got, 0, &holes);
    ck_assert_float_eq(read.psi[0], .5f);
    ck_assert_float_eq(read.psi[1], 0);
    ck_assert_float_eq(read.psi[2], .2f);
}

TEST(what_was_added_is_read)
{
    char key[SLOT_LOG_KEY];
    slot_log_key(key, 0xabc);
    ck_assert_str_eq(key, "slots.00000abc");
    struct slot_record r = record(5, 9), read;
    slot_log_add(&l, &r, &here);
    ck_assert_uint_eq(l.count, 1);
    ck_assert(slot_log_has(&l, 5, 9) && slot_log_has(&l, 5, 8));
    ck_assert(!slot_log_has(&l, 5, 10) && !slot_log_has(&l, 6, 1));

    size_t n;
    void *bytes = encode(&n);
    ck_assert_int_eq(shared_value_decode(&got, &slot_log_kind, bytes, n, NULL), 0);
    free(bytes);
    ck_assert_mem_eq(&got, &l, sizeof l);
    /* another node knows the profiles in another order, a third has never heard of one */
    slot_log_read(&read, &got, 0, &there);
    ck_assert_float_eq(read.reward[1], .1f);
    ck_assert_float_eq(read.reward[2], -.5f);
    ck_assert_float_eq(read.trust[2], .5f);
    ck_assert_float_eq(read.psi[1], .2f);
    slot_log_read(&read, &got, 0, &builtin);
    ck_assert_float_eq(read.trust[1], .5f);
    ck_assert_float_eq(read.trust[2], 0);
    ck_assert_mem_eq(read.x, r.x, sizeof r.x);
}

TEST(tasks_have_their_place_for_good)
{
    struct slot_record r = record(1, 1), read;
    slot_log_add(&l, &r, &here);
    r = record(2, 1);
    slot_log_add(&l, &r, &there);
    ck_assert_int_eq(l.tasks.n, 3);
    slot_log_read(&read, &l, 1, &there);
    ck_assert_mem_eq(read.reward, r.reward, sizeof r.reward);
    /* more than there is room for */
    struct slot_tasks many = {.n = PROFILE_MIX_TASKS};
    for (int v = 0; v < PROFILE_MIX_TASKS; v++) {
        many.name[v][0] = (char)('a' + v);
        r.reward[v] = .1f * (float)v;
    }
    slot_log_add(&l, &r, &many);
    ck_assert_int_eq(l.tasks.n, PROFILE_MIX_TASKS);
    slot_log_read(&read, &l, 2, &many);
    ck_assert_float_eq(read.reward[4], r.reward[4]);
    ck_assert_float_eq(read.reward[5], 0); /* left out */
}

TEST(it_holds_the_newest)
{
    for (uint64_t i = 1; i <= SLOT_LOG_RECORDS + 10; i++)
        add(i % 2, i);
    ck_assert_int_eq(l.n, SLOT_LOG_RECORDS);
    ck_assert_uint_eq(l.count, SLOT_LOG_RECORDS + 10);
    ck_assert_uint_eq(l.record[0].number, 11);
    ck_assert_int_eq(l.makers, 2);
    ck_assert(slot_log_has(&l, 0, 2)); /* also of those that are gone */

    /* who was silent longest is forgotten */
    for (uint64_t m = 2; m < SLOT_LOG_MAKERS; m++)
        add(100 + m, 1);
    add(0, 900);
    add(100, 1);
    ck_assert_int_eq(l.makers, SLOT_LOG_MAKERS);
    ck_assert(slot_log_has(&l, 0, 900) && slot_log_has(&l, 100, 1));
    ck_assert(!slot_log_has(&l, 1, 1));
    ck_assert(slot_log_has(&l, 102, 1));
}

TEST(its_size_has_a_bound)
{
    struct slot_tasks all = {.n = PROFILE_MIX_TASKS};
    for (int v = 0; v < PROFILE_MIX_TASKS; v++)
        all.name[v][0] = (char)('a' + v);
    slot_log_begin(&l, 1, 1, HINTLESS_EXPERTS);
    for (uint64_t i = 1; i <= SLOT_LOG_RECORDS; i++) {
        struct slot_record r = record(i, 1);
        slot_log_add(&l, &r, &all);
    }
    size_t n;
    free(encode(&n));
    ck_assert_uint_le(n, 96 << 10);
}

/* At this place of the body there is something else; the checksum fits. */
static int with(size_t at, uint32_t value)
{
    size_t n;
    unsigned char *bytes = encode(&n);
    bytes_put_u32(bytes + ENVELOPE_HEAD + at, value);
    envelope_seal(bytes, ENVELOPE_SLOTS, 1, n - ENVELOPE_HEAD);
    int rc = shared_value_decode(&got, &slot_log_kind, bytes, n, NULL);
    ck_assert(rc == 0 || got.n == 0);
    free(bytes);
    return rc;
}

TEST(nothing_that_was_read_is_trusted)
{
    add(5, 1);
    size_t n;
    unsigned char *bytes = encode(&n);
    struct err e = {0};
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_lt(shared_value_decode(&got, &slot_log_kind, bytes, cut, NULL), 0);
    for (size_t at = ENVELOPE_HEAD; at < n; at++) {
        bytes[at] ^= 1;
        ck_assert_int_eq(shared_value_decode(&got, &slot_log_kind, bytes, n, NULL),
                         ERR_CORRUPT);
        bytes[at] ^= 1;
    }
    envelope_seal(bytes, ENVELOPE_SLOTS, 2, n - ENVELOPE_HEAD);
    ck_assert_int_eq(shared_value_decode(&got, &slot_log_kind, bytes, n, &e), ERR_RANGE);
    free(bytes);

    /* id, count, crc, experts, tasks, names, makers, maker, records, then the record */
    size_t names = 36, makers = names + 2 * HINTLESS_NAME, records = makers + 8 + 16;
    size_t x = records + 8 + 16, psi = x + 4 * EXPERTS;
    union {
        float f;
        uint32_t u;
    } huge = {2}, nan = {NAN}, below = {-.5f};
    ck_assert_int_eq(with(0, 1), 0);
    ck_assert_int_eq(with(8, 0), ERR_CORRUPT);  /* fewer than it holds */
    ck_assert_int_eq(with(20, 1), ERR_CORRUPT); /* one expert */
    ck_assert_int_eq(with(28, PROFILE_MIX_TASKS + 1), ERR_CORRUPT);
    ck_assert_int_eq(with(names, 0x20202020), ERR_CORRUPT); /* no name */
    ck_assert_int_eq(with(makers, SLOT_LOG_MAKERS + 1), ERR_CORRUPT);
    ck_assert_int_eq(with(records, SLOT_LOG_RECORDS + 1), ERR_CORRUPT);
    ck_assert_int_eq(with(records + 16, 0), ERR_CORRUPT); /* slot 0 */
    ck_assert_int_eq(with(x, below.u), ERR_CORRUPT);
    ck_assert_int_eq(with(x, huge.u), ERR_CORRUPT);
    ck_assert_int_eq(with(psi, nan.u), ERR_CORRUPT);
    ck_assert_int_eq(with(psi + 4, huge.u), ERR_CORRUPT);  /* a reward */
    ck_assert_int_eq(with(psi + 8, below.u), ERR_CORRUPT); /* trust */

    /* nor what is to be written */
    l.record[0].reward[0] = NAN;
    void *out;
    ck_assert_int_eq(shared_value_encode(&out, &n, &slot_log_kind, &l, NULL),
                     ERR_CORRUPT);
    ck_assert_ptr_null(out);
}

SUITE_SET_UP(serve_cluster_slot_log, 0, setup, NULL, a_place_that_is_free_is_no_task,
             what_was_added_is_read, tasks_have_their_place_for_good, it_holds_the_newest,
             its_size_has_a_bound, nothing_that_was_read_is_trusted);
