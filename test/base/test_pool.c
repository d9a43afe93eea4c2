#include "base/pool.h"

#include <check.h>
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

START_TEST(every_index_runs_exactly_once)
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
END_TEST

static void in_order(void *ctx, int i)
{
    int *last = ctx;
    ck_assert_int_eq(i, *last + 1);
    *last = i;
}

START_TEST(one_thread_is_the_callers_and_goes_in_order)
{
    int last = -1;
    ck_assert_int_eq(pool_run(100, 1, in_order, &last), 1);
    ck_assert_int_eq(last, 99);
}
END_TEST

START_TEST(nothing_to_do)
{
    struct tally t = {0};
    ck_assert_int_eq(pool_run(0, 8, count, &t), 1);
    ck_assert_int_eq(t.total, 0);
}
END_TEST

/* Each index waits for the other: it ends only if two threads run at the same time. */
static void meet(void *ctx, int i)
{
    (void)i;
    pthread_barrier_wait(ctx);
}

START_TEST(two_threads_are_two)
{
    pthread_barrier_t b;
    pthread_barrier_init(&b, NULL, 2);
    ck_assert_int_eq(pool_run(2, 2, meet, &b), 2);
    pthread_barrier_destroy(&b);
}
END_TEST

static void halve(void *ctx, int i)
{
    volatile float *x = ctx;
    x[i] *= 0.5f;
}

/* As on any thread, or results would depend on their number. */
START_TEST(subnormals_are_zero_in_every_thread)
{
#if defined(__SSE__) || defined(__aarch64__)
    float x[4] = {FLT_MIN, FLT_MIN, 1.f, FLT_MIN};
    pool_run(4, _i, halve, x);
    ck_assert_float_eq(x[0], 0.f);
    ck_assert_float_eq(x[2], .5f);
    ck_assert_float_eq(x[3], 0.f);
    volatile float outside = FLT_MIN;
    outside *= 0.5f;
    ck_assert_float_gt(outside, 0.f);
#endif
}
END_TEST

START_TEST(there_is_a_processor)
{
    ck_assert_int_ge(pool_cpus(), 1);
}
END_TEST

Suite *suite_base_pool(void);
Suite *suite_base_pool(void)
{
    Suite *s = suite_create("base/pool");
    TCase *t = tcase_create("base/pool");
    tcase_add_loop_test(t, every_index_runs_exactly_once, 0, 7);
    tcase_add_test(t, one_thread_is_the_callers_and_goes_in_order);
    tcase_add_test(t, nothing_to_do);
    tcase_add_test(t, two_threads_are_two);
    tcase_add_loop_test(t, subnormals_are_zero_in_every_thread, 1, 4);
    tcase_add_test(t, there_is_a_processor);
    suite_add_tcase(s, t);
    return s;
}
