#include "lab/forgetting/experiment.h"

#include "support/suites.h"

#include <math.h>

enum { REPS = 5, POINTS = 3 };
static const int GRID[POINTS] = {10, 40, 120};

static struct experiment_arm repeated(bool edge, int series, int threads)
{
    struct experiment_arm arm = {.cfg = mixture_default(edge, 5, MIXTURE_STOP)};
    const struct lab_task t = {.threads = threads, .seed = 3};
    struct err e = {0};
    arm.cfg.rounds = GRID[POINTS - 1];
    ck_assert_int_eq(experiment_repeat(&arm, NULL, REPS, GRID, POINTS, series, &t, &e),
                     0);
    return arm;
}

/* Each column, with all series and with those of a comparison alone, is what one repetition says. */
TEST(columns_are_the_repetitions)
{
    for (int k = 0; k < 4; k++) {
        int edge = k & 1, series = k & 2 ? MIXTURE_SERIES : MIXTURE_CORE;
        struct experiment_arm arm = repeated(edge, series, 1);
        double value[MIXTURE_SERIES * POINTS];
        struct mixture_end end;
        const struct mixture_to to = {GRID, POINTS, series, value, NULL};
        ck_assert_int_eq(mixture_run(&end, &to, &arm.cfg, NULL, 3, 2, NULL), 0);
        const double *row = reps_row(arm.reps, 2);
        for (int s = 0; s < series; s++)
            for (int p = 0; p < POINTS; p++) {
                double x = row[experiment_column(&arm, s, p)];
                ck_assert(x == value[s * POINTS + p] ||
                          (isnan(x) && isnan(value[s * POINTS + p])));
            }
        const struct {
            int column;
            double value;
        } ends[] = {{EXPERIMENT_G, end.error},
                    {EXPERIMENT_OFF_PRINTED, end.error - end.printed},
                    {EXPERIMENT_OFF_EXACT, end.error - end.exact},
                    {EXPERIMENT_FORM, end.exact},
                    {EXPERIMENT_T1, edge ? 30 : 10},
                    {EXPERIMENT_QUEUED, end.waited / 120.0},
                    {EXPERIMENT_WAIT, end.wait},
                    {EXPERIMENT_DELAY, end.delay}};
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            ck_assert_double_eq(row[experiment_column(&arm, ends[i].column, 0)],
                                ends[i].value);
        reps_free(arm.reps);
    }
}

/* The last column of one kind does not reach into the next. */
TEST(columns_do_not_overlap)
{
    struct experiment_arm arm = {.points = 7, .series = MIXTURE_SERIES};
    ck_assert_int_eq(experiment_column(&arm, MIXTURE_RUNNING, 6), MIXTURE_SERIES * 7 - 1);
    ck_assert_int_eq(experiment_column(&arm, EXPERIMENT_G, 0), MIXTURE_SERIES * 7);
    ck_assert_int_eq(experiment_column(&arm, EXPERIMENT_SIGMA0, 0),
                     MIXTURE_SERIES * 7 + EXPERIMENT_COLUMNS - MIXTURE_SERIES - 1);
}

TEST(threads_change_nothing)
{
    struct experiment_arm a = repeated(false, MIXTURE_SERIES, 1),
                          b = repeated(false, MIXTURE_SERIES, 3);
    int n = MIXTURE_SERIES * POINTS + EXPERIMENT_COLUMNS - MIXTURE_SERIES;
    for (int i = 0; i < REPS; i++)
        ck_assert_mem_eq(reps_row(a.reps, i), reps_row(b.reps, i),
                         (size_t)n * sizeof(double));
    reps_free(a.reps);
    reps_free(b.reps);
}

SUITE(lab_forgetting_experiment, columns_are_the_repetitions, columns_do_not_overlap,
      threads_change_nothing);
