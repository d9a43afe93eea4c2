/* Histories slice by slice: all steps once and in order, and no other thread reads the store. */
#include "serve/http/histories.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "serve/http/reply.h"
#include "serve/store/store_sqlite.h"
#include "support/served.h"
#include "support/suites.h"

enum { STEPS = 3 * HISTORIES_SLICE + 17 };

static struct served f;
static struct histories *h;
static int bell;

/* SQLite; records which thread reads histories, and the number of steps. */
static struct {
    struct store inner;
    pthread_t asker;
    int reads, most, by_asker;
} watched;

static int watched_history(void *self, struct track_row *row, double *last_at,
                           struct step **steps, int *n, const uint8_t id[TRACK_ID],
                           uint32_t after, int limit, struct err *e)
{
    watched.reads++;
    watched.by_asker += pthread_equal(pthread_self(), watched.asker) != 0;
    if (limit > watched.most) watched.most = limit;
    return watched.inner.history(self, row, last_at, steps, n, id, after, limit, e);
}

static int open_store(struct store *out, void *ctx, const char *path, struct err *e)
{
    (void)ctx;
    struct store_sqlite_cfg cfg = {.path = path};
    int rc = store_sqlite_open(&watched.inner, &cfg, e);
    *out = watched.inner;
    out->history = watched_history;
    return rc;
}

static void setup(void)
{
    memset(&watched, 0, sizeof watched);
    watched.asker = pthread_self();
    served_begin(&f, true);
    f.cfg.parts.store = open_store;
    served_start(&f);
    h = histories_new(f.service, NULL);
    ck_assert_ptr_nonnull(h);
    bell = eventfd(0, EFD_CLOEXEC);
}

static void teardown(void)
{
    histories_free(h);
    close(bell);
    served_end(&f);
}

static struct histories_answer *begin(const char *session, uint32_t after, int limit,
                                      bool csv)
{
    struct histories_question q = {
        .after = after, .limit = limit, .csv = csv, .bell = bell};
    strcpy(q.session, session);
    struct histories_answer *a = histories_begin(h, &q, NULL);
    ck_assert_ptr_nonnull(a);
    return a;
}

static void wait_bell(void)
{
    uint64_t rung;
    ck_assert_int_eq(read(bell, &rung, sizeof rung), sizeof rung);
}

/* The whole answer as text, read by small pulls. */
static char *text_of(struct histories_answer *a)
{
    size_t n = 0, cap = 1 << 22;
    char *text = malloc(cap);
    while (!histories_ready(a))
        wait_bell();
    ck_assert_ptr_null(histories_error(a));
    for (;;) {
        ssize_t got = histories_pull(a, text + n, 1000);
        if (got == REPLY_END) break;
        ck_assert_int_ge(got, 0);
        if (got == REPLY_LATER) wait_bell();
        n += (size_t)got;
        ck_assert_uint_lt(n + 1000, cap);
    }
    text[n] = '\0';
    histories_drop(a);
    return text;
}

/* The chunks in the text are first .. first + n - 1, and nothing else. */
static void check_chunks(const char *text, int first, int n)
{
    for (int i = 0; i < n; i++) {
        text = strstr(text, "{\"chunk\":");
        ck_assert_msg(text != NULL, "%d chunks, not %d", i, n);
        text += strlen("{\"chunk\":");
        ck_assert_int_eq(atoi(text), first + i);
    }
    ck_assert_ptr_null(strstr(text, "{\"chunk\":"));
}

static struct session_opened long_session(void)
{
    struct session_opened o = served_open(&f, 3, 0);
    served_play(&f, &o, STEPS);
    return o;
}

TEST(all_steps_come_once_in_slices_that_another_thread_reads)
{
    struct session_opened o = long_session();
    char *text = text_of(begin(o.session, 0, INT_MAX, false));
    check_chunks(text, 0, STEPS);
    ck_assert_ptr_nonnull(strstr(text, "],\"next\":null}\n"));
    free(text);
    ck_assert_int_eq(watched.reads, 4);
    ck_assert_int_eq(watched.by_asker, 0);
    ck_assert_int_le(watched.most, HISTORIES_SLICE + 1);

    text = text_of(begin(o.session, 0, INT_MAX, true));
    int lines = 0;
    for (const char *at = text; (at = strstr(at, "\r\n")); at += 2)
        lines++;
    ck_assert_int_eq(lines, STEPS + 1);
    free(text);
}

TEST(pages_follow_each_other)
{
    struct session_opened o = long_session();
    for (int after = 0, n = 300; after < STEPS; after += n) {
        int left = STEPS - after;
        char next[40], first[40];
        snprintf(first, sizeof first, "\"first\":%d,", after);
        snprintf(next, sizeof next, "\"next\":%d}", after + n);
        char *text = text_of(begin(o.session, (uint32_t)after, n, false));
        check_chunks(text, after, left < n ? left : n);
        ck_assert_ptr_nonnull(strstr(text, first));
        ck_assert_ptr_nonnull(strstr(text, left > n ? next : "\"next\":null}"));
        free(text);
    }
    /* the page that ends with the last step has no next one; behind the end there is nothing */
    char *text = text_of(begin(o.session, STEPS - 10, 10, false));
    ck_assert_ptr_nonnull(strstr(text, "\"next\":null}"));
    free(text);
    text = text_of(begin(o.session, STEPS, 10, false));
    ck_assert_ptr_nonnull(strstr(text, "\"steps\":[],\"next\":null}"));
    free(text);
}

TEST(an_unknown_session_is_an_error_before_anything_is_sent)
{
    struct histories_answer *a = begin("00000000000000000000000000000000", 0, 10, false);
    wait_bell();
    ck_assert(histories_ready(a));
    ck_assert_int_eq(histories_error(a)->code, ERR_ABSENT);
    ck_assert_int_eq(histories_pull(a, (char[10]){0}, 10), REPLY_BROKEN);
    histories_drop(a);
}

TEST(answers_are_bounded_and_may_be_dropped_at_any_time)
{
    struct session_opened o = served_open(&f, 3, 0);
    struct histories_answer *a[HISTORIES_OPEN];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < HISTORIES_OPEN; i++)
            a[i] = begin(o.session, 0, 10, false);
        struct err e = {0};
        struct histories_question q = {.limit = 1, .bell = -1};
        strcpy(q.session, o.session);
        ck_assert_ptr_null(histories_begin(h, &q, &e));
        ck_assert_int_eq(e.code, ERR_FULL);
        for (int i = 0; i < HISTORIES_OPEN; i++)
            histories_drop(a[i]);
    }
    free(text_of(begin(o.session, 0, 10, false)));
}

SUITE_SET_UP(serve_http_histories, 60, setup, teardown,
             all_steps_come_once_in_slices_that_another_thread_reads,
             pages_follow_each_other,
             an_unknown_session_is_an_error_before_anything_is_sent,
             answers_are_bounded_and_may_be_dropped_at_any_time);
