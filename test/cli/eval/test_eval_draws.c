/* What it prints is tried in test_cmd_eval.c, from outside. */
#include "cli/eval/eval_draws.h"

#include "support/suites.h"

TEST(bars_are_not_judged)
{
    struct field_list l = {.n = 5,
                           .item = {"buffer", "moe", "mpc", "mpc-default", "bola"}};
    ck_assert_int_eq(eval_draws_judged(&l), 2);
    l = (struct field_list){.n = 2, .item = {"bola", "mpc"}};
    ck_assert_int_eq(eval_draws_judged(&l), 0);
}

SUITE(cli_eval_eval_draws, bars_are_not_judged);
