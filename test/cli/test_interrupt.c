#include "cli/interrupt.h"

#include "support/suites.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

TEST(the_first_signal_sets_the_flag)
{
    interrupt_catch();
    ck_assert(!interrupt_seen());
    ck_assert(!interrupt_wait(.001));
    raise(_i ? SIGTERM : SIGINT);
    ck_assert(interrupt_seen());
    ck_assert(interrupt_wait(1000));
}

static void *send_signal(void *arg)
{
    (void)arg;
    kill(getpid(), SIGINT);
    return NULL;
}

TEST(a_signal_to_another_thread_wakes_the_waiting_one)
{
    interrupt_catch();
    pthread_t t;
    pthread_create(&t, NULL, send_signal, NULL);
    ck_assert(interrupt_wait(1000));
    pthread_join(t, NULL);
}

TEST(the_second_signal_kills)
{
    pid_t child = fork();
    if (child == 0) {
        interrupt_catch();
        raise(SIGTERM);
        raise(SIGINT);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGINT);
}

TEST(a_hangup_wakes_and_is_told_once)
{
    interrupt_catch();
    interrupt_catch_hangup();
    ck_assert(!interrupt_hangup());
    raise(SIGHUP);
    ck_assert(!interrupt_wait(1000));
    ck_assert(interrupt_hangup());
    ck_assert(!interrupt_hangup());
    ck_assert(!interrupt_seen());
    raise(SIGTERM);
    ck_assert(interrupt_wait(1000));
}

SUITE(cli_interrupt, TIMES(the_first_signal_sets_the_flag, 2),
      a_signal_to_another_thread_wakes_the_waiting_one, the_second_signal_kills,
      a_hangup_wakes_and_is_told_once);
