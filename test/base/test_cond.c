#include "base/cond.h"

#include "base/clock.h"
#include "support/suites.h"

#include <math.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static bool called;

static void setup(void)
{
    cond_init(&cond);
    called = false;
}

static void teardown(void)
{
    pthread_cond_destroy(&cond);
}

static bool wait_until(double until_s)
{
    pthread_mutex_lock(&lock);
    while (!called && cond_wait(&cond, &lock, until_s))
        ;
    bool was = called;
    pthread_mutex_unlock(&lock);
    return was;
}

TEST(nobody_calls)
{
    static const double waits[] = {0, .02, .0999999999, 1};
    double from = clock_mono();
    ck_assert(!wait_until(0)); /* long gone */
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        from = clock_mono();
        ck_assert(!wait_until(from + waits[i]));
        /* the time is cut to nanoseconds */
        ck_assert_double_ge(clock_mono() - from, waits[i] - 1e-8);
    }
}

static void *call(void *ctx)
{
    pthread_mutex_lock(&lock);
    called = true;
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return ctx;
}

TEST(somebody_calls)
{
    static const double waits[] = {60, 1e12, INFINITY};
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        pthread_t other;
        called = false;
        ck_assert_int_eq(pthread_create(&other, NULL, call, NULL), 0);
        ck_assert(wait_until(clock_mono() + waits[i]));
        pthread_join(other, NULL);
    }
}

SUITE_SET_UP(base_cond, 0, setup, teardown, nobody_calls, somebody_calls);
