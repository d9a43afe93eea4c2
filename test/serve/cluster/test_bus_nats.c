#include "serve/cluster/bus_nats.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/cluster/bus_wire.h"
#include "support/nats.h"
#include "support/suites.h"
#include "support/tmpdir.h"
#include "support/trajs.h"

enum { SLOTS = 1000 };

static struct nats server;
static struct bus_nats_cfg cfg;
static struct traj t, got;

static void setup(void)
{
    nats_begin(&server);
    cfg = (struct bus_nats_cfg){.url = server.url,
                                .name = "abrd",
                                .who = "test",
                                .replicas = 1,
                                .stream_bytes = 64 << 20};
    trajs_make(&t, 1, 6, 20, true);
}

static void teardown(void)
{
    nats_end(&server);
}

static struct bus_nats *join(void)
{
    struct err e = {0};
    struct bus_nats *n = bus_nats_new(&cfg, &e);
    ck_assert_msg(n != NULL, "%s", e.detail);
    return n;
}

/* A node: its outbox and its end of the stream. */
struct sending {
    struct bus_nats *n;
    struct outbox *o;
    struct bus bus;
};

static void send_begin(struct sending *s, uint64_t maker, int slots)
{
    s->n = join();
    s->o = outbox_new(slots, maker, false, NULL);
    ck_assert_int_eq(bus_nats_sender(&s->bus, s->n, s->o, NULL), 0);
}

static void send_end(struct sending *s)
{
    s->bus.free(s->bus.self);
    bus_nats_free(s->n);
    outbox_free(s->o);
}

static struct outbox_stats sent(struct sending *s)
{
    struct outbox_stats o;
    outbox_stats(s->o, &o);
    return o;
}

/* So many times did the stream acknowledge one. */
static void acked(struct sending *s, uint64_t many)
{
    double until = clock_mono() + PATIENCE_S;
    while (sent(s).acked < many) {
        ck_assert_msg(clock_mono() < until, "%llu of %llu",
                      (unsigned long long)sent(s).acked, (unsigned long long)many);
        usleep(1000);
    }
}

static struct cluster_stats stats(struct bus_nats *n)
{
    struct cluster_stats s;
    bus_nats_stats(&s, n);
    return s;
}

/* Until n have come. */
static void receive(struct bus *b, int n)
{
    double until = clock_mono() + PATIENCE_S;
    while (n > 0) {
        n -= b->receive(b->self, &got, .05);
        ck_assert_msg(clock_mono() < until, "%d are missing", n);
    }
    ck_assert(!b->receive(b->self, &got, .05));
}

TEST(what_nodes_send_the_learner_gets_once)
{
    struct sending a, b;
    send_begin(&a, 1, SLOTS);
    send_begin(&b, 2, SLOTS);
    for (int i = 0; i < 400; i++) {
        ck_assert(a.bus.send(a.bus.self, &t));
        ck_assert(b.bus.send(b.bus.self, &t));
    }
    acked(&a, 400);
    acked(&b, 400);

    struct bus_nats *n = join();
    struct dedup *l = dedup_new(NULL);
    struct bus in;
    ck_assert_int_eq(bus_nats_receiver(&in, n, l, VIEW_LEVELS, NULL), 0);
    receive(&in, 800);
    ck_assert(trajs_equal(&t, &got));
    ck_assert_uint_eq(dedup_position(l), 800);

    /* a learner that has an older dedup gets the rest again, a trimmed stream begins later */
    dedup_clear(l);
    bus_nats_rewind(&in);
    receive(&in, 800);
    bus_nats_trim(n, 700);
    dedup_clear(l);
    bus_nats_rewind(&in);
    receive(&in, 100);
    ck_assert_uint_eq(stats(n).skipped, 0);
    ck_assert_uint_eq(stats(n).damaged, 0);

    /* what is gone from the middle of what was to be read is told */
    dedup_clear(l);
    dedup_advance(l, 500);
    bus_nats_rewind(&in);
    receive(&in, 100);
    ck_assert_uint_eq(stats(n).skipped, 200);

    /* a node that is not sure sends again: another number of the stream, the same trajectory */
    struct sending twice;
    send_begin(&twice, 3, SLOTS);
    twice.bus.send(twice.bus.self, &t);
    acked(&twice, 1);
    send_end(&twice);
    send_begin(&twice, 3, SLOTS);
    twice.bus.send(twice.bus.self, &t);
    acked(&twice, 1);
    ck_assert_uint_eq(stats(twice.n).repeated, 1); /* the server noticed */
    receive(&in, 1);

    in.free(in.self);
    dedup_free(l);
    bus_nats_free(n);
    send_end(&twice);
    send_end(&a);
    send_end(&b);
}

/* As a learner publishes it and a node reads it. */
static void confirm(struct sending *s, uint64_t maker, const struct dedup *l)
{
    struct dedup_view v;
    size_t size = dedup_state_size(l);
    void *state = malloc(size);
    dedup_state_get(l, state);
    ck_assert_int_eq(dedup_view(&v, maker, state, size, NULL), 0);
    outbox_confirm(s->o, &v);
    free(state);
}

TEST(what_the_stream_has_lost_comes_after_all)
{
    struct sending s;
    send_begin(&s, 1, SLOTS);
    for (int i = 0; i < 300; i++)
        ck_assert(s.bus.send(s.bus.self, &t));
    acked(&s, 300);
    struct bus_nats *n = join();
    struct dedup *l = dedup_new(NULL);
    struct bus in;
    bus_nats_trim(n, 200); /* nobody has read them */
    ck_assert_int_eq(bus_nats_receiver(&in, n, l, VIEW_LEVELS, NULL), 0);
    receive(&in, 100);
    ck_assert_int_eq(sent(&s).unconfirmed, 300);

    confirm(&s, 1, l);
    receive(&in, 200);
    acked(&s, 500);
    ck_assert_uint_eq(sent(&s).resent, 200);
    ck_assert_uint_eq(stats(s.n).repeated, 0); /* the server did not know these ids */
    confirm(&s, 1, l);
    ck_assert_uint_eq(outbox_delivered(s.o), 300);
    struct dedup_stats ls;
    dedup_stats(&ls, l);
    ck_assert_uint_eq(ls.counted, 300);
    ck_assert_uint_eq(ls.repeated + ls.missing, 0);
    in.free(in.self);
    dedup_free(l);
    bus_nats_free(n);
    send_end(&s);
}

TEST(a_server_that_is_away_costs_nothing_but_time)
{
    nats_kill(&server);
    struct sending s;
    send_begin(&s, 1, 100);
    struct bucket bucket = bus_nats_bucket(s.n);
    struct err e = {0};
    void *out;
    size_t size;
    uint64_t rev;
    ck_assert_int_eq(bucket.get(bucket.self, "weights", &out, &size, &rev, &e), ERR_IO);
    ck_assert_str_eq(e.detail, "no NATS server is connected");
    for (int i = 0; i < 150; i++)
        ck_assert_int_eq(s.bus.send(s.bus.self, &t), i < 100);
    struct bus_stats b;
    s.bus.stats(s.bus.self, &b);
    ck_assert_uint_eq(b.dropped, 50);
    ck_assert_uint_eq(b.queued, 100);
    ck_assert(!stats(s.n).connected);

    nats_again(&server);
    acked(&s, 100);
    ck_assert(stats(s.n).connected);

    /* and again while it sends */
    nats_kill(&server);
    for (int i = 0; i < 60; i++)
        ck_assert(s.bus.send(s.bus.self, &t));
    nats_again(&server);
    acked(&s, 160);

    struct bus_nats *n = join();
    struct dedup *l = dedup_new(NULL);
    struct bus in;
    ck_assert_int_eq(bus_nats_receiver(&in, n, l, VIEW_LEVELS, NULL), 0);
    receive(&in, 160);
    struct dedup_stats ls;
    dedup_stats(&ls, l);
    ck_assert_uint_eq(ls.counted, 160);
    ck_assert_uint_eq(ls.missing, 0);
    in.free(in.self);
    dedup_free(l);
    bus_nats_free(n);
    send_end(&s);
}

TEST(a_full_stream_refuses_and_nothing_is_lost)
{
    cfg.stream_bytes = 64 << 10; /* some thirty trajectories */
    struct sending s;
    send_begin(&s, 1, SLOTS);
    for (int i = 0; i < 100; i++)
        ck_assert(s.bus.send(s.bus.self, &t));
    double until = clock_mono() + PATIENCE_S;
    while (!stats(s.n).full && clock_mono() < until)
        usleep(1000);
    ck_assert_uint_gt(stats(s.n).full, 0);
    ck_assert_uint_lt(sent(&s).acked, 100);
    ck_assert_str_ne(stats(s.n).trouble, "");

    /* the learner makes room */
    struct bus_nats *n = join();
    struct dedup *l = dedup_new(NULL);
    struct bus in;
    ck_assert_int_eq(bus_nats_receiver(&in, n, l, VIEW_LEVELS, NULL), 0);
    int count = 0;
    until = clock_mono() + PATIENCE_S;
    while (count < 100 && clock_mono() < until) {
        while (in.receive(in.self, &got, .05))
            count++;
        bus_nats_trim(n, dedup_position(l));
    }
    ck_assert_int_eq(count, 100);
    acked(&s, 100);
    in.free(in.self);
    dedup_free(l);
    bus_nats_free(n);
    send_end(&s);
}

TEST(who_was_slower_may_not_write)
{
    struct bus_nats *m = join(), *n = join();
    struct bucket a = bus_nats_bucket(m), b = bus_nats_bucket(n);
    void *out;
    size_t size;
    uint64_t rev = 9, rev_a, rev_b;
    struct err e = {0};
    ck_assert_int_eq(a.get(a.self, "beat", &out, &size, &rev, &e), 0);
    ck_assert_ptr_null(out);
    ck_assert_uint_eq(rev, 0);
    ck_assert_int_eq(a.put(a.self, "beat", "one", 3, 0, &rev_a, &e), 0);
    ck_assert_int_eq(b.put(b.self, "beat", "two", 3, 0, &rev_b, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.detail, "beat was changed by another node");
    ck_assert_int_eq(b.put(b.self, "beat", "two", 3, rev_a, &rev_b, NULL), 0);
    ck_assert_uint_gt(rev_b, rev_a);
    ck_assert_int_eq(a.put(a.self, "beat", "three", 5, rev_a, &rev, NULL), ERR_CONFLICT);
    ck_assert_int_eq(a.get(a.self, "beat", &out, &size, &rev, NULL), 0);
    ck_assert_uint_eq(size, 3);
    ck_assert_mem_eq(out, "two", 3);
    ck_assert_uint_eq(rev, rev_b);
    free(out);
    ck_assert_int_eq(a.set(a.self, "beat", NULL, 0, NULL), 0);
    ck_assert_int_eq(b.get(b.self, "beat", &out, &size, &rev, NULL), 0);
    ck_assert_ptr_null(out);
    bus_nats_free(m);
    bus_nats_free(n);
}

static void *wait_for_a_call(void *ctx)
{
    struct bucket *b = ctx;
    double from = clock_mono();
    b->wait(b->self, 20);
    return clock_mono() - from < 19 ? ctx : NULL;
}

/* Until it is on the bucket. */
static void set(struct bucket *b, const char *key)
{
    double until = clock_mono() + PATIENCE_S;
    while (b->set(b->self, key, "x", 1, NULL)) {
        ck_assert_double_lt(clock_mono(), until);
        usleep(1000);
    }
}

TEST(a_server_without_its_store_is_furnished_again)
{
    struct bus_nats *n = join();
    struct bucket b = bus_nats_bucket(n);
    char store[300];
    set(&b, "key");
    nats_kill(&server);
    snprintf(store, sizeof store, "%s/js", server.dir);
    tmpdir_remove(store);
    nats_again(&server);
    set(&b, "key");
    struct sending s;
    send_begin(&s, 1, SLOTS);
    ck_assert(s.bus.send(s.bus.self, &t));
    acked(&s, 1);
    send_end(&s);
    bus_nats_free(n);
}

TEST(what_is_too_large_for_a_message_is_told)
{
    struct bus_nats *n = join();
    struct bucket b = bus_nats_bucket(n);
    size_t size = 1 << 20;
    void *large = calloc(1, size);
    uint64_t rev;
    struct err e = {0};
    set(&b, "key");
    ck_assert_int_eq(b.put(b.self, "weights", large, size, 0, &rev, &e), ERR_RANGE);
    ck_assert_str_eq(e.detail,
                     "weights: 1048576 bytes, and the NATS servers take no more "
                     "than 1047552 at once: raise max_payload in their "
                     "configuration");
    ck_assert_int_eq(b.set(b.self, "state", large, size, NULL), ERR_RANGE);
    ck_assert_int_eq(b.set(b.self, "state", large, size - 2000, NULL), 0);
    free(large);
    bus_nats_free(n);
}

TEST(who_waits_hears_a_call)
{
    struct bus_nats *m = join(), *n = join();
    struct bucket a = bus_nats_bucket(m), b = bus_nats_bucket(n);
    void *out, *heard;
    size_t size;
    uint64_t rev;
    ck_assert_int_eq(a.get(a.self, "x", &out, &size, &rev, NULL), 0);
    ck_assert_int_eq(b.get(b.self, "x", &out, &size, &rev, NULL), 0);
    b.wait(b.self, 0); /* that it was connected */
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_a_call, &b), 0);
    a.call(a.self);
    pthread_join(thread, &heard);
    ck_assert_ptr_nonnull(heard);
    bus_nats_free(m);
    bus_nats_free(n);
}

TEST(a_url_that_is_none_is_told)
{
    struct err e = {0};
    cfg.url = "";
    ck_assert_ptr_null(bus_nats_new(&cfg, &e));
    ck_assert_int_eq(e.code, ERR_INVALID);
    ck_assert_str_eq(e.field, "bus");
}

SUITE_SET_UP(serve_cluster_bus_nats, 60, setup, teardown,
             what_nodes_send_the_learner_gets_once,
             what_the_stream_has_lost_comes_after_all,
             a_server_that_is_away_costs_nothing_but_time,
             a_full_stream_refuses_and_nothing_is_lost, who_was_slower_may_not_write,
             a_server_without_its_store_is_furnished_again,
             what_is_too_large_for_a_message_is_told, who_waits_hears_a_call,
             a_url_that_is_none_is_told);
