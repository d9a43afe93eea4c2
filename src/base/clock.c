#include "base/clock.h"

#include <assert.h>
#include <time.h>

static double read_clock(clockid_t id)
{
    struct timespec t;
    int rc = clock_gettime(id, &t);
    assert(rc == 0);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double clock_now(void)
{
    return read_clock(CLOCK_REALTIME);
}

double clock_mono(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double clock_cpu(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double clock_thread_cpu(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
