#include "lab/shift/shift_claims.h"

#include "support/labs.h"
#include "support/shift_rows.h"
#include "support/suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- claims and checks ---- */

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

TEST(paper_checks)
{
    struct shift_made m;
    make(&m, "paper", true, 6);
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 3);
    struct report_check c = labs_check(r, "dormant");
    ck_assert(c.pass && fabs(c.value - .25) < 1e-6);
    c = labs_check(r, "effective rank");
    ck_assert(c.pass && fabs(c.value - 1.5) < 1e-6);
    c = labs_check(r, "best noise");
    ck_assert(c.pass && c.value == 10);
    /* first row: QoE 3 over 2 in every seed; one more column than words */
    char buf[64];
    ck_assert_str_eq(report_column(r, 0, 4), "preset paper");
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, 0, 4), "1.50"));
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 0, 0, 5), "pass"));
    report_free(r);
    shift_made_free(&m);
}

/* The readings that are shown once give rows of their own, below the claims. */
TEST(decay_has_its_rows)
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

TEST(what_does_not_hold_fails)
{
    struct shift_made m;
    make(&m, "paper", true, 6);
    for (int i = 0; i < m.plan.runs; i++) {
        const struct shift_set *s = shift_made_set(&m, i);
        paint(&m.rows[i], s->role == SHIFT_NOISE ? 5 - (float)s->gamma : 2, .3f, 2, 0);
    }
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks_failed(r), 3);
    ck_assert_double_eq(labs_check(r, "best noise").value, 0); /* the best is none */
    report_free(r);
    shift_made_free(&m);
}

/* Exact, so that any seed may break it. */
TEST(router_of_preset_code)
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
    ck_assert(!labs_check(r, "router gradient of pamoe").pass);
    report_free(r);
    shift_made_free(&m);
}

/* Two seeds decide nothing: only what is exact is checked. */
TEST(few_seeds_are_no_evidence)
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

/* ---- the authors' code ---- */

/* Every other run freezes at 1850 kbit/s, where theirs did, the others below. */
static void make_frozen(struct shift_made *m, int seeds)
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
TEST(the_spread_of_ours)
{
    struct shift_made m;
    make_frozen(&m, 6);
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 4 + 1); /* and the router of pamoe */
    struct report_check c = labs_check(r, "of 6");
    ck_assert(!c.pass && c.value == 1);
    char buf[64];
    ck_assert_str_eq(report_column(r, 1, 1), "theirs, moe");
    ck_assert_str_eq(report_shown(buf, r, 1, 2, 1), "7.40");
    ck_assert_str_eq(report_shown(buf, r, 1, 2, 3), "2.20");
    ck_assert_ptr_nonnull(strstr(report_shown(buf, r, 1, 2, 4), "3.90"));
    ck_assert_str_eq(report_shown(buf, r, 1, 2, 5), "5.60");
    ck_assert_str_eq(report_shown(buf, r, 1, 2, 6), "12");
    ck_assert_str_eq(report_shown(buf, r, 1, 2, 7), "1 of 2");
    report_free(r);

    /* one run of each profile at .34 and .01, one at .66 and .29: five of six */
    for (int k = 0; k < 100; k++) {
        static const float low[] = {.34f, .01f, 2.2f}, high[] = {.67f, .30f, 5.6f};
        struct shift_point *p = &m.rows[0].point[k], *q = &m.rows[1].point[k];
        p->qoe = low[(int)p->tag] - .01f;
        q->qoe = high[(int)q->tag];
    }
    r = claims_of(&m);
    c = labs_check(r, "of 6");
    ck_assert(c.pass && c.value == 5);
    report_free(r);
    shift_made_free(&m);
}

TEST(those_that_froze_alike)
{
    struct shift_made m;
    make_frozen(&m, 6);
    struct report *r = claims_of(&m);
    ck_assert(labs_check(r, "documentary, frozen").pass);
    ck_assert(labs_check(r, "live, frozen").pass);
    struct report_check c = labs_check(r, "news, frozen");
    ck_assert(c.pass && fabs(c.value - 5.6) < 1e-5);
    char buf[64]; /* 6 of the 12 runs */
    ck_assert_str_eq(report_column(r, 2, 3), "runs");
    ck_assert_str_eq(report_shown(buf, r, 2, 2, 3), "6");
    report_free(r);

    /* no run froze where the authors' runs did: that is no pass */
    for (int i = 0; i < m.plan.runs; i++)
        for (int k = 0; k < 100; k++)
            m.rows[i].point[k].level[3] = .8f;
    r = claims_of(&m);
    c = labs_check(r, "news, frozen");
    ck_assert(!c.pass && isnan(c.value));
    report_free(r);
    shift_made_free(&m);
}

TEST(few_seeds_or_another_preset)
{
    struct shift_made m;
    make_frozen(&m, 2);
    struct report *r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 1); /* the router of pamoe */
    ck_assert_int_eq(report_rows(r, 1), 3);
    report_free(r);
    shift_made_free(&m);

    shift_made_new(
        &m, &(struct shift_request){.presets = "paper", .variants = "moe", .seeds = 5});
    r = claims_of(&m);
    ck_assert_int_eq(report_checks(r), 0);
    report_free(r);
    shift_made_free(&m);
}

/* ---- dormant units ---- */

/* A share that tells where it comes from: .001 per threshold, .01 per layer, .1 per net. */
static void paint_shares(struct shift_rows *f, float scale)
{
    for (int i = 0; i < 50; i++)
        for (int net = 0; net < SHIFT_NETS; net++)
            for (int tau = 0; tau < 4; tau++) {
                struct shift_probe_net *n = &f->probe[i].net[net];
                float x = scale * (.2f + .1f * (float)net + .001f * (float)tau);
                n->mean[SHIFT_DORMANT + tau] = x;
                n->mean_all[SHIFT_DORMANT + tau] = x + .5f;
                for (int k = 0; k < SHIFT_EXPERTS; k++)
                    for (int l = 0; l < SHIFT_LAYERS; l++)
                        n->layer[k][l][SHIFT_DORMANT + tau] =
                            x + .01f * (float)l + (k == 2 ? .05f : 0);
                n->share[2] = 1;
            }
}

TEST(every_reading_by_hand)
{
    struct shift_made m;
    shift_made_new(
        &m, &(struct shift_request){
                .presets = "paper", .variants = "moe,pamoe", .once = true, .seeds = 6});
    for (int i = 0; i < m.plan.runs; i++) {
        const struct shift_set *s = shift_made_set(&m, i);
        bool pa = !strcmp(s->arm.variant, "pamoe");
        paint_shares(&m.rows[i], !pa ? 1 : strstr(s->label, "decay") ? .25f : .75f);
    }
    struct report *r = report_new("shift", "test", NULL);
    shift_claims_dormant(r, &m.plan);
    ck_assert_int_eq(report_rows(r, 0), 14 + 4);

    char buf[64];
    ck_assert_str_eq(labs_cell(buf, r, 0, 3, "threshold"), "0.500");
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 3, "MoE"), "0.203"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 3, "PA-MoE"), "0.152"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 3, "PA-MoE / MoE"), "0.75"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 3, "at most half"), "short"));
    /* experts of layer 2: .211 twice and .261; the busiest is the third, .251 and .261 */
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 5, "MoE"), "0.228"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 6, "MoE"), "0.256"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 7, "MoE"), "0.701"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 9, "MoE"), "0.301"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 15, "PA-MoE / MoE"), "0.25"));
    ck_assert_ptr_nonnull(strstr(labs_cell(buf, r, 0, 15, "at most half"), "pass"));
    report_free(r);
    shift_made_free(&m);
}

TEST(nothing_to_compare)
{
    struct shift_made m;
    shift_made_new(&m, &(struct shift_request){
                           .presets = "paper,code", .variants = "moe", .seeds = 2});
    struct report *r = report_new("shift", "test", NULL);
    shift_claims_dormant(r, &m.plan);
    ck_assert_int_eq(report_checks(r), 0);
    ck_assert_int_eq(report_rows(r, 0), 0);
    report_free(r);
    shift_made_free(&m);
}

SUITE(lab_shift_shift_claims, paper_checks, decay_has_its_rows, what_does_not_hold_fails,
      router_of_preset_code, few_seeds_are_no_evidence, the_spread_of_ours,
      those_that_froze_alike, few_seeds_or_another_preset, every_reading_by_hand,
      nothing_to_compare);
