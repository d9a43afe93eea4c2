#include "serve/store/writer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "support/suites.h"

/* A store in memory that fails on demand. */
struct fake {
    pthread_mutex_t lock; /* of all below */
    int written, batches, refused;
    uint32_t sum;
    bool broken, hangs, tight; /* tight: what is written next may find no room */
    pthread_cond_t freed;      /* hangs has ended */
};

static int fake_write(void *self, const struct store_rec *rec, int n, struct err *e)
{
    struct fake *f = self;
    pthread_mutex_lock(&f->lock);
    while (f->hangs)
        pthread_cond_wait(&f->freed, &f->lock);
    bool broken = f->broken;
    for (int i = 0; i < n && !broken; i++)
        f->sum += rec[i].step.ord;
    f->refused += broken;
    if (!broken) {
        f->written += n;
        f->batches++;
    }
    pthread_mutex_unlock(&f->lock);
    return broken ? err_set(e, ERR_IO, "the disk is full") : 0;
}

static int fake_room(void *self, struct err *e)
{
    struct fake *f = self;
    pthread_mutex_lock(&f->lock);
    bool tight = f->tight;
    pthread_mutex_unlock(&f->lock);
    return tight ? err_set(e, ERR_IO, "the disk is full: make room") : 0;
}

static void fake_free(void *self)
{
    (void)self;
}

static struct writer *make(struct fake *f, int cap)
{
    *f = (struct fake){.lock = PTHREAD_MUTEX_INITIALIZER,
                       .freed = PTHREAD_COND_INITIALIZER};
    struct store store = {
        .self = f, .write = fake_write, .room = fake_room, .free = fake_free};
    struct writer *w = writer_new(&store, cap, .001, NULL);
    ck_assert_ptr_nonnull(w);
    return w;
}

static int put(struct writer *w, uint32_t ord, struct err *e)
{
    struct store_rec r = {.kind = STORE_STEP, .step = {.ord = ord}};
    int rc = writer_reserve(w, 2, e);
    if (!rc) writer_put(w, &r, 1, 2);
    return rc;
}

TEST(what_was_put_is_written_once)
{
    struct fake f;
    struct writer *w = make(&f, 8);
    uint32_t sum = 0;
    for (uint32_t i = 1; i <= 50; i++) {
        ck_assert_int_eq(put(w, i, NULL), 0);
        sum += i;
        if (i % 3 == 0) ck_assert_int_eq(writer_flush(w, NULL), 0);
    }
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(f.written, 50);
    ck_assert_uint_eq(f.sum, sum);
    ck_assert_int_lt(f.batches, 30);
    writer_free(w);
}

TEST(a_full_queue_refuses_before_anything_is_decided)
{
    struct fake f;
    struct writer *w = make(&f, 8);
    for (uint32_t i = 0; i < 7; i++)
        ck_assert_int_eq(put(w, i, NULL), 0);
    struct err e = {0};
    ck_assert_int_eq(writer_reserve(w, 2, &e), ERR_FULL);
    ck_assert_str_eq(e.field, "store");
    ck_assert_int_eq(writer_reserve(w, 1, NULL), 0);
    ck_assert_int_eq(writer_reserve(w, 1, NULL), ERR_FULL);
    writer_put(w, NULL, 0, 1);
    ck_assert_int_eq(writer_reserve(w, 1, NULL), 0);
    writer_put(w, NULL, 0, 1);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(put(w, 1, NULL), 0);
    writer_free(w);
}

TEST(a_failing_store_is_told_and_nothing_is_lost)
{
    struct fake f;
    struct writer *w = make(&f, 100);
    f.broken = true;
    ck_assert_int_eq(put(w, 1, NULL), 0);
    struct err e = {0};
    ck_assert_int_eq(writer_flush(w, &e), ERR_IO);
    ck_assert_str_eq(e.detail, "the disk is full");
    e = (struct err){0};
    ck_assert_int_eq(put(w, 2, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.detail, "the disk is full"));
    struct writer_stats stats;
    writer_stats(w, &stats);
    ck_assert(!stats.ok);
    ck_assert_uint_eq(stats.queued, 1);
    ck_assert_uint_eq(stats.errors, 1);

    f.broken = false;
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(f.written, 1);
    ck_assert_int_eq(put(w, 2, NULL), 0);
    writer_free(w);
}

static void *run(void *ctx)
{
    writer_run(ctx);
    return NULL;
}

static void tighten(struct fake *f, bool tight)
{
    pthread_mutex_lock(&f->lock);
    f->tight = tight;
    pthread_mutex_unlock(&f->lock);
}

/* What was accepted is written; nothing more is accepted until there is room, which the thread finds
 * by itself. */
TEST(a_store_without_room_for_more_takes_no_more)
{
    struct fake f;
    struct writer *w = make(&f, 8);
    struct writer_stats stats;
    struct err e = {0};
    ck_assert_int_eq(put(w, 1, NULL), 0);
    ck_assert_int_eq(writer_reserve(w, 1, NULL), 0); /* under way when it is noticed */
    tighten(&f, true);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(f.written, 1);
    ck_assert_int_eq(put(w, 2, &e), ERR_IO);
    ck_assert_ptr_nonnull(strstr(e.detail, "make room"));
    writer_put(w, &(struct store_rec){.kind = STORE_STEP}, 1, 1);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(f.written, 2);
    writer_stats(w, &stats);
    ck_assert(!stats.ok && !stats.queued);

    tighten(&f, false);
    ck_assert_int_eq(writer_flush(w, NULL), 0); /* in a program of one thread */
    ck_assert_int_eq(put(w, 3, NULL), 0);
    tighten(&f, true);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(put(w, 4, NULL), ERR_IO);

    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, run, w), 0);
    tighten(&f, false);
    do
        writer_stats(w, &stats);
    while (!stats.ok);
    ck_assert_int_eq(put(w, 4, NULL), 0);
    writer_stop(w);
    pthread_join(writer, NULL);
    writer_free(w);
}

/* It starts on a disk that is full, and says so from the first request on. */
TEST(a_store_that_begins_without_room_takes_nothing)
{
    struct fake f = {.lock = PTHREAD_MUTEX_INITIALIZER, .tight = true};
    struct store store = {
        .self = &f, .write = fake_write, .room = fake_room, .free = fake_free};
    struct writer *w = writer_new(&store, 8, .001, NULL);
    ck_assert_int_eq(put(w, 1, NULL), ERR_IO);
    tighten(&f, false);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_int_eq(put(w, 1, NULL), 0);
    writer_free(w);
}

TEST(while_a_commit_hangs_nothing_more_is_taken)
{
    struct fake f;
    struct writer *w = make(&f, 8);
    f.hangs = true;
    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, run, w), 0);
    struct err e = {0};
    ck_assert_int_eq(put(w, 7, NULL), 0);
    while (writer_reserve(w, 1, &e) == 0) /* until the commit has taken too long */
        writer_put(w, NULL, 0, 1);
    ck_assert_int_eq(e.code, ERR_FULL);
    ck_assert_ptr_nonnull(strstr(e.detail, "the disk has not answered"));

    pthread_mutex_lock(&f.lock);
    f.hangs = false;
    pthread_cond_broadcast(&f.freed);
    pthread_mutex_unlock(&f.lock);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    ck_assert_uint_eq(f.sum, 7);
    ck_assert_int_eq(put(w, 1, NULL), 0);
    writer_stop(w);
    pthread_join(writer, NULL);
    writer_free(w);
}

static int refused(struct fake *f)
{
    pthread_mutex_lock(&f->lock);
    int n = f->refused;
    pthread_mutex_unlock(&f->lock);
    return n;
}

static void break_it(struct fake *f, bool broken)
{
    pthread_mutex_lock(&f->lock);
    f->broken = broken;
    pthread_mutex_unlock(&f->lock);
}

TEST(a_failing_store_is_asked_once_a_second_however_many_wait)
{
    struct fake f;
    struct writer *w = make(&f, 8);
    break_it(&f, true);
    for (uint32_t i = 0; i < 7; i++)
        ck_assert_int_eq(put(w, i, NULL), 0);
    double began_s = clock_mono();
    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, run, w), 0);
    while (refused(&f) < 2)
        ;
    int n = refused(&f);
    ck_assert_int_le(n, 1 + (int)(clock_mono() - began_s));
    writer_stop(w);
    pthread_join(writer, NULL);
    writer_free(w);
}

/* By how long a record waits that is put when somebody's flush has ended a failure. */
static double after_a_failure_s(void)
{
    struct fake f;
    struct writer *w = make(&f, 8);
    break_it(&f, true);
    ck_assert_int_eq(put(w, 1, NULL), 0);
    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, run, w), 0);
    struct writer_stats stats;
    do
        writer_stats(w, &stats);
    while (!stats.errors);
    break_it(&f, false);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    double put_s = clock_mono();
    ck_assert_int_eq(put(w, 2, NULL), 0);
    do
        writer_stats(w, &stats);
    while (stats.written < 2);
    double took_s = clock_mono() - put_s;
    writer_stop(w);
    pthread_join(writer, NULL);
    writer_free(w);
    return took_s;
}

TEST(what_comes_after_a_failure_does_not_wait_out_its_pause)
{
    double took_s = 1;
    for (int i = 0; i < 20 && took_s > .5;
         i++) /* a busy machine may be late now and then */
        took_s = after_a_failure_s();
    ck_assert_double_le(took_s, .5);
}

enum { PUTTERS = 3, EACH = 2000 };

static void *put_many(void *ctx)
{
    for (uint32_t i = 0; i < EACH; i++)
        while (put(ctx, 1, NULL)) /* full: the writer catches up */
            (void)!writer_flush(ctx, NULL);
    return NULL;
}

TEST(many_put_while_one_writes)
{
    struct fake f;
    struct writer *w = make(&f, 64);
    pthread_t writer, putter[PUTTERS];
    ck_assert_int_eq(pthread_create(&writer, NULL, run, w), 0);
    for (int i = 0; i < PUTTERS; i++)
        ck_assert_int_eq(pthread_create(&putter[i], NULL, put_many, w), 0);
    for (int i = 0; i < PUTTERS; i++)
        pthread_join(putter[i], NULL);
    ck_assert_int_eq(writer_flush(w, NULL), 0);
    writer_stop(w);
    pthread_join(writer, NULL);
    ck_assert_int_eq(f.written, PUTTERS * EACH);
    ck_assert_uint_eq(f.sum, PUTTERS * EACH);
    writer_free(w);
}

TEST(the_thread_writes_without_being_asked)
{
    struct fake f;
    struct writer *w = make(&f, 64);
    pthread_t writer;
    ck_assert_int_eq(pthread_create(&writer, NULL, run, w), 0);
    ck_assert_int_eq(put(w, 1, NULL), 0);
    struct writer_stats stats;
    do
        writer_stats(w, &stats);
    while (!stats.written);
    writer_stop(w);
    pthread_join(writer, NULL);
    writer_free(w);
}

SUITE_WITHIN(serve_store_writer, 30, what_was_put_is_written_once,
             a_full_queue_refuses_before_anything_is_decided,
             a_failing_store_is_told_and_nothing_is_lost,
             a_store_without_room_for_more_takes_no_more,
             a_store_that_begins_without_room_takes_nothing,
             while_a_commit_hangs_nothing_more_is_taken,
             a_failing_store_is_asked_once_a_second_however_many_wait,
             what_comes_after_a_failure_does_not_wait_out_its_pause,
             many_put_while_one_writes, the_thread_writes_without_being_asked);
