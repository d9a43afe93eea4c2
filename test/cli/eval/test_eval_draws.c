/* What it prints is tried in test_cmd_eval.c, from outside. */
#include "cli/eval/eval_draws.h"

#include <check.h>

START_TEST(bars_are_not_judged)
{
    struct field_list l = {.n = 5,
                           .item = {"buffer", "moe", "mpc", "mpc-default", "bola"}};
    ck_assert_int_eq(eval_draws_judged(&l), 2);
    l = (struct field_list){.n = 2, .item = {"bola", "mpc"}};
    ck_assert_int_eq(eval_draws_judged(&l), 0);
}
END_TEST

Suite *suite_cli_eval_eval_draws(void);
Suite *suite_cli_eval_eval_draws(void)
{
    Suite *s = suite_create("cli/eval/eval_draws");
    TCase *t = tcase_create("all");
    tcase_add_test(t, bars_are_not_judged);
    suite_add_tcase(s, t);
    return s;
}
