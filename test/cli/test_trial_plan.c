#include "cli/trial_plan.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "base/confseq.h"
#include "support/program.h"
#include "support/stored.h"
#include "support/suites.h"
#include "support/tmpdir.h"

/* 2 (1.96 + 0.84)^2 2 sd^2 / d^2, by hand. */
TEST(a_fixed_size_by_hand)
{
    ck_assert_double_eq(confseq_fixed(.5, (double[]){1, 1}, .5), 126);
    ck_assert_double_eq(confseq_fixed(.5, (double[]){1, 1}, .1), 3140);
    ck_assert_double_eq(confseq_fixed(.1, (double[]){1, 1}, .5), 349);
    ck_assert(isinf(confseq_fixed(.5, (double[]){1, 1}, 0)));
}

TEST(the_table_has_typical_and_own_deviations)
{
    const char *dir = tmpdir_new();
    program_expect("trial plan --csv -", 0, "startup,s,1,0.5,126,");
    program_expect("trial plan --share 0.1 --csv -", 0, "startup,s,1,0.5,349,");
    program_expect("trial plan --per-day 100", 0, "days");
    program_expect("trial plan --share 2", 2, "share");
    stored_make(&(struct stored_cfg){.dir = dir,
                                     .sessions = 6,
                                     .seed = 3,
                                     .arms = 1,
                                     .arm = {"a"},
                                     .policy = {"rate"}});
    program_expect_in(dir, "trial plan --data @", 1, "has no session that ended");
    program_expect_in(dir, "trial plan --data @/none", 1, "none");
    /* two sessions that are alike do not say how much viewers differ */
    struct store s;
    char path[512];
    snprintf(path, sizeof path, "%s/abrd.db", dir);
    struct store_sqlite_cfg cfg = {.path = path, .reserve = -1};
    ck_assert_int_eq(store_sqlite_open(&s, &cfg, NULL), 0);
    for (int i = 0; i < 2; i++) {
        struct store_rec rec = {.kind = STORE_SESSION};
        rec.row =
            (struct track_row){.id = {9, (uint8_t)i},
                               .levels = 2,
                               .ladder_kbps = {1, 2},
                               .closed = true,
                               .seen = {.started = true, .chunks = 4, .played_s = 9}};
        ck_assert_int_eq(s.write(s.self, &rec, 1, NULL), 0);
    }
    s.free(s.self);
    program_expect_in(dir, "trial plan --data @ --csv -", 0, "startup,s,,0.5,,,\n");
    tmpdir_remove(dir);
}

SUITE(cli_trial_plan, a_fixed_size_by_hand, the_table_has_typical_and_own_deviations);
