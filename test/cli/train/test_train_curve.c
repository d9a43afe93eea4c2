#include "cli/train/train_curve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

TEST(rows_fit_the_head)
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

/* What stands before is the file's, what is returned stands in it after rows at 300 and 400. */
static char *resumed(const char *path, const char *before, int64_t at)
{
    struct err e = {0};
    if (before) ck_assert_int_eq(text_write_file(path, before, strlen(before), &e), 0);
    FILE *f = train_curve_open(path, at, 1, 0, &e);
    ck_assert_msg(f != NULL, "%s", e.detail);
    for (int i = 3; i <= 4; i++) {
        struct train_row r = {.iteration = i, .steps = 100 * i};
        train_curve_row(f, &r, 1, 0);
    }
    ck_assert(train_curve_close(f));
    char *text = text_read_file(path, 1 << 20, NULL, &e);
    ck_assert_ptr_nonnull(text);
    return text;
}

TEST(a_training_that_goes_on_goes_on_in_its_curve)
{
    const char *dir = tmpdir_new();
    char *path = strdup(tmpdir_path(dir, "curve.csv"));
    FILE *f = fopen(path, "w");
    train_curve_head(f, 1, 0);
    for (int i = 1; i <= 4; i++) {
        struct train_row r = {.iteration = i, .steps = 100 * i};
        train_curve_row(f, &r, 1, 0);
    }
    fclose(f);
    struct err e = {0};
    char *whole = text_read_file(path, 1 << 20, NULL, &e), before[4096];
    char *third = strstr(whole, "\n3,300,");
    ck_assert_ptr_nonnull(third);

    /* more than the checkpoint has, then half a row */
    snprintf(before, sizeof before, "%s5,500,0.00", whole);
    char *text = resumed(path, before, 200);
    ck_assert_str_eq(text, whole);
    free(text);
    /* rows twice, as they came to be before */
    snprintf(before, sizeof before, "%.*s%s", (int)(third + 1 - whole), whole,
             strchr(whole, '\n') + 1);
    text = resumed(path, before, 200);
    ck_assert_str_eq(text, whole);
    free(text);
    /* killed before a row, or within the head; a new file */
    char *last = resumed(path, "iteration,st", 200);
    ck_assert_str_eq(strchr(last, '\n'), third);
    free(last);
    remove(path);
    last = resumed(path, NULL, 200);
    ck_assert_str_eq(strchr(last, '\n'), third);
    free(last);

    /* somebody else's stays as it is */
    ck_assert_int_eq(text_write_file(path, "a,b\n1,2\n", 8, &e), 0);
    ck_assert_ptr_null(train_curve_open(path, 200, 1, 0, &e));
    ck_assert_int_eq(e.code, ERR_CONFLICT);
    text = text_read_file(path, 100, NULL, &e);
    ck_assert_str_eq(text, "a,b\n1,2\n");
    free(text);
    free(whole);
    free(path);
}

SUITE(cli_train_train_curve, rows_fit_the_head,
      a_training_that_goes_on_goes_on_in_its_curve);
