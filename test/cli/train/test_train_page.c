/* The page of a whole training is in test_cmd_train.c. */
#include "cli/train/train_page.h"

#include "base/text.h"
#include "support/page_home.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name(void *ctx, int tag)
{
    (void)ctx;
    return tag ? "news" : "live";
}

TEST(rows_become_curves)
{
    char path[128];
    const char *dir = page_home_new();
    snprintf(path, sizeof path, "%s/t.html", dir);
    struct err e = {0};
    struct train_page *p = train_page_new(path, 2, 2, &e);
    ck_assert_msg(p != NULL, "%s: %s", e.field, e.detail);
    for (int i = 1; i <= 300; i++) {
        struct train_row row = {.iteration = i, .steps = 10 * i};
        row.ppo.entropy = 1.5;
        row.ppo.expert_share[1] = .25;
        row.rollout.steps[0] = 5;
        row.rollout.reward[0] = i;
        train_page_add(p, &row);
    }
    ck_assert_int_eq(train_page_write(p, name, NULL, &e), 0);
    char *data = text_read_file(tmpdir_path(dir, "t.csv"), 1 << 20, NULL, NULL);
    ck_assert_ptr_nonnull(strstr(data, "\nreward,,live,10,1,"));
    ck_assert_ptr_nonnull(strstr(data, "\nreward,,live,3000,300,"));
    ck_assert_ptr_null(strstr(data, "news")); /* it had no step */
    ck_assert_ptr_nonnull(strstr(data, "\nlearning,entropy,entropy,10,1.5,"));
    ck_assert_ptr_nonnull(strstr(data, "\nexperts,,expert 1,10,0.25,"));
    free(data);
    train_page_free(p);
    train_page_free(NULL);
    unsetenv("ABRD_HOME");
}

SUITE(cli_train_train_page, rows_become_curves);
