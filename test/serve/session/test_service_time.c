/* The clock's work in a service: idle sessions end, old ones are deleted. */
#include "serve/session/service.h"

#include <check.h>
#include <string.h>

#include "support/served.h"
#include "support/suites.h"

static struct served f;

static void setup(void)
{
    served_begin(&f, true);
    f.cfg.explore_share = .5;
}

static void teardown(void)
{
    served_end(&f);
}

TEST(idle_sessions_are_truncated)
{
    f.cfg.learn = true;
    f.cfg.explore_share = 1;
    f.cfg.session_ttl_s = 60;
    served_start(&f);
    struct session_opened quiet = served_open(&f, 1, 48), lively = served_open(&f, 2, 48);
    struct question q = served_question(1, quiet.first.level);
    struct answer a;
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, quiet.session, &q, NULL), 0);
    f.now += 50;
    q = served_question(1, lively.first.level);
    ck_assert_int_eq(service_ask(&a, f.service, f.worker, lively.session, &q, NULL), 0);
    f.now += 11;
    service_tick(f.service);

    struct service_stats s;
    service_stats(&s, f.service);
    ck_assert_uint_eq(s.sessions_expired, 1);
    ck_assert_int_eq(s.sessions_live, 1);
    ck_assert_uint_eq(s.bus_queue, 1); /* its one complete step is used for training */
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, quiet.session, NULL), 0);
    ck_assert(h.closed && !h.terminal);
    service_history_free(&h);
}

/* Ends of sessions are rows too: they leave room in the store's queue for requests. */
TEST(many_idle_sessions_leave_room_in_the_queue)
{
    enum { N = 60 };
    f.cfg.session_ttl_s = 60;
    f.cfg.store_queue = 64;
    served_start(&f);
    for (uint64_t i = 0; i < N; i++) {
        (void)served_open(&f, i, 48);
        service_tick(f.service); /* flushes */
    }
    f.now += 61;
    struct service_stats s;
    for (uint64_t past = 0, turns = 0; past < N; past = s.sessions_expired) {
        service_periodic(f.service);
        service_stats(&s, f.service);
        ck_assert_uint_gt(s.sessions_expired, past);
        ck_assert_uint_le(s.store_queue, 64 / 4 + 5);
        struct session_opened o;
        struct session_open q = served_request(N + turns++, 48);
        ck_assert_int_eq(service_open(&o, f.service, f.worker, &q, NULL), 0);
        ck_assert_int_eq(service_commit(f.service, NULL), 0);
    }
}

/* The clock was set by five hours, on or back, between two runs: no session ends because of it, and
 * every idle session ends after half its ttl. */
TEST(a_clock_that_was_set_ends_no_sessions)
{
    f.cfg.session_ttl_s = 60;
    for (int way = -1; way <= 1; way += 2) {
        served_start(&f);
        struct session_opened o = served_open(&f, 10 + (uint64_t)way, 48);
        service_tick(f.service);
        served_kill(&f);
        f.now += way * 5 * 3600;
        served_start(&f);
        f.now += 29;
        service_tick(f.service);
        struct service_stats s;
        service_stats(&s, f.service);
        ck_assert_int_eq(s.sessions_live, 1);
        struct question q = served_question(1, o.first.level);
        struct answer a;
        ck_assert_int_eq(service_ask(&a, f.service, f.worker, o.session, &q, NULL), 0);
        f.now += 61;
        service_tick(f.service);
        service_stats(&s, f.service);
        ck_assert_int_eq(s.sessions_live, 0);
        served_kill(&f);
    }
    served_start(&f);
}

TEST(old_sessions_are_deleted)
{
    f.cfg.retention_s = 1000;
    served_start(&f);
    struct session_opened o = served_open(&f, 1, 48);
    ck_assert_int_eq(service_close(f.service, o.session, NULL, NULL), 0);
    f.now += 900;
    service_tick(f.service);
    struct history h;
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), 0);
    service_history_free(&h);
    f.now += 200;
    service_tick(f.service);
    ck_assert_int_eq(service_history(&h, f.service, o.session, NULL), ERR_ABSENT);

    /* more end in a minute than are deleted at once, and none of them stays */
    enum { MANY = 600 };
    static struct session_opened many[MANY];
    for (uint64_t i = 0; i < MANY; i++) {
        many[i] = served_open(&f, 2 + i, 48);
        ck_assert_int_eq(service_close(f.service, many[i].session, NULL, NULL), 0);
    }
    for (int i = 0; i < 10; i++) {
        f.now += i ? 2 : 1100;
        service_tick(f.service);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(service_history(&h, f.service, many[i].session, NULL),
                         ERR_ABSENT);
}

SUITE_SET_UP(serve_session_service_time, 60, setup, teardown, idle_sessions_are_truncated,
             many_idle_sessions_leave_room_in_the_queue,
             a_clock_that_was_set_ends_no_sessions, old_sessions_are_deleted);
