#include "serve/access/quota.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/rng.h"
#include "support/alloc.h"
#include "support/suites.h"

static double take(struct quota *q, int key, double now_s)
{
    unsigned char k[QUOTA_KEY] = {0};
    memcpy(k, &key, sizeof key);
    return quota_take(q, k, now_s);
}

static struct quota *make(double rate, double burst_s, int keys)
{
    struct err e = {0};
    struct quota *q = quota_new(rate, burst_s, keys, 7, &e);
    ck_assert_ptr_nonnull(q);
    return q;
}

TEST(a_burst_then_the_rate)
{
    /* 4 a second, 2.5 s of them: ten at once, then one each quarter */
    struct quota *q = make(4, 2.5, 100);
    for (int i = 0; i < 10; i++)
        ck_assert_double_eq(take(q, 1, 1000), 0);
    ck_assert_double_eq(take(q, 1, 1000), .25);
    ck_assert_double_eq(take(q, 1, 1000), .25); /* asking costs nothing */
    ck_assert_double_eq(take(q, 1, 1000.125), .125);
    ck_assert_double_eq(take(q, 1, 1000.25), 0);
    ck_assert_double_eq(take(q, 1, 1000.25), .25);
    /* other keys owe nothing; time fills the bucket, but not above its size */
    ck_assert_double_eq(take(q, 2, 1000.25), 0);
    for (int i = 0; i < 10; i++)
        ck_assert_double_eq(take(q, 1, 2000), 0);
    ck_assert_double_gt(take(q, 1, 2000), 0);
    quota_free(q);
}

TEST(a_slow_rate_still_allows_one)
{
    struct quota *q = make(.01, 1, 100);
    ck_assert_double_eq(take(q, 1, 50), 0);
    ck_assert_double_eq_tol(take(q, 1, 50), 100, 1e-9);
    ck_assert_double_eq_tol(take(q, 1, 149), 1, 1e-9);
    ck_assert_double_eq(take(q, 1, 151), 0);
    quota_free(q);
}

/* Whatever the time is: now + 1000 - now is often a little more than 1000. */
TEST(the_first_is_let_in_at_any_time)
{
    struct quota *q = make(.001, 1, 100);
    for (int i = 0; i < 10000; i++)
        ck_assert_double_eq(take(q, i, 600 + i * .0173), 0);
    quota_free(q);
}

/* The plain twin: tokens that are counted. */
TEST(it_is_a_token_bucket)
{
    enum { KEYS = 5 };
    struct quota *q = make(3, 4, 100);
    double tokens[KEYS], at[KEYS];
    for (int k = 0; k < KEYS; k++)
        tokens[k] = 12, at[k] = 100;
    struct rng r;
    rng_init(&r, 3, 1);
    double now_s = 100;
    int refused = 0;
    for (int i = 0; i < 20000; i++) {
        /* eighths of a second: exact in both ways of counting, but for thirds */
        now_s += .125 * rng_below(&r, 2);
        int k = (int)rng_below(&r, KEYS);
        tokens[k] += 3 * (now_s - at[k]);
        if (tokens[k] > 12) tokens[k] = 12;
        at[k] = now_s;
        double wait = take(q, k, now_s);
        if (tokens[k] >= 1 - 1e-6) {
            ck_assert_msg(wait < 1e-6, "step %d: %g tokens, wait %g", i, tokens[k], wait);
            if (wait == 0) tokens[k] -= 1;
        } else {
            refused++;
            ck_assert_double_eq_tol(wait, (1 - tokens[k]) / 3, 1e-6);
        }
    }
    ck_assert_int_gt(refused, 1000);
    quota_free(q);
}

TEST(a_million_keys_delay_no_other_key)
{
    struct quota *q = make(1, 2, 4096);
    /* the innocent asks now and then, the flood uses a key once or twice */
    for (int i = 0; i < 1000000; i++) {
        double now_s = 10 + i * 1e-4;
        ck_assert_double_eq(take(q, 1000 + i, now_s), 0);
        if (i % 10000 == 0) ck_assert_double_eq(take(q, 1, now_s), 0);
    }
    quota_free(q);
}

TEST(the_bucket_that_owes_most_stays_longest)
{
    struct quota *q = make(1, 100, 64);
    for (int i = 0; i < 100; i++)
        ck_assert_double_eq(take(q, 1, 1000), 0);
    ck_assert_double_gt(take(q, 1, 1000), 0);
    /* far more keys than places, each owing little */
    for (int i = 0; i < 100000; i++)
        ck_assert_double_eq(take(q, 100 + i, 1000), 0);
    ck_assert_double_gt(take(q, 1, 1000), 0);
    quota_free(q);
}

static struct quota *shared;
static atomic_int allowed;

static void *ask(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 5000; i++)
        if (take(shared, i % 3, 77) == 0) allowed++;
    return NULL;
}

TEST(threads_do_not_take_more)
{
    shared = make(128, 8, 100); /* binary fractions: exact */
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&t[i], NULL, ask, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    ck_assert_int_eq(allowed, 3 * 1024);
    quota_free(shared);
}

static void *make_one(void *ctx, struct err *e)
{
    (void)ctx;
    return quota_new(1, 1, 100, 1, e);
}

static void destroy(void *made)
{
    quota_free(made);
}

TEST(memory_may_run_out)
{
    ck_assert_int_eq(alloc_each_fails(make_one, destroy, NULL), 2);
}

SUITE(serve_access_quota, a_burst_then_the_rate, a_slow_rate_still_allows_one,
      the_first_is_let_in_at_any_time, it_is_a_token_bucket,
      a_million_keys_delay_no_other_key, the_bucket_that_owes_most_stays_longest,
      threads_do_not_take_more, memory_may_run_out);
