#include "cli/trial_plan.h"

#include <check.h>
#include <math.h>

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
    tmpdir_remove(dir);
}

SUITE(cli_trial_plan, a_fixed_size_by_hand, the_table_has_typical_and_own_deviations);
