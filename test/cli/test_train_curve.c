#include "cli/train_curve.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

START_TEST(rows_fit_the_head)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    train_curve_head(f, 2, 3);
    struct train_row r = {.iteration = 4, .steps = 256, .lr = .001, .entropy = .05};
    r.ppo.entropy = 1.25;
    r.ppo.gate[PPO_ACTOR].converged = 2;
    r.ppo.gate[PPO_CRITIC].moved = .5;
    r.rerouted[PPO_ACTOR] = .0625;
    r.ppo.expert_share[0] = .75f;
    r.ppo.expert_share[1] = .25f;
    r.rollout.steps[1] = 10;
    r.rollout.reward[1] = -2.5;
    train_curve_row(f, &r, 2, 3);
    rewind(f);
    char head[512], row[512];
    ck_assert_ptr_nonnull(fgets(head, sizeof head, f));
    ck_assert_ptr_nonnull(fgets(row, sizeof row, f));
    fclose(f);
    ck_assert_ptr_nonnull(strstr(
        head, ",grad_norm,actor_converged,critic_converged,actor_moved,critic_moved,"
              "actor_rerouted,critic_rerouted,expert0,expert1,reward0,reward1,"
              "reward2\n"));
    ck_assert_str_eq(row, "4,256,0.001,0.05,0,0,1.25,0,0,0,0,0,0,2,0,0,0.5,0.0625,0.0000,"
                          "0.7500,0.2500,,-2.5,\n");
}
END_TEST

Suite *suite_cli_train_curve(void);
Suite *suite_cli_train_curve(void)
{
    Suite *s = suite_create("cli/train_curve");
    TCase *t = tcase_create("cli/train_curve");
    tcase_add_test(t, rows_fit_the_head);
    suite_add_tcase(s, t);
    return s;
}
