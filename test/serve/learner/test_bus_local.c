#include "serve/learner/bus_local.h"

#include "support/suites.h"

#include <check.h>
#include <pthread.h>

static struct traj sent;

START_TEST(what_is_sent_arrives_in_order)
{
    struct bus b;
    ck_assert_int_eq(bus_local_init(&b, 4, NULL), 0);
    static struct traj got;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            sent.key = (uint64_t)i;
            sent.n = i + 1;
            sent.truncated = i == 2;
            for (int k = 0; k < traj_states(&sent); k++)
                sent.step[k].chunk = 10 * i + k;
            ck_assert(b.send(b.self, &sent));
        }
        for (int i = 0; i < 3; i++) {
            ck_assert(b.receive(b.self, &got, 0));
            ck_assert_uint_eq(got.key, (uint64_t)i);
            ck_assert_int_eq(got.n, i + 1);
            ck_assert_int_eq(got.step[traj_states(&got) - 1].chunk,
                             10 * i + traj_states(&got) - 1);
        }
        ck_assert(!b.receive(b.self, &got, 0));
    }
    b.free(b.self);
}
END_TEST

START_TEST(a_full_bus_drops_and_counts)
{
    struct bus b;
    ck_assert_int_eq(bus_local_init(&b, 2, NULL), 0);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(b.send(b.self, &sent), i < 2);
    struct bus_stats stats;
    b.stats(b.self, &stats);
    ck_assert_uint_eq(stats.sent, 2);
    ck_assert_uint_eq(stats.dropped, 3);
    ck_assert_uint_eq(stats.queued, 2);
    b.free(b.self);
}
END_TEST

static void *wait_long(void *ctx)
{
    struct bus *b = ctx;
    static struct traj got;
    return b->receive(b->self, &got, 3600) ? b : NULL;
}

START_TEST(a_waiting_receiver_is_woken)
{
    struct bus b;
    ck_assert_int_eq(bus_local_init(&b, 2, NULL), 0);
    pthread_t t;
    void *got;
    ck_assert_int_eq(pthread_create(&t, NULL, wait_long, &b), 0);
    ck_assert(b.send(b.self, &sent));
    pthread_join(t, &got);
    ck_assert_ptr_nonnull(got);
    ck_assert_int_eq(pthread_create(&t, NULL, wait_long, &b), 0);
    b.wake(b.self);
    pthread_join(t, &got);
    ck_assert_ptr_null(got);
    b.free(b.self);
}
END_TEST

SUITE(serve_learner_bus_local, what_is_sent_arrives_in_order, a_full_bus_drops_and_counts,
      a_waiting_receiver_is_woken);
