#include "abr/deciders/cap.h"

#include <check.h>

#include "support/suites.h"

static struct view view_of(int last_level)
{
    struct view v = view_default();
    v.levels = 4;
    v.last_level = last_level;
    v.last_points = 88;
    for (int k = 0; k < 4; k++)
        v.ladder_kbps[k] = 300 << k;
    return v;
}

TEST(levels_up_to_the_cap_are_allowed)
{
    struct {
        double max_kbps;
        int levels;
    } row[] = {{0, 4},    {1e6, 4}, {2400, 4}, {2399.9999999, 4},
               {2399, 3}, {600, 2}, {599, 1},  {1, 1}};
    struct view v = view_of(-1);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ck_assert_int_eq(cap_levels(&v, row[i].max_kbps), row[i].levels);
}

TEST(a_view_keeps_two_levels_and_what_was_seen)
{
    struct view v = view_of(3);
    cap_view(&v, 3);
    ck_assert_int_eq(v.levels, 3);
    ck_assert_int_eq(v.last_level, 2);
    ck_assert_double_eq(v.last_points, 88);
    v = view_of(-1);
    cap_view(&v, 1);
    ck_assert_int_eq(v.levels, 2);
    ck_assert_int_eq(v.last_level, -1);
    v = view_of(1);
    cap_view(&v, 4);
    ck_assert_int_eq(v.levels, 4);
    ck_assert_int_eq(v.last_level, 1);
}

SUITE(abr_deciders_cap, levels_up_to_the_cap_are_allowed,
      a_view_keeps_two_levels_and_what_was_seen);
