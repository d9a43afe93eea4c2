#include "lab/shift/shift_authors.h"

#include "support/shift_rows.h"

#include <check.h>
#include <math.h>
#include <string.h>

static struct report_check check_of(const struct report *r, const char *part)
{
    for (int i = 0; i < report_checks(r); i++)
        if (strstr(report_check_at(r, i).name, part)) return report_check_at(r, i);
    ck_abort_msg("no check '%s'", part);
}

static struct report *report_of(const struct shift_made *m)
{
    struct report *r = report_new("shift", "test", NULL);
    shift_authors(r, &m->plan);
    return r;
}

/* Every other run freezes at 1850 kbit/s, where theirs did, the others below. */
static void make(struct shift_made *m, int seeds)
{
    static const float qoe[] = {.5f, .2f, 5.6f};
    shift_made_new(m, &(struct shift_request){
                          .presets = "code", .variants = "moe,pamoe", .seeds = seeds});
    for (int i = 0; i < m->plan.runs; i++)
        for (int k = 0; k < 100; k++) {
            struct shift_point *p = &m->rows[i].point[k];
            bool high = i % 2;
            p->qoe = (int)p->tag == 2 && !high ? 2.2f : qoe[(int)p->tag];
            p->level[high ? 3 : 1] = 1;
        }
}

/* Of their six values only the news of pamoe, 5.41, lies between ours: 2.2 and 5.6. */
START_TEST(the_spread_of_ours)
{
    struct shift_made m;
    make(&m, 6);
    struct report *r = report_of(&m);
    ck_assert_int_eq(report_checks(r), 4);
    struct report_check c = check_of(r, "of 6");
    ck_assert(!c.pass && c.value == 1);
    char buf[64];
    ck_assert_str_eq(report_column(r, 0, 1), "theirs, moe");
    ck_assert_str_eq(report_shown(buf, r, 0, 2, 1), "7.40");
    ck_assert_str_eq(report_shown(buf, r, 0, 2, 3), "2.20");
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, 2, 4), "3.90"));
    ck_assert_str_eq(report_shown(buf, r, 0, 2, 5), "5.60");
    ck_assert_str_eq(report_shown(buf, r, 0, 2, 6), "12");
    ck_assert_str_eq(report_shown(buf, r, 0, 2, 7), "1 of 2");
    report_free(r);

    /* one run of each profile at .34 and .01, one at .66 and .29: five of six */
    for (int k = 0; k < 100; k++) {
        static const float low[] = {.34f, .01f, 2.2f}, high[] = {.67f, .30f, 5.6f};
        struct shift_point *p = &m.rows[0].point[k], *q = &m.rows[1].point[k];
        p->qoe = low[(int)p->tag] - .01f;
        q->qoe = high[(int)q->tag];
    }
    r = report_of(&m);
    c = check_of(r, "of 6");
    ck_assert(c.pass && c.value == 5);
    report_free(r);
    shift_made_free(&m);
}
END_TEST

START_TEST(those_that_froze_alike)
{
    struct shift_made m;
    make(&m, 6);
    struct report *r = report_of(&m);
    ck_assert(check_of(r, "documentary, frozen").pass);
    ck_assert(check_of(r, "live, frozen").pass);
    struct report_check c = check_of(r, "news, frozen");
    ck_assert(c.pass && fabs(c.value - 5.6) < 1e-5);
    char buf[64]; /* 6 of the 12 runs */
    ck_assert_str_eq(report_column(r, 1, 3), "runs");
    ck_assert_str_eq(report_shown(buf, r, 1, 2, 3), "6");
    report_free(r);

    /* nobody froze where the authors' runs did: that is no pass */
    for (int i = 0; i < m.plan.runs; i++)
        for (int k = 0; k < 100; k++)
            m.rows[i].point[k].level[3] = .8f;
    r = report_of(&m);
    c = check_of(r, "news, frozen");
    ck_assert(!c.pass && isnan(c.value));
    report_free(r);
    shift_made_free(&m);
}
END_TEST

START_TEST(few_seeds_or_another_preset)
{
    struct shift_made m;
    make(&m, 2);
    struct report *r = report_of(&m);
    ck_assert_int_eq(report_checks(r), 0);
    ck_assert_int_eq(report_rows(r, 0), 3);
    report_free(r);
    shift_made_free(&m);

    shift_made_new(
        &m, &(struct shift_request){.presets = "paper", .variants = "moe", .seeds = 5});
    r = report_of(&m);
    ck_assert_int_eq(report_checks(r), 0);
    report_free(r);
    shift_made_free(&m);
}
END_TEST

Suite *suite_lab_shift_shift_authors(void);
Suite *suite_lab_shift_shift_authors(void)
{
    Suite *s = suite_create("lab/shift_authors");
    TCase *t = tcase_create("all");
    tcase_add_test(t, the_spread_of_ours);
    tcase_add_test(t, those_that_froze_alike);
    tcase_add_test(t, few_seeds_or_another_preset);
    suite_add_tcase(s, t);
    return s;
}
