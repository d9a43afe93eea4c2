#include "lab/shift/shift_dormant.h"

#include "support/shift_rows.h"

#include <check.h>
#include <string.h>

/* A share that tells where it comes from: .001 per threshold, .01 per layer, .1 per net. */
static void paint(struct shift_rows *f, float scale)
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

static const char *of(char buf[64], const struct report *r, int row, const char *column)
{
    for (int c = 0; c < 6; c++)
        if (!strcmp(report_column(r, 0, c), column))
            return report_shown(buf, r, 0, row, c);
    ck_abort_msg("no column '%s'", column);
}

START_TEST(every_reading_by_hand)
{
    struct shift_made m;
    shift_made_new(
        &m, &(struct shift_request){
                .presets = "paper", .variants = "moe,pamoe", .once = true, .seeds = 6});
    for (int i = 0; i < m.plan.runs; i++) {
        const struct shift_set *s = shift_made_set(&m, i);
        bool pa = !strcmp(s->arm.variant, "pamoe");
        paint(&m.rows[i], !pa ? 1 : strstr(s->label, "decay") ? .25f : .75f);
    }
    struct report *r = report_new("shift", "test", NULL);
    shift_dormant(r, &m.plan);
    ck_assert_int_eq(report_rows(r, 0), 14 + 4);

    char buf[64];
    ck_assert_str_eq(of(buf, r, 3, "threshold"), "0.500");
    ck_assert_ptr_nonnull(strstr(of(buf, r, 3, "MoE"), "0.203"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 3, "PA-MoE"), "0.152"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 3, "PA-MoE / MoE"), "0.75"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 3, "at most half"), "short"));
    /* experts of layer 2: .211 twice and .261; the busiest is the third, .251 and .261 */
    ck_assert_ptr_nonnull(strstr(of(buf, r, 5, "MoE"), "0.228"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 6, "MoE"), "0.256"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 7, "MoE"), "0.701"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 9, "MoE"), "0.301"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 15, "PA-MoE / MoE"), "0.25"));
    ck_assert_ptr_nonnull(strstr(of(buf, r, 15, "at most half"), "pass"));
    report_free(r);
    shift_made_free(&m);
}
END_TEST

START_TEST(nothing_to_compare)
{
    struct shift_made m;
    shift_made_new(&m, &(struct shift_request){
                           .presets = "paper,code", .variants = "moe", .seeds = 2});
    struct report *r = report_new("shift", "test", NULL);
    shift_dormant(r, &m.plan);
    ck_assert_int_eq(report_checks(r), 0);
    ck_assert_int_eq(report_rows(r, 0), 0);
    report_free(r);
    shift_made_free(&m);
}
END_TEST

Suite *suite_lab_shift_shift_dormant(void);
Suite *suite_lab_shift_shift_dormant(void)
{
    Suite *s = suite_create("lab/shift_dormant");
    TCase *t = tcase_create("all");
    tcase_add_test(t, every_reading_by_hand);
    tcase_add_test(t, nothing_to_compare);
    suite_add_tcase(s, t);
    return s;
}
