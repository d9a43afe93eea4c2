#include "serve/http/events.h"
#include "support/suites.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct events *ev;
static double now_s;
static char text[1 << 20];

static double fake_clock(void *ctx)
{
    (void)ctx;
    return now_s;
}

static void put_stats(void *ctx, struct emit *o)
{
    (void)ctx;
    emit_open(o, '{');
    emit_close(o, '}');
}

static void setup(void)
{
    struct err e = {0};
    ev = events_new(2, &e);
    now_s = 100.0;
}

static void teardown(void)
{
    events_free(ev);
}

static void watch(struct reply *r, uint64_t after, bool only_stats)
{
    reply_init(r);
    events_reply(r, ev,
                 &(struct events_cfg){.stats = put_stats,
                                      .only_stats = only_stats,
                                      .after = after,
                                      .clock = fake_clock});
}

/* everything there is now, in pieces as small as asked for */
static const char *drain(struct reply *r, size_t piece)
{
    size_t n = 0;
    ssize_t got;
    while ((got = r->stream.pull(r->stream.self, text + n, piece)) > 0)
        n += (size_t)got;
    ck_assert_int_eq(got, REPLY_LATER);
    text[n] = '\0';
    return text;
}

static void publish(int from, int to)
{
    char data[64];
    for (int i = from; i < to; i++) {
        int n = snprintf(data, sizeof data, "{\"i\":%d}", i);
        events_publish(ev, "decision", data, (size_t)n);
    }
}

TEST(events_and_stats_in_order)
{
    struct reply r;
    publish(0, 1); /* no watcher yet */
    ck_assert(!events_watched(ev));
    watch(&r, UINT64_MAX, false);
    ck_assert(events_watched(ev));
    ck_assert_str_eq(reply_header_get(&r, "Content-Type"), "text/event-stream");
    ck_assert_str_eq(drain(&r, 7), "retry: 2000\n\nevent: stats\ndata: {}\n\n");
    ck_assert_str_eq(drain(&r, 7), "");

    publish(1, 3);
    ck_assert_str_eq(drain(&r, 1), "id: 2\nevent: decision\ndata: {\"i\":1}\n\n"
                                   "id: 3\nevent: decision\ndata: {\"i\":2}\n\n");
    now_s += 1.0;
    ck_assert_str_eq(drain(&r, 100), "event: stats\ndata: {}\n\n");
    reply_drop(&r);
    ck_assert(!events_watched(ev));
}

TEST(a_reconnect_continues)
{
    struct reply r;
    publish(0, 5);
    watch(&r, 3, false);
    const char *got = drain(&r, 1000);
    ck_assert_ptr_null(strstr(got, "{\"i\":2}"));
    ck_assert_ptr_nonnull(strstr(got, "id: 4\nevent: decision\ndata: {\"i\":3}\n"));
    ck_assert_ptr_nonnull(strstr(got, "{\"i\":4}"));
    reply_drop(&r);
}

TEST(a_slow_watcher_gets_the_number_of_lost_events)
{
    struct reply r;
    watch(&r, UINT64_MAX, false);
    drain(&r, 1000);
    publish(0, EVENTS_RING + 7);
    const char *got = drain(&r, 1000);
    ck_assert_ptr_nonnull(strstr(got, "event: lost\ndata: {\"events\":7}\n"));
    ck_assert_ptr_null(strstr(got, "{\"i\":6}"));
    ck_assert_ptr_nonnull(strstr(got, "{\"i\":7}"));
    char last[64];
    snprintf(last, sizeof last, "{\"i\":%d}\n\n", EVENTS_RING + 6);
    ck_assert_str_eq(got + strlen(got) - strlen(last), last);
    reply_drop(&r);
}

TEST(only_stats)
{
    struct reply r;
    watch(&r, UINT64_MAX, true);
    publish(0, 3);
    ck_assert_ptr_null(strstr(drain(&r, 1000), "decision"));
    reply_drop(&r);
}

TEST(watchers_are_counted)
{
    struct reply a, b, c;
    watch(&a, 0, false);
    watch(&b, 0, false);
    watch(&c, 0, false);
    ck_assert_int_eq(c.status, 429);
    ck_assert_ptr_nonnull(reply_header_get(&c, "Retry-After"));
    reply_drop(&a);
    reply_drop(&c);
    watch(&c, 0, false);
    ck_assert_int_eq(c.status, 200);
    reply_drop(&b);
    reply_drop(&c);
}

TEST(too_long_is_dropped_whole)
{
    struct reply r;
    char data[EVENTS_DATA + 1];
    memset(data, 'x', sizeof data);
    watch(&r, UINT64_MAX, false);
    events_publish(ev, "decision", data, sizeof data);
    events_publish(ev, "reward", "{}", 2);
    ck_assert_ptr_nonnull(strstr(drain(&r, 1000), "id: 1\nevent: reward\ndata: {}\n\n"));
    reply_drop(&r);
}

SUITE_SET_UP(serve_http_events, 0, setup, teardown, events_and_stats_in_order,
             a_reconnect_continues, a_slow_watcher_gets_the_number_of_lost_events,
             only_stats, watchers_are_counted, too_long_is_dropped_whole);
