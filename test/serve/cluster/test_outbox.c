#include "serve/cluster/outbox.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "serve/cluster/bus_wire.h"
#include "support/suites.h"
#include "support/trajs.h"

enum { SLOTS = 600 };

static struct outbox *o;
static struct traj t;
static struct bus_envelope p;

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

/* Published up to this place of the stream: all numbers up to n, but `without`. */
static void confirm(uint64_t place, uint64_t n, uint64_t without)
{
    struct dedup_view v = {.position = place, .low = n, .highest = n};
    if (without) {
        v.low = without - 1;
        for (uint64_t i = without + 1; i <= n; i++)
            v.seen[i % DEDUP_WINDOW / 64] |= (uint64_t)1 << i % 64;
    }
    outbox_confirm(o, &v);
}

/* Sends all there is, and the stream acknowledges number n at place 100 + n. */
static void send_all(void)
{
    for (uint64_t n; (n = next());)
        outbox_acked(o, n, 100 + n);
}

TEST(numbers_count_up_and_name_the_maker)
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
    outbox_acked(o, 2, 100 + 2);
    ck_assert_uint_eq(outbox_delivered(o), 0);
    outbox_acked(o, 1, 100 + 1);
    outbox_acked(o, 1, 100 + 1);
    outbox_acked(o, 99, 100 + 99);
    ck_assert_uint_eq(outbox_delivered(o), 0); /* not confirmed */
    ck_assert_int_eq(stats().unconfirmed, 2);
    confirm(102, 2, 0);
    ck_assert_uint_eq(outbox_delivered(o), 2);
    ck_assert_int_eq(stats().unconfirmed, 0);
    ck_assert_int_eq(stats().waiting, 1);
    ck_assert_int_eq(stats().under_way, 1);
    ck_assert_uint_eq(stats().acked, 2);
}

TEST(nothing_is_sent_before_it_is_stored)
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

TEST(at_most_so_many_are_under_way)
{
    make(false);
    put(OUTBOX_UNDER_WAY + 5);
    for (uint64_t n = 1; n <= OUTBOX_UNDER_WAY; n++)
        ck_assert_uint_eq(next(), n);
    ck_assert_uint_eq(next(), 0);
    outbox_acked(o, 2, 102);
    ck_assert_uint_eq(next(), OUTBOX_UNDER_WAY + 1);
    ck_assert_uint_eq(next(), 0);
    outbox_acked(o, 1, 101);
    outbox_acked(o, 3, 103);
    ck_assert_uint_eq(next(), OUTBOX_UNDER_WAY + 2);
    ck_assert_uint_eq(next(), OUTBOX_UNDER_WAY + 3);
    ck_assert_uint_eq(next(), 0);
    ck_assert_int_eq(stats().under_way, OUTBOX_UNDER_WAY);
}

/* Else the learner could not tell repeats from news: what lies a window back is done with first. */
TEST(numbers_stay_within_the_dedups_window)
{
    o = outbox_new(2 * DEDUP_WINDOW, 7, false, NULL);
    ck_assert_ptr_nonnull(o);
    put(DEDUP_WINDOW + 2);
    ck_assert_uint_eq(next(), 1);
    for (uint64_t n = 2; n <= DEDUP_WINDOW; n++) {
        ck_assert_uint_eq(next(), n);
        outbox_acked(o, n, n);
    }
    ck_assert_uint_eq(next(), 0); /* the first one is not answered */
    outbox_acked(o, 1, 1);
    ck_assert_uint_eq(next(), DEDUP_WINDOW + 1);
    ck_assert_uint_eq(next(), DEDUP_WINDOW + 2);
    ck_assert_uint_eq(stats().released, 2);
    ck_assert_uint_eq(outbox_delivered(o), 2);
}

TEST(what_was_refused_or_lost_is_sent_again)
{
    make(false);
    put(4);
    for (int i = 0; i < 4; i++)
        next();
    outbox_refused(o, 3);
    ck_assert_uint_eq(next(), 3);
    outbox_acked(o, 2, 100 + 2);
    outbox_again(o);
    ck_assert_uint_eq(next(), 1);
    ck_assert_uint_eq(next(), 3);
    ck_assert_uint_eq(next(), 4);
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(stats().refused, 1);
    ck_assert_int_eq(stats().under_way, 3);
    ck_assert_int_eq(stats().waiting, 3);
}

TEST(what_is_said_to_be_known_is_sent_under_another_id)
{
    make(false);
    put(2);
    ck_assert_uint_eq(next(), 1);
    ck_assert_int_eq(p.doubted, 0);
    outbox_doubted(o, 1);
    ck_assert_uint_eq(outbox_delivered(o), 0);
    ck_assert_uint_eq(next(), 1);
    ck_assert_int_eq(p.doubted, 1);
    outbox_acked(o, 1, 101);
    ck_assert_int_eq(stats().unconfirmed, 1);
    ck_assert_uint_eq(next(), 2);
    ck_assert_int_eq(p.doubted, 0);
}

TEST(what_the_stream_has_lost_is_sent_again)
{
    make(false);
    put(5);
    send_all();
    confirm(102, 2, 0); /* the learner has read no further */
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(outbox_delivered(o), 2);
    confirm(104, 4, 3); /* it has read past 3 and has not found it */
    ck_assert_uint_eq(outbox_delivered(o), 2);
    ck_assert_uint_eq(stats().resent, 1);
    ck_assert_uint_eq(next(), 3);
    ck_assert_int_eq(p.doubted, 1); /* the server would pass over the id that it knows */
    ck_assert_uint_eq(next(), 0);
    outbox_acked(o, 3, 106);
    confirm(105, 5, 3);
    ck_assert_uint_eq(next(), 0); /* not read yet */
    confirm(106, 5, 0);
    ck_assert_uint_eq(outbox_delivered(o), 5);
    ck_assert_uint_eq(stats().resent, 1);
    ck_assert_uint_eq(stats().released, 0);
    ck_assert_int_eq(stats().waiting + stats().unconfirmed, 0);
}

TEST(a_stream_that_was_made_anew_has_nothing)
{
    make(false);
    put(3);
    send_all();
    confirm(101, 1, 0);
    confirm(20, 2, 0); /* it is behind, and in the dedup 3 is not */
    ck_assert_uint_eq(next(), 3);
    outbox_acked(o, 3, 21);
    confirm(20, 2, 0);
    ck_assert_uint_eq(next(), 0);
    confirm(21, 3, 0);
    ck_assert_uint_eq(outbox_delivered(o), 3);
}

TEST(an_answer_may_come_after_the_dedup)
{
    make(false);
    put(2);
    ck_assert_uint_eq(next(), 1);
    confirm(101, 1, 0); /* counted, and the stream's answer is late */
    ck_assert_int_eq(stats().under_way, 1);
    outbox_acked(o, 1, 101);
    ck_assert_uint_eq(outbox_delivered(o), 1);
    ck_assert_uint_eq(next(), 2);
    outbox_again(o);
    confirm(102, 2, 0); /* it need not be sent again */
    ck_assert_uint_eq(next(), 0);
    outbox_acked(o, 2, 102);
    ck_assert_uint_eq(outbox_delivered(o), 2);
}

TEST(what_no_learner_can_read_is_let_go)
{
    make(false);
    put(1);
    for (uint64_t place = 101; place <= 101 + OUTBOX_TRIES; place++) {
        ck_assert_uint_eq(next(), 1);
        outbox_acked(o, 1, place);
        confirm(place, 0, 0);
    }
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(outbox_delivered(o), 1);
    ck_assert_uint_eq(stats().resent, OUTBOX_TRIES);
    ck_assert_uint_eq(stats().released, 1);
}

TEST(what_only_waits_to_be_confirmed_keeps_nobody_out)
{
    make(false);
    put(SLOTS);
    send_all();
    ck_assert_int_eq(stats().unconfirmed, SLOTS);
    put(3); /* the oldest three go */
    ck_assert_uint_eq(stats().released, 3);
    ck_assert_uint_eq(stats().dropped, 0);
    ck_assert_uint_eq(outbox_delivered(o), 3);
    ck_assert_int_eq(stats().unconfirmed, SLOTS - 3);
    confirm(100 + SLOTS, SLOTS, 4); /* the oldest is to be sent again: it is not let go */
    ck_assert(!outbox_put(o, &t, &p));
    ck_assert_uint_eq(stats().dropped, 1);
    ck_assert_uint_eq(next(), 4);
    outbox_acked(o, 4, 999);
    put(SLOTS - 3);
    ck_assert_uint_eq(stats().released, 4);
}

TEST(a_full_outbox_drops_and_counts)
{
    make(false);
    put(SLOTS);
    ck_assert(!outbox_put(o, &t, &p));
    ck_assert(!outbox_put(o, &t, &p));
    ck_assert_uint_eq(stats().dropped, 2);
    ck_assert_uint_eq(next(), 1);
    outbox_acked(o, 1, 101);
    ck_assert(outbox_put(o, &t, &p));
    ck_assert_uint_eq(p.number, SLOTS + 1);
    ck_assert_uint_eq(stats().released, 1);
}

TEST(a_start_goes_on_where_the_store_was)
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
        outbox_restore(
            o, &(struct bus_envelope){.number = 2, .bytes = kept[1], .n = n[1]}, NULL),
        0);
    ck_assert_int_eq(
        outbox_restore(
            o, &(struct bus_envelope){.number = 4, .bytes = kept[2], .n = n[2]}, NULL),
        0);
    ck_assert_int_eq(
        outbox_restore(
            o, &(struct bus_envelope){.number = 4, .bytes = kept[2], .n = n[2]}, NULL),
        ERR_CORRUPT);
    ck_assert_uint_eq(next(), 2);
    ck_assert_mem_eq(p.bytes, kept[1], n[1]);
    ck_assert_uint_eq(next(), 4);
    outbox_acked(o, 2, 102);
    ck_assert_uint_eq(outbox_delivered(o), 1);
    confirm(102, 2, 0);
    ck_assert_uint_eq(outbox_delivered(o), 3);
    put(1);
    ck_assert_uint_eq(p.number, 5);
    outbox_free(o);

    make(true); /* what was counted before the stop, and not heard of, need not be sent */
    for (uint64_t i = 0; i < 3; i++)
        ck_assert_int_eq(
            outbox_restore(
                o, &(struct bus_envelope){.number = i + 1, .bytes = kept[i], .n = n[i]},
                NULL),
            0);
    confirm(50, 2, 0);
    ck_assert_uint_eq(outbox_delivered(o), 2);
    ck_assert_uint_eq(next(), 3);
    outbox_free(o);

    make(true); /* all was confirmed: the last row is left, empty */
    ck_assert_int_eq(outbox_restore(o, &(struct bus_envelope){.number = 9}, NULL), 0);
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(outbox_delivered(o), 9);
    put(1);
    ck_assert_uint_eq(p.number, 10);
}

TEST(a_store_that_holds_more_than_the_slots_is_told)
{
    unsigned char kept[BUS_WIRE_TRAJ_MAX];
    size_t n = bus_wire_put_traj(kept, &t, (struct bus_wire_id){7, 1});
    struct err e = {0};
    int rc = 0;
    make(true);
    for (uint64_t i = 1; i <= SLOTS + 1; i++) {
        ck_assert_int_eq(rc, 0);
        rc = outbox_restore(o, &(struct bus_envelope){.number = i, .bytes = kept, .n = n},
                            &e);
    }
    ck_assert_int_eq(rc, ERR_RANGE);
    ck_assert_str_eq(e.field, "bus-buffer");
}

static void *wait_long(void *ctx)
{
    return outbox_next(ctx, &p, 3600) ? ctx : NULL;
}

TEST(who_waits_is_woken)
{
    make(true);
    pthread_t thread;
    void *got;
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_long, o), 0);
    struct bus_envelope kept;
    ck_assert(outbox_put(o, &t, &kept));
    outbox_stored(o, 1);
    pthread_join(thread, &got);
    ck_assert_ptr_nonnull(got);
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_long, o), 0);
    outbox_wake(o);
    pthread_join(thread, &got);
    ck_assert_ptr_null(got);
}

TEST(nothing_is_sent_before_the_bucket_was_read)
{
    make(false);
    outbox_hold(o);
    put(3);
    ck_assert_uint_eq(next(), 0);
    confirm(102, 2, 0);
    ck_assert_uint_eq(next(), 0); /* more of the bucket may follow */
    outbox_release(o);
    ck_assert_uint_eq(next(), 3);
    ck_assert_uint_eq(next(), 0);

    /* a connection later: what was under way, and is published now */
    put(1);
    outbox_hold(o);
    outbox_release(o);
    ck_assert_uint_eq(next(), 4);
    confirm(104, 4, 4);
    confirm(105, 4, 0);
    outbox_again(o);
    ck_assert_uint_eq(next(), 0);
    ck_assert_uint_eq(outbox_delivered(o), 4);
}

TEST(a_bucket_that_does_not_answer_holds_nobody_up_for_ever)
{
    make(false);
    put(1);
    outbox_hold(o);
    ck_assert_uint_eq(next(), 0);
    while (!next())
        usleep(1000);
    ck_assert_uint_eq(p.number, 1);
}

TEST(what_was_counted_is_not_sent_after_it_was_doubted_or_refused)
{
    make(false);
    put(3);
    while (next())
        ;
    confirm(102, 2, 0);
    outbox_doubted(o, 1);
    outbox_refused(o, 2);
    outbox_refused(o, 3);
    ck_assert_uint_eq(outbox_delivered(o), 2);
    ck_assert_uint_eq(next(), 3);
    ck_assert_uint_eq(next(), 0);
}

SUITE_SET_UP(serve_cluster_outbox, 0, setup, teardown,
             numbers_count_up_and_name_the_maker, nothing_is_sent_before_it_is_stored,
             at_most_so_many_are_under_way, numbers_stay_within_the_dedups_window,
             what_was_refused_or_lost_is_sent_again,
             what_is_said_to_be_known_is_sent_under_another_id,
             what_the_stream_has_lost_is_sent_again,
             a_stream_that_was_made_anew_has_nothing, an_answer_may_come_after_the_dedup,
             what_no_learner_can_read_is_let_go,
             what_only_waits_to_be_confirmed_keeps_nobody_out,
             a_full_outbox_drops_and_counts, a_start_goes_on_where_the_store_was,
             a_store_that_holds_more_than_the_slots_is_told, who_waits_is_woken,
             nothing_is_sent_before_the_bucket_was_read,
             a_bucket_that_does_not_answer_holds_nobody_up_for_ever,
             what_was_counted_is_not_sent_after_it_was_doubted_or_refused);
