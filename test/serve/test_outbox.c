#include "serve/outbox.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

#include "serve/bus_wire.h"
#include "serve/ledger.h"
#include "support/trajs.h"

enum { SLOTS = 600 };

static struct outbox *o;
static struct traj t;
static struct bus_parcel p;

static void setup(void)
{
    trajs_make(&t, 1, 3, 2, false);
}

static void teardown(void)
{
    outbox_free(o);
    o = NULL;
}

static void make(bool stored)
{
    o = outbox_new(SLOTS, 7, stored, NULL);
    ck_assert_ptr_nonnull(o);
}

static struct outbox_stats stats(void)
{
    struct outbox_stats s;
    outbox_stats(o, &s);
    return s;
}

static void put(int n)
{
    for (int i = 0; i < n; i++)
        ck_assert(outbox_put(o, &t, &p));
}

static uint64_t next(void)
{
    return outbox_next(o, &p, 0) ? p.number : 0;
}

START_TEST(numbers_count_up_and_name_the_maker)
{
    make(false);
    put(3);
    for (uint64_t n = 1; n <= 3; n++) {
        static struct traj got;
        struct bus_wire_id id;
        ck_assert_uint_eq(next(), n);
        ck_assert_int_eq(bus_wire_get_traj(&got, &id, p.bytes, p.n, NULL), 0);
        ck_assert_uint_eq(id.maker, 7);
        ck_assert_uint_eq(id.number, n);
        ck_assert(trajs_equal(&t, &got));
    }
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(outbox_delivered(o), 0);
    outbox_acked(o, 2);
    ck_assert_uint_eq(outbox_delivered(o), 0);
    outbox_acked(o, 1);
    outbox_acked(o, 1);
    outbox_acked(o, 99);
    ck_assert_uint_eq(outbox_delivered(o), 2);
    ck_assert_int_eq(stats().waiting, 1);
    ck_assert_int_eq(stats().under_way, 1);
    ck_assert_uint_eq(stats().acked, 2);
}
END_TEST

START_TEST(nothing_is_sent_before_it_is_stored)
{
    make(true);
    put(2);
    ck_assert_uint_eq(next(), 0);
    outbox_stored(o, 2);
    ck_assert_uint_eq(next(), 2);
    outbox_stored(o, 1);
    outbox_stored(o, 1);
    ck_assert_uint_eq(next(), 1);
}
END_TEST

START_TEST(at_most_a_window_is_under_way)
{
    make(false);
    put(LEDGER_WINDOW + 5);
    for (uint64_t n = 1; n <= LEDGER_WINDOW; n++)
        ck_assert_uint_eq(next(), n);
    ck_assert_uint_eq(next(), 0);
    outbox_acked(o, 2); /* the window begins with the first that is not acknowledged */
    ck_assert_uint_eq(next(), 0);
    outbox_acked(o, 1);
    ck_assert_uint_eq(next(), LEDGER_WINDOW + 1);
    ck_assert_uint_eq(next(), LEDGER_WINDOW + 2);
    ck_assert_uint_eq(next(), 0);
}
END_TEST

START_TEST(what_was_refused_or_lost_is_sent_again)
{
    make(false);
    put(4);
    for (int i = 0; i < 4; i++)
        next();
    outbox_refused(o, 3);
    ck_assert_uint_eq(next(), 3);
    outbox_acked(o, 2);
    outbox_again(o);
    ck_assert_uint_eq(next(), 1);
    ck_assert_uint_eq(next(), 3);
    ck_assert_uint_eq(next(), 4);
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(stats().refused, 1);
    ck_assert_int_eq(stats().under_way, 3);
}
END_TEST

START_TEST(what_is_said_to_be_known_is_sent_under_another_id)
{
    make(false);
    put(2);
    ck_assert_uint_eq(next(), 1);
    ck_assert_int_eq(p.doubted, 0);
    outbox_doubted(o, 1);
    ck_assert_uint_eq(outbox_delivered(o), 0);
    ck_assert_uint_eq(next(), 1);
    ck_assert_int_eq(p.doubted, 1);
    outbox_acked(o, 1);
    ck_assert_uint_eq(outbox_delivered(o), 1);
    ck_assert_uint_eq(next(), 2);
    ck_assert_int_eq(p.doubted, 0);
}
END_TEST

START_TEST(a_full_outbox_drops_and_counts)
{
    make(false);
    put(SLOTS);
    ck_assert(!outbox_put(o, &t, &p));
    ck_assert(!outbox_put(o, &t, &p));
    ck_assert_uint_eq(stats().dropped, 2);
    ck_assert_uint_eq(next(), 1);
    outbox_acked(o, 1);
    ck_assert(outbox_put(o, &t, &p));
    ck_assert_uint_eq(p.number, SLOTS + 1);
}
END_TEST

START_TEST(a_start_goes_on_where_the_store_was)
{
    unsigned char kept[3][BUS_WIRE_TRAJ_MAX];
    size_t n[3];
    make(true);
    put(3);
    for (uint64_t i = 0; i < 3; i++)
        n[i] = bus_wire_put_traj(kept[i], &t, (struct bus_wire_id){7, i + 1});
    outbox_free(o);

    make(true); /* 1 was acknowledged and its row is gone, that of 3 was never written */
    ck_assert_int_eq(
        outbox_restore(o, &(struct bus_parcel){.number = 2, .bytes = kept[1], .n = n[1]},
                       NULL),
        0);
    ck_assert_int_eq(
        outbox_restore(o, &(struct bus_parcel){.number = 4, .bytes = kept[2], .n = n[2]},
                       NULL),
        0);
    ck_assert_int_eq(
        outbox_restore(o, &(struct bus_parcel){.number = 4, .bytes = kept[2], .n = n[2]},
                       NULL),
        ERR_CORRUPT);
    ck_assert_uint_eq(next(), 2);
    ck_assert_mem_eq(p.bytes, kept[1], n[1]);
    ck_assert_uint_eq(next(), 4);
    outbox_acked(o, 2);
    ck_assert_uint_eq(outbox_delivered(o), 3);
    put(1);
    ck_assert_uint_eq(p.number, 5);
    outbox_free(o);

    make(true); /* all was acknowledged: the last row is left, empty */
    ck_assert_int_eq(outbox_restore(o, &(struct bus_parcel){.number = 9}, NULL), 0);
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(outbox_delivered(o), 9);
    put(1);
    ck_assert_uint_eq(p.number, 10);
}
END_TEST

static void *wait_long(void *ctx)
{
    return outbox_next(ctx, &p, 3600) ? ctx : NULL;
}

START_TEST(who_waits_is_woken)
{
    make(true);
    pthread_t thread;
    void *got;
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_long, o), 0);
    struct bus_parcel kept;
    ck_assert(outbox_put(o, &t, &kept));
    outbox_stored(o, 1);
    pthread_join(thread, &got);
    ck_assert_ptr_nonnull(got);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_long, o), 0);
    outbox_wake(o);
    pthread_join(thread, &got);
    ck_assert_ptr_null(got);
}
END_TEST

Suite *suite_serve_outbox(void);
Suite *suite_serve_outbox(void)
{
    Suite *s = suite_create("serve/outbox");
    TCase *tc = tcase_create("serve/outbox");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, numbers_count_up_and_name_the_maker);
    tcase_add_test(tc, nothing_is_sent_before_it_is_stored);
    tcase_add_test(tc, at_most_a_window_is_under_way);
    tcase_add_test(tc, what_was_refused_or_lost_is_sent_again);
    tcase_add_test(tc, what_is_said_to_be_known_is_sent_under_another_id);
    tcase_add_test(tc, a_full_outbox_drops_and_counts);
    tcase_add_test(tc, a_start_goes_on_where_the_store_was);
    tcase_add_test(tc, who_waits_is_woken);
    suite_add_tcase(s, tc);
    return s;
}
