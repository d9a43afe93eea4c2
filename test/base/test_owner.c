#include "base/owner.h"

#include "support/suites.h"

#include <pthread.h>
#include <signal.h>

static struct owner o;

static void setup(void)
{
    o = (struct owner){0};
}

static void *enter_and_leave(void *ctx)
{
    owner_enter(ctx);
    owner_leave(ctx);
    return NULL;
}

static void on_another_thread(void *(*fn)(void *))
{
    pthread_t t;
    ck_assert_int_eq(pthread_create(&t, NULL, fn, &o), 0);
    pthread_join(t, NULL);
}

TEST(threads_take_turns)
{
    enter_and_leave(&o);
    on_another_thread(enter_and_leave);
    enter_and_leave(&o);
}

TEST(calls_nest)
{
    owner_enter(&o);
    owner_enter(&o);
    owner_leave(&o);
    owner_assert(&o);
    owner_leave(&o);
    on_another_thread(enter_and_leave);
}

TEST(two_threads_at_once_end_the_program)
{
    owner_enter(&o);
    on_another_thread(enter_and_leave);
}

TEST(so_does_one_that_is_not_within)
{
    owner_assert(&o);
}

Suite *suite_base_owner(void);
Suite *suite_base_owner(void)
{
    Suite *s = suite_create("base/owner");
    TCase *t = tcase_create("base/owner");
    tcase_add_checked_fixture(t, setup, NULL);
    tcase_add_test(t, threads_take_turns);
    tcase_add_test(t, calls_nest);
    tcase_add_test_raise_signal(t, two_threads_at_once_end_the_program, SIGABRT);
    tcase_add_test_raise_signal(t, so_does_one_that_is_not_within, SIGABRT);
    suite_add_tcase(s, t);
    return s;
}
