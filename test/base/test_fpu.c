#include "base/fpu.h"

#include "support/suites.h"

#include <float.h>

/* volatile: computed when the test runs, where it stands, not by the compiler */
static float half_of(float x)
{
    volatile float y = x;
    y = y * 0.5f;
    return y;
}

TEST(subnormals_are_zero_between_begin_and_end)
{
    ck_assert_float_gt(half_of(FLT_MIN), 0.f);
    uint64_t before = fpu_flush_begin();
    float inside = half_of(FLT_MIN), normal = half_of(1.f);
    fpu_flush_end(before);
#if defined(__SSE__) || defined(__aarch64__)
    ck_assert_float_eq(inside, 0.f);
#endif
    ck_assert_float_eq(normal, .5f);
    ck_assert_float_gt(half_of(FLT_MIN), 0.f);
}

TEST(the_inner_end_leaves_the_outer_setting)
{
    uint64_t outer = fpu_flush_begin(), inner = fpu_flush_begin();
    fpu_flush_end(inner);
    float inside = half_of(FLT_MIN);
    fpu_flush_end(outer);
#if defined(__SSE__) || defined(__aarch64__)
    ck_assert_float_eq(inside, 0.f);
#endif
    ck_assert_float_gt(half_of(FLT_MIN), 0.f);
}

SUITE(base_fpu, subnormals_are_zero_between_begin_and_end,
      the_inner_end_leaves_the_outer_setting);
