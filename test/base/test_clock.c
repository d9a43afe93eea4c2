#include "base/clock.h"

#include "support/suites.h"

#include <time.h>

TEST(now_is_the_epochs_second)
{
    double before = (double)time(NULL), now = clock_now(), after = (double)time(NULL);
    ck_assert_double_ge(now, before - 1); /* time() may lag by a tick */
    ck_assert_double_le(now, after + 2);
}

TEST(mono_never_goes_back)
{
    double last = clock_mono();
    for (int i = 0; i < 1000; i++) {
        double t = clock_mono();
        ck_assert_double_ge(t, last);
        last = t;
    }
}

TEST(work_costs_cpu_time)
{
    double process = clock_cpu(), thread = clock_thread_cpu();
    volatile double x = 1;
    while (clock_thread_cpu() - thread < 1e-3)
        x = x * 1.0000001;
    ck_assert_double_ge(clock_cpu() - process, 1e-3);
}

SUITE(base_clock, now_is_the_epochs_second, mono_never_goes_back, work_costs_cpu_time);
