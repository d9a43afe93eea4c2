#include "lab/merge.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    (void)ctx;
    (void)e;
    snprintf(out, LAB_PATH, "%s", rel);
    return 0;
}

struct seen {
    int asked, stop_at;
    double share;
};

static bool progress(void *ctx, double share, const char *note)
{
    struct seen *s = ctx;
    ck_assert(share >= s->share && share <= 1 && note[0]);
    s->share = share;
    return ++s->asked == s->stop_at;
}

/* The smallest run: seeds, sweep, slots, viewers, full, grid, links, starts, mistaken, texts. */
static int run(struct report *r, struct seen *seen, int threads, const char *policy,
               struct err *e)
{
    const struct lab_value value[] = {{.number = 3},  {.number = 1},    {.number = 50},
                                      {.number = 10}, {.number = 0},    {.number = 3},
                                      {.number = 2},  {.number = 1},    {.number = .3},
                                      {.text = ""},   {.text = policy}, {.text = ""}};
    struct lab_task t = {.lab = &merge_lab,
                         .value = value,
                         .report = r,
                         .quick = true,
                         .threads = threads,
                         .seed = 1,
                         .progress = progress,
                         .find = find,
                         .ctx = seen};
    return merge_lab.run(&t, e);
}

START_TEST(runs_and_does_not_depend_on_threads)
{
    struct report *r[2];
    for (int i = 0; i < 2; i++) {
        r[i] = report_new("merge", merge_lab.title, NULL);
        struct seen seen = {0};
        ck_assert_int_eq(run(r[i], &seen, i + 1, "", NULL), 0);
        ck_assert_int_gt(seen.asked, 20);
    }
    ck_assert_int_eq(report_tables(r[0]), 5);
    ck_assert_int_gt(report_checks(r[0]), 10);
    for (int i = 0; i < report_checks(r[0]); i++) {
        struct report_check a = report_check_at(r[0], i), b = report_check_at(r[1], i);
        ck_assert_str_eq(a.name, b.name);
        ck_assert_double_eq(a.value, b.value);
    }
    report_free(r[0]);
    report_free(r[1]);
}
END_TEST

START_TEST(stops_when_asked)
{
    struct report *r = report_new("merge", merge_lab.title, NULL);
    struct seen seen = {.stop_at = 6};
    ck_assert_int_eq(run(r, &seen, 1, "", NULL), LAB_STOPPED);
    ck_assert_int_eq(seen.asked, 6);
    report_free(r);
}
END_TEST

START_TEST(wants_experts_for_the_profiles)
{
    struct report *r = report_new("merge", merge_lab.title, NULL);
    struct seen seen = {0};
    struct err e = {0};
    ck_assert_int_eq(run(r, &seen, 1, "deploy/policy/moe.safetensors", &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "--policy");
    ck_assert_ptr_nonnull(strstr(e.detail, "has experts for nobody"));
    report_free(r);
}
END_TEST

Suite *suite_lab_merge(void);
Suite *suite_lab_merge(void)
{
    Suite *s = suite_create("lab/merge");
    TCase *t = tcase_create("lab/merge");
    tcase_add_test(t, runs_and_does_not_depend_on_threads);
    tcase_add_test(t, stops_when_asked);
    tcase_add_test(t, wants_experts_for_the_profiles);
    suite_add_tcase(s, t);
    return s;
}
