#include "lab/forgetting/forgetting.h"

#include "lab/forgetting/edge.h"
#include "support/glyphs.h"
#include "support/labs.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct number {
    const char *option;
    double value;
};

/* Both labs run small. CHECKS of `forgetting`: 7 of the closed forms, 2 sizes x 5. Of `edge`: 2 rules x
 * 2 forms, 2 sizes x 3 rules, 2 more. */
static const struct one {
    const struct lab *lab;
    struct number small[6], tiny[3]; /* tiny: on top of small */
    int checks, image_checks[2];     /* full, quick */
    int table, image_rows[2];        /* the images' table */
    int stop_at;
} LABS[] = {
    {&forgetting_lab,
     {{"reps", 30},
      {"rounds", 400},
      {"exact-reps", 400},
      {"image-reps", 3},
      {"image-rounds", 60}},
     {{"reps", 2}, {"rounds", 60}, {"exact-reps", 2}},
     17,
     {8, 4},
     2,
     {10, 3},
     4},
    {&edge_lab,
     {{"reps", 4},
      {"slots", 500},
      {"exact-reps", 60},
      {"exact-slots", 300},
      {"image-reps", 2},
      {"image-slots", 60}},
     {{"reps", 2}, {"slots", 60}, {"exact-reps", 2}},
     12,
     {6, 3},
     3,
     {12, 4},
     6},
};

static void numbers(struct labs_run *r, const struct number *n, int most)
{
    for (int i = 0; i < most && n[i].option; i++)
        labs_set(r, n[i].option, n[i].value);
}

static void small(struct labs_run *r, const struct one *lab)
{
    labs_start(r, lab->lab);
    numbers(r, lab->small, 6);
    r->task.quick = false;
}

/* As small as it goes: for what is not about the figures. */
static void tiny(struct labs_run *r, const struct one *lab)
{
    small(r, lab);
    numbers(r, lab->tiny, 3);
}

TEST(runs_are_long_enough_for_their_checks)
{
    static const struct {
        const struct lab *lab;
        const char *option;
        double value, quick; /* at least */
    } row[] = {{&forgetting_lab, "image-reps", 10, 2},
               {&forgetting_lab, "reps", 50, 50},
               {&forgetting_lab, "exact-reps", 2000, 2000},
               {&edge_lab, "slots", 3000, 1000}, /* the paper's */
               {&edge_lab, "exact-slots", 3000, 300},
               {&edge_lab, "image-reps", 10, 2}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct lab_option *o = labs_option(row[i].lab, row[i].option);
        ck_assert_msg(o->value >= row[i].value && o->quick >= row[i].quick, "%s",
                      row[i].option);
    }
    ck_assert_double_eq(labs_option(&edge_lab, "slots")->value, 3000);
    ck_assert_double_eq(labs_option(&edge_lab, "exact-slots")->value, 3000);
}

/* A small run's checks hold, but those of `edge` on the printed form, which 60 repetitions do not
 * always tell from the corrected one. The figures do not depend on the number of threads. */
TEST(a_small_run_holds)
{
    struct labs_run run[2];
    small(&run[0], &LABS[_i]);
    small(&run[1], &LABS[_i]);
    labs_go_twice(run);
    const struct report *r = run[0].task.report;
    if (LABS[_i].lab == &forgetting_lab) {
        labs_pass(r, LABS[_i].checks);
        ck_assert_int_eq(report_rows(r, 0), 7); /* one expert has no second row */
    } else {
        ck_assert_int_eq(report_checks(r), LABS[_i].checks);
        for (int i = 0; i < LABS[_i].checks; i++) {
            struct report_check c = report_check_at(r, i);
            ck_assert_msg(c.pass || c.low == 4, "%s: %g", c.name, c.value);
        }
        ck_assert_int_eq(report_rows(r, 0), 4);  /* 2 rules, with and without signal */
        ck_assert_int_eq(report_rows(r, 1), 16); /* 4 sizes x 4 rules */
    }
    labs_end(&run[0]);
}

/* Too few rounds to learn anything: the mixtures do not beat one expert and the checks say so. */
TEST(checks_can_fail)
{
    struct labs_run r;
    small(&r, &LABS[0]);
    labs_set(&r, "rounds", 45);
    labs_go(&r, 0);
    ck_assert_int_gt(report_checks_failed(r.task.report), 0);
    labs_end(&r);
}

/* With images there are a table and checks more; fewer with --quick, and the same
 * for any number of threads. */
TEST(with_images)
{
    const struct one *lab = &LABS[_i];
    const char *dir = tmpdir_new();
    glyphs_write(dir, 20, 8, -1);
    for (int quick = 0; quick < 2; quick++) {
        struct labs_run run[2];
        for (int i = 0; i < 2; i++) {
            tiny(&run[i], lab);
            run[i].dir = dir;
            run[i].task.quick = quick;
        }
        labs_go_twice(run);
        const struct report *r = run[0].task.report;
        labs_names(r, lab->checks + lab->image_checks[quick], lab->checks, "MNIST");
        ck_assert_int_eq(report_rows(r, lab->table), lab->image_rows[quick]);
        labs_end(&run[0]);
    }
}

/* A file that is there and broken is an error, not left out. */
TEST(broken_images)
{
    const char *dir = tmpdir_new();
    glyphs_write(dir, 20, 8, -1);
    ck_assert_int_eq(truncate(tmpdir_path(dir, "t10k-labels-idx1-ubyte"), 50), 0);
    struct labs_run r;
    tiny(&r, &LABS[_i]);
    r.dir = dir;
    labs_go(&r, ERR_CORRUPT);
    ck_assert_ptr_nonnull(strstr(r.e.field, "t10k-labels"));
    labs_end(&r);
}

/* Without images the run is whole, and says once what is missing. */
TEST(without_images)
{
    struct labs_run r;
    tiny(&r, &LABS[_i]);
    labs_go(&r, 0);
    ck_assert_int_eq(report_checks(r.task.report), LABS[_i].checks);
    ck_assert_int_eq(r.lines, 1);
    ck_assert_ptr_nonnull(strstr(r.last, "MNIST"));
    labs_end(&r);
}

TEST(progress_stops_it)
{
    struct labs_run r;
    small(&r, &LABS[_i]);
    r.stop_at = LABS[_i].stop_at;
    labs_go(&r, LAB_STOPPED);
    ck_assert_int_eq(r.asked, LABS[_i].stop_at);
    labs_end(&r);
}

SUITE_WITHIN(lab_forgetting_forgetting, 60, runs_are_long_enough_for_their_checks,
             ROWS(a_small_run_holds, LABS), checks_can_fail, ROWS(with_images, LABS),
             ROWS(broken_images, LABS), ROWS(without_images, LABS),
             ROWS(progress_stops_it, LABS));
