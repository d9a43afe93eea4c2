#include "lab/lab.h"

#include "support/suites.h"

#include <stdio.h>
#include <string.h>

static const struct lab_option options[] = {
    {"deep", NULL, "a flag", .kind = LAB_FLAG},
    {"seeds", "N", "runs", LAB_INT, .value = 10, .quick = 2},
    {"eta", "X", "step size", LAB_REAL, .value = .5, .quick = .5},
    {"preset", "NAME", "which", LAB_TEXT, .text = "paper"},
    {0},
};
static const struct lab lab = {.name = "toy", .options = options};

struct said {
    int lines;
    char line[512];
    bool stop;
    double share;
    char note[160];
};

static void say(void *ctx, const char *line)
{
    struct said *s = ctx;
    s->lines++;
    snprintf(s->line, sizeof s->line, "%s", line);
}

static bool progress(void *ctx, double share, const char *note)
{
    struct said *s = ctx;
    s->share = share;
    snprintf(s->note, sizeof s->note, "%s", note);
    return s->stop;
}

TEST(options_are_found_by_name)
{
    const struct lab_value value[] = {
        {.number = 1}, {.number = 1e12}, {.number = .25}, {.text = "code"}};
    const struct lab_task t = {.lab = &lab, .value = value};
    ck_assert(lab_flag(&t, "deep"));
    ck_assert_int_eq(lab_int(&t, "seeds"), 1000000000000);
    ck_assert_double_eq(lab_real(&t, "eta"), .25);
    ck_assert_str_eq(lab_text(&t, "preset"), "code");
}

TEST(without_callbacks)
{
    const struct lab_task t = {.lab = &lab};
    char path[LAB_PATH];
    struct err e = {0};
    ck_assert(!lab_progress(&t, .5, ""));
    ck_assert_int_eq(lab_find(&t, path, "traces", &e), ERR_ABSENT);
    ck_assert_str_eq(e.field, "traces");
}

static int one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    (void)ctx, (void)e;
    sweep_put(job, &i, sizeof i);
    return sweep_tick(job, 1) ? SWEEP_STOPPED : 0;
}

TEST(sweep_takes_what_the_task_says)
{
    const struct sweep_run run[] = {{"a", "1"}, {"b", "2"}};
    struct said said = {0};
    struct lab_task t = {.lab = &lab,
                         .threads = 1,
                         .version = "1",
                         .progress = progress,
                         .say = say,
                         .ctx = &said};
    struct err e = {0};
    struct sweep *s = NULL;
    ck_assert_int_eq(lab_sweep(&s, &t, run, 2, one, NULL, &e), 0);
    ck_assert_int_eq(*(const int *)sweep_result(s, 1, NULL), 1);
    ck_assert_double_eq(said.share, 1);
    ck_assert_str_eq(said.note, "2 of 2 runs  ");
    ck_assert_int_eq(said.lines, 0);
    sweep_free(s);

    lab_part(&t, .5, .75);
    ck_assert(!lab_progress(&t, .5, "note"));
    ck_assert_double_eq(said.share, .625);
    ck_assert_int_eq(lab_sweep(&s, &t, run, 2, one, NULL, &e), 0);
    ck_assert_double_eq(said.share, .75);
    sweep_free(s);

    said.stop = true;
    ck_assert_int_eq(lab_sweep(&s, &t, run, 2, one, NULL, &e), LAB_STOPPED);
    ck_assert_ptr_null(s);
    said.stop = false;

    const struct sweep_run bad = {"a/b", "1"};
    ck_assert_int_eq(lab_sweep(&s, &t, &bad, 1, one, NULL, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "a/b");
}

static bool tick_share(void *ctx, double share)
{
    *(double *)ctx = share;
    return share >= 0.75;
}

TEST(ticks_are_parts_of_a_run)
{
    double share;
    const struct lab_tick all = {tick_share, &share, 0, 0};
    const struct lab_tick part = {tick_share, &share, 0.5, 0.75};
    ck_assert(!lab_tick(NULL, 1));
    ck_assert(!lab_tick(&all, 0.5) && share == 0.5);
    ck_assert(lab_tick(&all, 3) && share == 1);
    ck_assert(!lab_tick(&part, 0.5) && share == 0.625);
    ck_assert(lab_tick(&part, 3) && share == 0.75);
}

static void label(struct lab_label *l, const void *ctx, int i)
{
    snprintf(l->name, sizeof l->name, "%s-%d", (const char *)ctx, i);
    snprintf(l->config, sizeof l->config, "run=%d", i);
}

TEST(sweep_of_labels)
{
    char good[] = "a", bad[] = "a/b";
    const struct lab_task t = {.lab = &lab, .threads = 1, .version = "1"};
    struct err e = {0};
    struct sweep *s = NULL;
    ck_assert_int_eq(lab_sweep_of(&s, &t, 3, label, one, good, &e), 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(*(const int *)sweep_result(s, i, NULL), i);
    sweep_free(s);
    ck_assert_int_eq(lab_sweep_of(&s, &t, 3, label, one, bad, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "a/b-0");
    ck_assert_ptr_null(s);
}

SUITE(lab_lab, options_are_found_by_name, without_callbacks,
      sweep_takes_what_the_task_says, sweep_of_labels, ticks_are_parts_of_a_run);
