#include "lab/tracking.h"

#include <check.h>
#include <stdbool.h>
#include <string.h>

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

/* the smallest run that is allowed */
static int run(struct report *r, struct seen *seen, int threads, uint64_t seed)
{
    const struct lab_value value[] = {{.number = 1600}, {.number = 8}};
    struct lab_task t = {.lab = &tracking_lab,
                         .value = value,
                         .report = r,
                         .quick = true,
                         .threads = threads,
                         .seed = seed,
                         .progress = progress,
                         .ctx = seen};
    return tracking_lab.run(&t, NULL);
}

START_TEST(every_check_passes_with_any_seed)
{
    struct report *r = report_new("tracking", tracking_lab.title, NULL);
    struct seen seen = {0};
    ck_assert_int_eq(run(r, &seen, 2, 5 + (uint64_t)_i), 0);
    ck_assert_int_gt(seen.asked, 10);
    ck_assert_int_eq(report_tables(r), 2);
    ck_assert_int_eq(report_rows(r, 0), 4);
    ck_assert_int_eq(report_rows(r, 1), 3);
    ck_assert_int_eq(report_checks(r), 19);
    for (int i = 0; i < report_checks(r); i++) {
        struct report_check c = report_check_at(r, i);
        ck_assert_msg(c.pass, "%s: %g", c.name, c.value);
    }
    report_free(r);
}
END_TEST

START_TEST(threads_do_not_matter)
{
    struct report *a = report_new("tracking", "a", NULL);
    struct report *b = report_new("tracking", "b", NULL);
    struct seen one = {0}, two = {0};
    ck_assert_int_eq(run(a, &one, 1, 1), 0);
    ck_assert_int_eq(run(b, &two, 2, 1), 0);
    for (int i = 0; i < report_checks(a); i++)
        ck_assert(report_check_at(a, i).value == report_check_at(b, i).value);
    report_free(a);
    report_free(b);
}
END_TEST

START_TEST(it_stops_when_asked)
{
    struct report *r = report_new("tracking", "a", NULL);
    struct seen seen = {.stop_at = 2};
    ck_assert_int_eq(run(r, &seen, 1, 1), LAB_STOPPED);
    ck_assert_int_eq(seen.asked, 2);
    ck_assert_int_eq(report_checks(r), 0);
    report_free(r);
}
END_TEST

Suite *suite_lab_tracking(void);
Suite *suite_lab_tracking(void)
{
    Suite *s = suite_create("lab/tracking");
    TCase *t = tcase_create("lab/tracking");
    tcase_add_loop_test(t, every_check_passes_with_any_seed, 0, 2);
    tcase_add_test(t, threads_do_not_matter);
    tcase_add_test(t, it_stops_when_asked);
    suite_add_tcase(s, t);
    return s;
}
