#include "lab/shift/shift.h"

#include "learn/ckpt.h"
#include "support/labs.h"
#include "support/suites.h"
#include "support/tmpdir.h"

/* A run of ten iterations. */
static void small(struct labs_run *r, const char *preset, const char *policies,
                  int threads)
{
    labs_start(r, &shift_lab);
    labs_set_text(r, "preset", preset);
    labs_set(r, "steps", 20000);
    labs_set_text(r, "variant", "moe,pamoe");
    labs_set_text(r, "policies", policies);
    r->task.threads = threads;
}

TEST(from_runs_to_report)
{
    const char *dir = tmpdir_new();
    struct labs_run run;
    small(&run, "code", dir, 2);
    labs_go(&run, 0);
    labs_pass(run.task.report, 1); /* the router's gradient, exactly 0 */
    ck_assert_int_ge(report_tables(run.task.report), 3);
    ck_assert_int_ge(report_rows(run.task.report, 0), 15);

    struct policy *p = ckpt_load(tmpdir_path(dir, "code-moe-2-news.safetensors"), NULL,
                                 NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(p->cfg.experts, 3);
    policy_free(p);
    labs_end(&run);
}

TEST(threads_do_not_matter)
{
    struct labs_run one, two;
    small(&one, "paper", "", 1);
    small(&two, "paper", "", 2);
    labs_go(&one, 0);
    labs_go(&two, 0);
    const struct report *a = one.task.report, *b = two.task.report;
    char x[64], y[64];
    for (int row = 0; row < report_rows(a, 0); row++)
        for (int k = 0; report_column(a, 0, k); k++) {
            const char *in_a = report_shown(x, a, 0, row, k);
            const char *in_b = report_shown(y, b, 0, row, k);
            ck_assert(!in_a == !in_b);
            if (in_a) ck_assert_str_eq(in_a, in_b);
        }
    labs_end(&two);
    labs_end(&one);
}

TEST(a_folder_that_is_not_there)
{
    struct labs_run r;
    small(&r, "code", "/nonexistent/place", 2);
    labs_go(&r, ERR_IO);
    labs_end(&r);
}

SUITE_WITHIN(lab_shift_shift, 60, from_runs_to_report, threads_do_not_matter,
             a_folder_that_is_not_there);
