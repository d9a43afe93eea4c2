#include "base/cond.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <time.h>

/* near the end of time_t on every machine */
static const double NEVER_S = 1e15;

void cond_init(pthread_cond_t *c)
{
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    int rc = pthread_cond_init(c, &steady);
    assert(rc == 0);
    pthread_condattr_destroy(&steady);
}

bool cond_wait(pthread_cond_t *c, pthread_mutex_t *lock, double until_s)
{
    assert(until_s >= 0);
    double whole = floor(fmin(until_s, NEVER_S));
    struct timespec until = {.tv_sec = (time_t)whole};
    if (until_s < NEVER_S) until.tv_nsec = (long)((until_s - whole) * 1e9);
    int rc = pthread_cond_timedwait(c, lock, &until);
    assert(rc == 0 || rc == ETIMEDOUT);
    return rc == 0;
}
