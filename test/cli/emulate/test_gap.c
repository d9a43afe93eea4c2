#include "cli/emulate/gap.h"

#include "support/suites.h"

TEST(profiles_add_up)
{
    struct gap g;
    ck_assert_int_eq(gap_init(&g, 2, NULL), 0);
    gap_add(&g, (const double[]){1, 2}, (const double[]){2, 2}, (const double[]){5, 4},
            1);
    gap_add(&g, (const double[]){0, 8}, (const double[]){4, 4}, (const double[]){8, 16},
            4);
    /* 1 + 4/4, 0 - 4/4; 4 + 8/4, 2 + 8/4 */
    ck_assert_double_eq(g.gain[0], 2);
    ck_assert_double_eq(g.gain[1], -1);
    ck_assert_double_eq(g.most[0], 6);
    ck_assert_double_eq(g.most[1], 4);
    gap_free(&g);
}

SUITE(cli_emulate_gap, profiles_add_up);
