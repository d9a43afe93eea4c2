#include "base/pool.h"

#include "support/suites.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>

enum { N = 1000 };

struct tally {
    int calls[N];
    atomic_int total;
};

static void count(void *ctx, int i)
{
    struct tally *t = ctx;
    t->calls[i]++;
    atomic_fetch_add(&t->total, 1);
}

TEST(every_index_runs_exactly_once)
{
    static const int threads[] = {-1, 0, 1, 2, 7, POOL_THREADS, 100000};
    struct tally t = {0};
    int workers = pool_run(N, threads[_i], count, &t);
    ck_assert_int_ge(workers, 1);
    ck_assert_int_le(workers, POOL_THREADS);
    ck_assert_int_eq(t.total, N);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(t.calls[i], 1);
}

static void in_order(void *ctx, int i)
{
    int *last = ctx;
    ck_assert_int_eq(i, *last + 1);
    *last = i;
}

TEST(one_thread_is_the_callers_and_goes_in_order)
{
    int last = -1;
    ck_assert_int_eq(pool_run(100, 1, in_order, &last), 1);
    ck_assert_int_eq(last, 99);
}

TEST(nothing_to_do)
{
    struct tally t = {0};
    ck_assert_int_eq(pool_run(0, 8, count, &t), 1);
    ck_assert_int_eq(t.total, 0);
}

/* Each index waits for the other: it ends only if two threads run at the same time. */
static void meet(void *ctx, int i)
{
    (void)i;
    pthread_barrier_wait(ctx);
}

TEST(two_threads_are_two)
{
    pthread_barrier_t b;
    pthread_barrier_init(&b, NULL, 2);
    ck_assert_int_eq(pool_run(2, 2, meet, &b), 2);
    pthread_barrier_destroy(&b);
}

static void halve(void *ctx, int i)
{
    volatile float *x = ctx;
    x[i] *= 0.5f;
}

/* As on any thread, or results would depend on their number. */
TEST(subnormals_are_zero_in_every_thread)
{
#if defined(__SSE__) || defined(__aarch64__)
    float x[4] = {FLT_MIN, FLT_MIN, 1.f, FLT_MIN};
    pool_run(4, _i + 1, halve, x);
    ck_assert_float_eq(x[0], 0.f);
    ck_assert_float_eq(x[2], .5f);
    ck_assert_float_eq(x[3], 0.f);
    volatile float outside = FLT_MIN;
    outside *= 0.5f;
    ck_assert_float_gt(outside, 0.f);
#endif
}

/* Items of which some fail; who was asked is kept. */
struct risky {
    int calls[N];
    int fails[3]; /* these; -1: none */
    pthread_barrier_t *meet;
};

static int risk(void *ctx, int i, struct err *e)
{
    struct risky *r = ctx;
    r->calls[i]++;
    if (r->meet) pthread_barrier_wait(r->meet);
    for (int k = 0; k < 3; k++)
        if (i == r->fails[k])
            return err_field(e, ERR_RANGE - i, "item", "number %d does not work", i);
    return 0;
}

TEST(items_that_succeed_say_nothing)
{
    struct risky r = {.fails = {-1, -1, -1}};
    struct err e = {0};
    ck_assert_int_eq(pool_try(N, _i + 1, risk, &r, &e), 0);
    ck_assert_int_eq(e.code, 0);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(r.calls[i], 1);
    ck_assert_int_eq(pool_try(0, _i + 1, risk, &r, &e), 0);
}

TEST(the_lowest_failing_item_is_told_whatever_the_threads_do)
{
    struct risky r = {.fails = {700, 20, 21}};
    struct err e = {0};
    ck_assert_int_eq(pool_try(N, _i + 1, risk, &r, &e), ERR_RANGE - 20);
    ck_assert_int_eq(e.code, ERR_RANGE - 20);
    ck_assert_str_eq(e.field, "item");
    ck_assert_str_eq(e.detail, "number 20 does not work");
    /* all below it were done, and nothing twice */
    for (int i = 0; i < N; i++)
        ck_assert_int_le(r.calls[i], 1);
    for (int i = 0; i <= 20; i++)
        ck_assert_int_eq(r.calls[i], 1);
}

TEST(nothing_begins_above_an_item_that_failed)
{
    struct risky r = {.fails = {20, 30, -1}};
    struct err e = {0};
    ck_assert_int_eq(pool_try(N, 1, risk, &r, &e), ERR_RANGE - 20);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(r.calls[i], i <= 20);
}

/* Both fail at the same time: each has begun before either has ended. */
TEST(of_two_that_fail_together_the_lower_is_told)
{
    pthread_barrier_t b;
    pthread_barrier_init(&b, NULL, 2);
    struct risky r = {.fails = {1, 0, -1}, .meet = &b};
    struct err e = {0};
    ck_assert_int_eq(pool_try(2, 2, risk, &r, &e), ERR_RANGE);
    ck_assert_str_eq(e.detail, "number 0 does not work");
    pthread_barrier_destroy(&b);
}

static int wordless(void *ctx, int i, struct err *e)
{
    (void)ctx;
    (void)e;
    return i == 3 ? 7 : 0;
}

TEST(a_code_needs_no_words_and_an_earlier_failure_keeps_its_own)
{
    struct err e = {0};
    ck_assert_int_eq(pool_try(9, 2, wordless, NULL, &e), 7);
    ck_assert_int_eq(e.code, 0);
    err_set(&e, ERR_IO, "before");
    struct risky r = {.fails = {0, -1, -1}};
    ck_assert_int_eq(pool_try(1, 1, risk, &r, &e), ERR_RANGE);
    ck_assert_str_eq(e.detail, "before");
    ck_assert_int_eq(pool_try(1, 1, risk, &r, NULL), ERR_RANGE);
}

TEST(there_is_a_processor)
{
    ck_assert_int_ge(pool_cpus(), 1);
}

SUITE(base_pool, TIMES(every_index_runs_exactly_once, 7),
      one_thread_is_the_callers_and_goes_in_order, nothing_to_do, two_threads_are_two,
      TIMES(subnormals_are_zero_in_every_thread, 3),
      TIMES(items_that_succeed_say_nothing, 3),
      TIMES(the_lowest_failing_item_is_told_whatever_the_threads_do, 8),
      nothing_begins_above_an_item_that_failed,
      of_two_that_fail_together_the_lower_is_told,
      a_code_needs_no_words_and_an_earlier_failure_keeps_its_own, there_is_a_processor);
