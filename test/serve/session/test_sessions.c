#include "serve/session/sessions.h"

#include <check.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/session/profiles.h"
#include "support/alloc.h"
#include "support/suites.h"

static struct track_row make_row(double at)
{
    return (struct track_row){.profile = "pensieve",
                              .ladder_kbps = {300, 750},
                              .levels = 2,
                              .chunk_s = 4,
                              .buffer_max_s = 60,
                              .qoe = qoe_find("pensieve")->qoe,
                              .opened_at = at,
                              .explores = true};
}

static struct sessions *make(int max)
{
    struct sessions_cfg cfg = {.max = max, .keep = TRACK_KEEP, .spare = 1000};
    struct sessions *s = sessions_new(&cfg, NULL);
    ck_assert_ptr_nonnull(s);
    return s;
}

static int open_one(struct sessions *s, struct track_row *row, struct err *e)
{
    struct changes c;
    track_changes_clear(&c);
    struct answer a;
    struct question q = {0};
    struct verdict v = {.level = 1, .sampled = true};
    return sessions_open(&a, s, row, &q, &v, &c, e);
}

/* The sizes in track.h. Per track the table also has the neighbours in its queue (16), unstored (8),
 * the key (16), the used flag (1) and at most four slots of the index (16). */
TEST(a_live_session_takes_at_most_3056_bytes)
{
    ck_assert_uint_eq(sizeof(struct track), 1576);
    ck_assert_uint_eq(sizeof(struct step), 352);
    size_t entry = (16 + 8 + sizeof(struct track) + 16 + 15) / 16 * 16;
    ck_assert_uint_le(entry + 1 + 16 + TRACK_KEEP * sizeof(struct step), 3056);
}

TEST(ids_are_hex_and_back)
{
    uint8_t id[TRACK_ID], back[TRACK_ID];
    for (int i = 0; i < TRACK_ID; i++)
        id[i] = (uint8_t)(17 * i + 3);
    char text[SERVICE_ID];
    sessions_id_text(text, id);
    ck_assert_uint_eq(strlen(text), 32);
    ck_assert(sessions_id_parse(back, text));
    ck_assert_mem_eq(id, back, sizeof id);
    text[31] = 'G';
    ck_assert(!sessions_id_parse(back, text));
    text[31] = 'A'; /* one spelling only */
    ck_assert(!sessions_id_parse(back, text));
    ck_assert(!sessions_id_parse(back, ""));
    ck_assert(!sessions_id_parse(back, "0123456789abcdef0123456789abcdef0"));
}

TEST(ids_begin_with_the_nodes_number)
{
    struct sessions_cfg cfg = {.max = 100000, .keep = TRACK_KEEP, .number = 0xa7};
    struct sessions *s = sessions_new(&cfg, NULL);
    ck_assert_ptr_nonnull(s);
    for (int i = 0; i < 2000; i++) { /* evenly: else a shard would be full */
        struct track_row row = make_row(i);
        ck_assert_int_eq(open_one(s, &row, NULL), 0);
        ck_assert_uint_eq(row.id[0], 0xa7);
    }
    sessions_free(s);
}

/* sessions_peek and sessions_decide; its level, or the error. */
static int ask(struct sessions *s, const struct track_row *row, const struct question *q)
{
    struct view view;
    struct session_ticket ticket;
    struct answer a;
    struct changes c;
    struct verdict v = {.level = 1, .sampled = true};
    int rc = sessions_peek(&view, &a, &ticket, s, row->id, q, NULL);
    track_changes_clear(&c);
    if (!rc) rc = sessions_decide(&a, s, row->id, &ticket, q, &v, 10, &c, NULL);
    return rc ? rc : a.level;
}

TEST(only_the_last_decided_chunk_can_be_abandoned)
{
    struct sessions *s = make(100);
    struct track_row row = make_row(0);
    struct view v;
    struct err e = {0};
    struct session_ticket ticket;
    ck_assert_int_eq(open_one(s, &row, NULL), 0);
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 0, &e), 0);
    ck_assert(v.chunk == 0 && v.last_level == -1 && v.n_history == 0 && ticket.explores);
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 1, &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "chunk");

    struct outcome o = {.level = 1, .bytes = 100000, .download_s = 1, .rebuffer_s = .5};
    struct question q = {.chunk = 1,
                         .buffer_s = 5,
                         .has_last = true,
                         .last = o,
                         .has_next = true,
                         .n_next = 2,
                         .next_bytes = {1000, 2000}};
    ck_assert_int_eq(ask(s, &row, &q), 1);
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 1, &e), 0);
    ck_assert(v.chunk == 1 && v.last_level == 1 && v.n_history == 1);
    ck_assert(v.buffer_s == 5 && v.next_bytes[1] == 2000);
    ck_assert(v.stalled_s == 0 && v.played_s == row.chunk_s);
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 0, &e), ERR_CONFLICT);

    struct reward_in in = {.has_outcome = true,
                           .outcome = {.chunk = 1, .bytes = 1000, .download_s = 1}};
    struct reward_out out;
    struct changes c;
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_report(&out, s, row.id, &in, 12, &c, NULL), 0);
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 1, &e), ERR_CONFLICT);
    ck_assert_int_eq(sessions_close(s, row.id, "", 13, &c, NULL), 0);
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 1, &e), ERR_ABSENT);
    row.id[5] ^= 1;
    ck_assert_int_eq(sessions_underway(&v, &ticket, s, row.id, 1, &e), ERR_ABSENT);
    sessions_free(s);
}

TEST(a_full_table_says_so_and_closed_ones_make_room)
{
    struct sessions *s = make(100);
    struct track_row row[100];
    struct err e = {0};
    for (int i = 0; i < 100; i++) {
        row[i] = make_row(i);
        ck_assert_int_eq(open_one(s, &row[i], &e), 0);
    }
    struct track_row more = make_row(200);
    ck_assert_int_eq(open_one(s, &more, &e), ERR_FULL);

    struct changes c;
    for (int round = 0; round < 5; round++)
        for (int i = 0; i < 100; i++) {
            track_changes_clear(&c);
            ck_assert_int_eq(sessions_close(s, row[i].id, "", 300, &c, NULL), 0);
            ck_assert(c.closed);
            row[i] = make_row(300);
            ck_assert_int_eq(open_one(s, &row[i], NULL), 0);
        }
    struct session_stats stats;
    sessions_stats(&stats, s);
    ck_assert_int_eq(stats.live, 100);
    ck_assert_uint_eq(stats.decisions, 600);
    sessions_free(s);
}

TEST(the_longest_idle_expire_first)
{
    struct sessions *s = make(1000);
    struct track_row row[3];
    for (int i = 0; i < 3; i++) {
        row[i] = make_row(10 * i); /* 0, 10, 20 */
        ck_assert_int_eq(open_one(s, &row[i], NULL), 0);
    }
    /* the first one speaks at 25 */
    struct question q = {.chunk = 1,
                         .has_last = true,
                         .last = {.level = 1, .bytes = 1000, .download_s = 1}};
    struct view view;
    struct answer a;
    struct session_ticket ticket;
    struct verdict v = {.level = 1, .sampled = true};
    struct changes c;
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_peek(&view, &a, &ticket, s, row[0].id, &q, NULL), 0);
    ck_assert_int_eq(sessions_decide(&a, s, row[0].id, &ticket, &q, &v, 25, &c, NULL), 0);

    track_changes_clear(&c);
    ck_assert(sessions_expire(s, 21, 30, &c));
    ck_assert(sessions_expire(s, 21, 30, &c));
    track_changes_clear(&c);
    ck_assert(!sessions_expire(s, 21, 30, &c));
    struct session_stats stats;
    sessions_stats(&stats, s);
    ck_assert_int_eq(stats.live, 1);

    /* closed ones are remembered for a while, then forgotten */
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_close(s, row[1].id, "", 31, &c, NULL), 0);
    ck_assert(!c.closed);
    track_changes_clear(&c);
    ck_assert(sessions_expire(s, 60, 60, &c)); /* the last live one, truncated */
    ck_assert(c.closed && c.has_traj && c.traj.truncated);
    track_changes_clear(&c);
    ck_assert(!sessions_expire(s, 60, 60, &c));
    ck_assert_int_eq(sessions_close(s, row[1].id, "", 61, &c, NULL), ERR_ABSENT);
    sessions_free(s);
}

TEST(a_clock_set_back_keeps_no_session_open)
{
    struct sessions *s = make(10);
    struct track_row future = make_row(0), row = make_row(1);
    future.opened_at = 1000;
    row.opened_at = 20; /* after it, the clock was set back */
    ck_assert_int_eq(open_one(s, &future, NULL), 0);
    ck_assert_int_eq(open_one(s, &row, NULL), 0);
    struct changes c;
    track_changes_clear(&c);
    ck_assert(!sessions_expire(s, 15, 25, &c)); /* as if it were heard of now */
    ck_assert(!sessions_expire(s, 21, 31, &c));
    ck_assert(sessions_expire(s, 26, 36, &c));
    track_changes_clear(&c);
    ck_assert(sessions_expire(s, 26, 36, &c));
    track_changes_clear(&c);
    ck_assert(!sessions_expire(s, 26, 36, &c));
    struct session_stats stats;
    sessions_stats(&stats, s);
    ck_assert_int_eq(stats.live, 0);
    sessions_free(s);
}

/* After the clock was set back no session expires later because of another one. */
TEST(many_from_a_time_to_come_expire_together)
{
    struct sessions *s = make(10);
    for (int i = 0; i < 5; i++) {
        struct track_row row = make_row(i);
        row.opened_at = 1000 + i;
        ck_assert_int_eq(open_one(s, &row, NULL), 0);
    }
    struct changes c;
    track_changes_clear(&c);
    ck_assert(!sessions_expire(s, 0, 10, &c)); /* all as if heard of now */
    for (int i = 0; i < 5; i++) {
        ck_assert(sessions_expire(s, 10.5, 20.5, &c));
        track_changes_clear(&c);
    }
    ck_assert(!sessions_expire(s, 10.5, 20.5, &c));
    sessions_free(s);
}

/* A refused request does not count: a session with only such requests is idle. */
TEST(refused_reports_keep_no_session_open)
{
    struct sessions *s = make(10);
    struct track_row row[2] = {make_row(0), make_row(1)};
    struct changes c;
    for (int i = 0; i < 2; i++) {
        row[i].opened_at = 1 + i;
        ck_assert_int_eq(open_one(s, &row[i], NULL), 0);
    }
    struct reward_in unknown = {.has_external = true, .chunk = 90, .external = 1};
    struct reward_out out;
    track_changes_clear(&c);
    ck_assert_int_ne(sessions_report(&out, s, row[0].id, &unknown, 5, &c, NULL), 0);
    ck_assert(sessions_expire(s, 1.5, 11.5, &c)); /* the first alone, before the second */
    track_changes_clear(&c);
    ck_assert(!sessions_expire(s, 1.5, 11.5, &c));
    ck_assert_int_eq(sessions_close(s, row[0].id, "", 12, &c, NULL), 0); /* was closed */
    sessions_free(s);
}

TEST(two_concurrent_questions_get_one_answer)
{
    struct sessions *s = make(10);
    struct track_row row = make_row(0);
    ck_assert_int_eq(open_one(s, &row, NULL), 0);
    struct question q = {.chunk = 1,
                         .has_last = true,
                         .last = {.level = 1, .bytes = 1000, .download_s = 1}};
    struct view view;
    struct answer a, b;
    struct session_ticket first, second;
    struct changes c;
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_peek(&view, &a, &first, s, row.id, &q, NULL), 0);
    ck_assert_int_eq(sessions_peek(&view, &a, &second, s, row.id, &q, NULL), 0);

    struct verdict up = {.level = 1}, down = {.level = 0};
    ck_assert_int_eq(sessions_decide(&a, s, row.id, &first, &q, &up, 1, &c, NULL), 0);
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_decide(&b, s, row.id, &second, &q, &down, 1, &c, NULL), 1);
    ck_assert_int_eq(c.n, 0);
    ck_assert_int_eq(sessions_peek(&view, &b, &second, s, row.id, &q, NULL), 1);
    ck_assert_int_eq(b.level, 1);
    sessions_free(s);
}

TEST(nothing_is_allocated_after_the_start)
{
    struct sessions *s = make(1000);
    struct track_row row[200];
    struct changes c;
    int failed = 0;
    alloc_watch(); /* libcheck's own assertions allocate: none in between */
    for (int i = 0; i < 200; i++) {
        row[i] = make_row(0);
        failed |= open_one(s, &row[i], NULL);
    }
    for (int k = 1; k < 300; k++) {
        struct question q = {
            .chunk = k,
            .has_last = true,
            .last = {.chunk = k - 1, .level = 1, .bytes = 1, .download_s = 1}};
        struct view view;
        struct answer a;
        struct session_ticket t;
        struct verdict v = {.level = 1, .sampled = true};
        const uint8_t *id = row[k % 200].id;
        track_changes_clear(&c);
        failed |= sessions_peek(&view, &a, &t, s, id, &q, NULL);
        failed |= sessions_decide(&a, s, id, &t, &q, &v, 1, &c, NULL);
    }
    while (track_changes_clear(&c), sessions_expire(s, 50, 50, &c))
        ;
    long calls = alloc_calls();
    ck_assert_int_eq(failed, 0);
    ck_assert_int_eq(calls, 0);
    sessions_free(s);
}

static void *make_failing(void *ctx, struct err *e)
{
    (void)ctx;
    struct sessions_cfg cfg = {.max = 1000, .keep = TRACK_KEEP, .spare = 10};
    return sessions_new(&cfg, e);
}

static void destroy(void *s)
{
    sessions_free(s);
}

TEST(every_failing_allocation_is_an_error)
{
    ck_assert_int_gt(alloc_each_fails(make_failing, destroy, NULL), 4);
}

/* ---- many threads on few sessions ---- */

enum { THREADS = 4, SHARED = 8, CHUNKS = 200 };

struct crowd {
    struct sessions *s;
    struct track_row row[SHARED];
};

/* Everybody asks the same questions of the same sessions: each is answered once. */
static void *ask_all(void *ctx)
{
    struct crowd *w = ctx;
    for (int k = 1; k < CHUNKS; k++)
        for (int i = 0; i < SHARED; i++) {
            struct question q = {.chunk = k, .has_last = true};
            q.last = (struct outcome){
                .chunk = k - 1, .level = 1, .bytes = 1000, .download_s = 1};
            struct view view;
            struct answer a;
            struct session_ticket t;
            struct verdict v = {.level = 1, .sampled = true};
            struct changes c;
            int rc;
            do {
                track_changes_clear(&c);
                rc = sessions_peek(&view, &a, &t, w->s, w->row[i].id, &q, NULL);
                if (rc == 0)
                    rc = sessions_decide(&a, w->s, w->row[i].id, &t, &q, &v, k, &c, NULL)
                             ? 0
                             : 1;
            } while (rc == 0);
            /* a slow thread asks for a chunk that other threads have passed: a step back */
        }
    return NULL;
}

TEST(threads_share_sessions)
{
    struct crowd w = {.s = make(100)};
    for (int i = 0; i < SHARED; i++) {
        w.row[i] = make_row(0);
        ck_assert_int_eq(open_one(w.s, &w.row[i], NULL), 0);
    }
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, ask_all, &w), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);

    struct session_stats stats;
    sessions_stats(&stats, w.s);
    ck_assert_int_eq(stats.live, SHARED);
    ck_assert_uint_ge(stats.decisions, SHARED * CHUNKS);
    for (int i = 0; i < SHARED; i++) {
        struct track_row row;
        struct step *steps;
        double at;
        int n;
        ck_assert_int_eq(
            sessions_history(&row, &at, &steps, &n, w.s, w.row[i].id, 0, INT_MAX, NULL),
            0);
        for (int k = 1; k < n; k++)
            ck_assert_uint_eq(steps[k].ord, steps[k - 1].ord + 1);
        free(steps);
    }
    sessions_free(w.s);
}

/* ---- strict: a session that is removed while a thread waits for its record ---- */

static struct {
    struct sessions *sessions;
    struct track_row row;
    _Atomic long tid;
    _Atomic bool over;
} forgotten;

static void *forgotten_await(void *ctx)
{
    (void)ctx;
    forgotten.tid = gettid();
    sessions_await_stored(forgotten.sessions, forgotten.row.id);
    forgotten.over = true;
    return NULL;
}

/* The thread sleeps: it waits for the condition. */
static bool forgotten_waits(void)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)forgotten.tid);
    FILE *f = forgotten.tid ? fopen(path, "r") : NULL;
    if (f && fscanf(f, "%*d %*s %c", &state) != 1) state = 0;
    if (f) fclose(f);
    return state == 'S';
}

TEST(no_thread_waits_for_a_removed_session)
{
    struct sessions_cfg cfg = {
        .max = 4, .keep = TRACK_KEEP, .spare = 1000, .strict = true};
    struct sessions *s = forgotten.sessions = sessions_new(&cfg, NULL);
    struct changes c;
    pthread_t waiter;
    forgotten.row = make_row(1);
    ck_assert_int_eq(open_one(s, &forgotten.row, NULL), 0);
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_close(s, forgotten.row.id, "", 2, &c, NULL), 0);
    ck_assert_int_eq(pthread_create(&waiter, NULL, forgotten_await, NULL), 0);
    while (!forgotten_waits())
        usleep(1000);
    /* other sessions take all places; their records are not stored yet */
    struct track_row row;
    for (int i = 0; i < 100; i++) {
        row = make_row(3);
        ck_assert_int_eq(open_one(s, &row, NULL), 0);
        track_changes_clear(&c);
        ck_assert_int_eq(sessions_close(s, row.id, "", 4, &c, NULL), 0);
    }
    double at;
    struct step *steps;
    int n;
    ck_assert_int_eq(
        sessions_history(&row, &at, &steps, &n, s, forgotten.row.id, 0, INT_MAX, NULL),
        ERR_ABSENT);
    sessions_stored(s, forgotten.row.id);
    pthread_join(waiter, NULL); /* else the test's time runs out */
    ck_assert(forgotten.over);
    sessions_free(s);
}

/* What was counted for a profile that is deleted goes on as custom: no total falls. */
TEST(a_freed_slot_starts_at_zero)
{
    enum { SLOT = PROFILES_SLOT_CUSTOM + 1 };
    struct sessions *s = make(100);
    struct session_stats st;
    struct track_row row = make_row(1), other = make_row(1);
    row.slot = SLOT;
    ck_assert_int_eq(open_one(s, &row, NULL), 0);
    ck_assert_int_eq(open_one(s, &other, NULL), 0);
    sessions_stats(&st, s);
    ck_assert_uint_eq(st.slot[SLOT].expert[0], 1);
    ck_assert_uint_eq(st.slot[0].expert[0], 1);
    sessions_slot_gone(s, SLOT);
    sessions_stats(&st, s);
    ck_assert_uint_eq(st.slot[SLOT].expert[0], 0);
    ck_assert_uint_eq(st.slot[PROFILES_SLOT_CUSTOM].expert[0], 1);
    ck_assert_uint_eq(st.slot[0].expert[0], 1);

    /* its session goes on, as custom */
    struct changes c;
    track_changes_clear(&c);
    ck_assert_int_eq(sessions_close(s, row.id, "", 2, &c, NULL), 0);
    ck_assert_int_eq(c.row.slot, PROFILES_SLOT_CUSTOM);
    sessions_free(s);
}

SUITE_WITHIN(serve_session_sessions, 60, a_live_session_takes_at_most_3056_bytes,
             ids_are_hex_and_back, ids_begin_with_the_nodes_number,
             only_the_last_decided_chunk_can_be_abandoned,
             a_full_table_says_so_and_closed_ones_make_room,
             the_longest_idle_expire_first, a_clock_set_back_keeps_no_session_open,
             many_from_a_time_to_come_expire_together,
             refused_reports_keep_no_session_open,
             two_concurrent_questions_get_one_answer,
             nothing_is_allocated_after_the_start, every_failing_allocation_is_an_error,
             threads_share_sessions, no_thread_waits_for_a_removed_session,
             a_freed_slot_starts_at_zero);
