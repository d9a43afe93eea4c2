#include "lab/shift/shift_claims.h"

#include "support/shift_rows.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(verdicts_by_hand)
{
    struct stats_interval good = {1.5, 1.2, 1.8}, some = {1.3, 1.1, 1.5},
                          none = {1.2, .9, 1.5};
    ck_assert_int_eq(shift_verdict(good, 1.455, 1, 10), REPORT_PASS);
    ck_assert_int_eq(shift_verdict(some, 1.455, 1, 10), REPORT_SHORT);
    ck_assert_int_eq(shift_verdict(none, 1.455, 1, 10), REPORT_DIFFERS);
    ck_assert_int_eq(shift_verdict(good, 1.455, 1, 4), REPORT_UNTESTED);
    /* "at most half", 1 being no effect */
    struct stats_interval half = {.4, .3, .5}, less = {.7, .5, .9},
                          more = {1.1, 1.0, 1.2};
    ck_assert_int_eq(shift_verdict(half, .5, 1, 10), REPORT_PASS);
    ck_assert_int_eq(shift_verdict(less, .5, 1, 10), REPORT_SHORT);
    ck_assert_int_eq(shift_verdict(more, .5, 1, 10), REPORT_DIFFERS);
    struct stats_interval unknown = {NAN, NAN, NAN};
    ck_assert_int_eq(shift_verdict(unknown, .5, 1, 10), REPORT_UNTESTED);
}
END_TEST

static void paint(struct shift_rows *f, float qoe, float dormant, float effective,
                  float router)
{
    for (int i = 0; i < 100; i++) {
        f->point[i].qoe = f->point[i].recent_qoe = qoe;
        f->point[i].router_norm[SHIFT_CRITIC] = router;
    }
    for (int i = 0; i < 50; i++)
        for (int net = 0; net < SHIFT_NETS; net++) {
            f->probe[i].net[net].mean[SHIFT_DORMANT + 1] = dormant;
            f->probe[i].net[net].mean[SHIFT_EFFECTIVE] = effective;
        }
}

/* What each variant is like in every run; PA-MoE is better by half, the best noise is 10. */
static void make(struct shift_made *m, const char *presets, bool sweep, int seeds)
{
    shift_made_new(m, &(struct shift_request){.presets = presets,
                                              .variants = "mlp,moe,smoe,pamoe",
                                              .noise_sweep = sweep,
                                              .seeds = seeds});
    for (int i = 0; i < m->plan.runs; i++) {
        const struct shift_set *s = shift_made_set(m, i);
        bool pa = !strcmp(s->arm.variant, "pamoe");
        float qoe = pa ? 3 : 2;
        if (s->role == SHIFT_NOISE) qoe = 5 - fabsf((float)s->gamma - 10) / 10;
        paint(&m->rows[i], qoe, pa ? .1f : .4f, pa ? 3 : 2, 0);
    }
}

static struct report *claims_of(const struct shift_made *m)
{
    struct report *r = report_new("shift", "test", NULL);
    shift_claims(r, &m->plan);
    return r;
}

static struct report_check check_of(const struct report *r, const char *part)
{
    for (int i = 0; i < report_checks(r); i++)
        if (strstr(report_check_at(r, i).name, part)) return report_check_at(r, i);
    ck_abort_msg("no check '%s'", part);
}

START_TEST(paper_checks)
{
    struct shift_made m;
    make(&m, "paper", true, 6);
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 3);
    struct report_check c = check_of(r, "dormant");
    ck_assert(c.pass && fabs(c.value - .25) < 1e-6);
    c = check_of(r, "effective rank");
    ck_assert(c.pass && fabs(c.value - 1.5) < 1e-6);
    c = check_of(r, "best noise");
    ck_assert(c.pass && c.value == 10);
    /* first row: QoE 3 over 2 in every seed; one more column than words */
    char buf[64];
    ck_assert_str_eq(report_column(r, 0, 4), "preset paper");
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, 0, 4), "1.50"));
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, 0, 5), "pass"));
    report_free(r);
    shift_made_free(&m);
}
END_TEST

/* The readings that are shown once give rows of their own, below the claims. */
START_TEST(decay_has_its_rows)
{
    struct shift_made m;
    make(&m, "paper", false, 6);
    struct report *r = claims_of(&m);
    int claims = report_rows(r, 0);
    report_free(r);
    shift_made_free(&m);

    shift_made_new(
        &m, &(struct shift_request){
                .presets = "paper", .variants = "moe,pamoe", .once = true, .seeds = 6});
    for (int i = 0; i < m.plan.runs; i++) {
        const struct shift_set *s = shift_made_set(&m, i);
        bool less = strstr(s->label, "decay") && !strcmp(s->arm.variant, "pamoe");
        paint(&m.rows[i], 2, less ? .1f : .4f, less ? 1 : 2, 0);
    }
    r = claims_of(&m);
    ck_assert_int_eq(report_rows(r, 0), claims + 2);
    char buf[64];
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, claims, 4), "0.25"));
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, claims, 5), "pass"));
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, claims + 1, 4), "0.50"));
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, claims + 1, 5), "differs"));
    report_free(r);
    shift_made_free(&m);
}
END_TEST

START_TEST(what_does_not_hold_fails)
{
    struct shift_made m;
    make(&m, "paper", true, 6);
    for (int i = 0; i < m.plan.runs; i++) {
        const struct shift_set *s = shift_made_set(&m, i);
        paint(&m.rows[i], s->role == SHIFT_NOISE ? 5 - (float)s->gamma : 2, .3f, 2, 0);
    }
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks_failed(r), 3);
    ck_assert_double_eq(check_of(r, "best noise").value, 0); /* the best is none */
    report_free(r);
    shift_made_free(&m);
}
END_TEST

/* Exact, so that any seed may break it. */
START_TEST(router_of_preset_code)
{
    struct shift_made m;
    make(&m, "code", false, 2);
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 2);
    ck_assert_int_eq(report_checks_failed(r), 0);
    report_free(r);

    m.rows[m.plan.runs - 1].point[7].router_norm[SHIFT_CRITIC] = 1e-9f; /* pamoe */
    r = claims_of(&m);
    ck_assert_int_eq(report_checks_failed(r), 1);
    ck_assert(!check_of(r, "router gradient of pamoe").pass);
    report_free(r);
    shift_made_free(&m);
}
END_TEST

/* Two seeds decide nothing: only what is exact is checked. */
START_TEST(few_seeds_are_no_evidence)
{
    struct shift_made m;
    make(&m, "paper,code", true, 2);
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 2);
    char buf[64];
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, 0, 5), "untested"));
    report_free(r);
    shift_made_free(&m);
}
END_TEST

Suite *suite_lab_shift_shift_claims(void);
Suite *suite_lab_shift_shift_claims(void)
{
    Suite *s = suite_create("lab/shift_claims");
    TCase *t = tcase_create("all");
    tcase_add_test(t, verdicts_by_hand);
    tcase_add_test(t, paper_checks);
    tcase_add_test(t, decay_has_its_rows);
    tcase_add_test(t, what_does_not_hold_fails);
    tcase_add_test(t, router_of_preset_code);
    tcase_add_test(t, few_seeds_are_no_evidence);
    suite_add_tcase(s, t);
    return s;
}
