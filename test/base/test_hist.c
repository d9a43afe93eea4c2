#include "base/hist.h"

#include "base/pool.h"

#include "support/suites.h"

#include <math.h>

TEST(values_fall_where_they_belong)
{
    struct hist h;
    struct hist_reading r;
    hist_init(&h, 1, 2, 4); /* 1 2 4 8 */
    static const double x[] = {0, 1, 1.5, 2, 2.0000001, 8, 8.5, 1e300, -3, INFINITY};
    for (int i = 0; i < 10; i++)
        hist_add(&h, x[i]);
    hist_add(&h, NAN);

    hist_read(&r, &h);
    ck_assert_int_eq(r.n, 4);
    ck_assert_double_eq(r.bound[3], 8);
    ck_assert_uint_eq(r.below[0], 3); /* 0, 1, -3 */
    ck_assert_uint_eq(r.below[1], 5);
    ck_assert_uint_eq(r.below[2], 6);
    ck_assert_uint_eq(r.below[3], 7);
    ck_assert_uint_eq(r.count, 10);
    hist_init(&h, 1, 2, 4);
    hist_read(&r, &h);
    ck_assert(r.count == 0 && r.sum == 0);
}

static void add_some(void *ctx, int i)
{
    for (int k = 0; k < 1000; k++)
        hist_add(ctx, i);
}

TEST(nothing_is_lost_between_threads)
{
    struct hist h;
    struct hist_reading r;
    hist_init(&h, 1, 2, 6);
    pool_run(16, 4, add_some, &h);
    hist_read(&r, &h);
    ck_assert_uint_eq(r.count, 16000);
    ck_assert_double_eq(r.sum, 1000 * (15 * 16 / 2));
}

SUITE(base_hist, values_fall_where_they_belong, nothing_is_lost_between_threads);
