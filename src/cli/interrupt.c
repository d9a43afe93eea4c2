#include "cli/interrupt.h"

#include "base/clock.h"

#include <math.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t seen, hangup;
static sem_t wake; /* sem_post is one of the few calls that a handler may make */

static void on_signal(int sig)
{
    (void)sig;
    seen = 1;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    sem_post(&wake);
}

static void on_hangup(int sig)
{
    (void)sig;
    hangup = 1;
    sem_post(&wake);
}

static void handle(int sig, void (*handler)(int))
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = SA_RESTART;
    sigemptyset(&a.sa_mask);
    sigaction(sig, &a, NULL);
}

void interrupt_catch(void)
{
    seen = hangup = 0;
    sem_init(&wake, 0, 0);

    handle(SIGINT, on_signal);
    handle(SIGTERM, on_signal);
}

bool interrupt_seen(void)
{
    return seen != 0;
}

bool interrupt_wait(double seconds)
{
    double until = clock_mono() + seconds; /* also when the clock is set meanwhile */
    struct timespec t = {.tv_sec = (time_t)until,
                         .tv_nsec = (long)((until - floor(until)) * 1e9)};
    while (!seen && !hangup && sem_clockwait(&wake, CLOCK_MONOTONIC, &t) && !seen &&
           !hangup && clock_mono() < until)
        ;
    return seen != 0;
}

void interrupt_catch_hangup(void)
{
    handle(SIGHUP, on_hangup);
}

bool interrupt_hangup(void)
{
    if (!hangup) return false; /* the next call reports one that comes now */
    hangup = 0;
    return true;
}
