#include "abr/deciders/settings.h"

#include "support/suites.h"

#include <check.h>

struct pair {
    double factor;
    int horizon;
};

static const struct field ROWS[] = {
    {"factor", "X", "a factor", FIELD(struct pair, factor), .lo = 0.1, .hi = 10},
    {"horizon", "N", "a horizon", FIELD(struct pair, horizon), .lo = 1, .hi = 4},
    {0}};

START_TEST(a_viewer_belongs_to_the_nearest_profile)
{
    static const struct {
        struct qoe qoe;
        const char *profile;
    } rows[] = {
        {{.mu_quality = 1, .mu_switch = 6, .mu_stall = 1}, "paper-documentary"},
        {{.mu_quality = 2, .mu_switch = 12, .mu_stall = 2, .utility = QOE_LOG},
         "paper-documentary"},
        {{.mu_quality = 1, .mu_switch = 1, .mu_stall = 6}, "paper-live"},
        {{.mu_quality = 1, .mu_switch = 1, .mu_stall = 60}, "paper-live"},
        {{.mu_quality = 6, .mu_switch = 1, .mu_stall = 1}, "paper-news"},
        {{.mu_quality = 1, .mu_switch = 0, .mu_stall = 0}, "paper-news"},
        {{.mu_quality = 1, .mu_switch = 1, .mu_stall = 4.3}, "pensieve"},
        {{.mu_quality = 1, .mu_switch = 1, .mu_stall = 3}, "pensieve"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_str_eq(qoe_profiles[settings_kind(&rows[i].qoe)].name, rows[i].profile);
}
END_TEST

/* {3, 1, 0.5}: in points a second of stall weighs so much that the shares of plain weights differ by
 * switches alone; documentary would be nearest. */
START_TEST(weights_in_points_are_compared_relative_to_standard)
{
    static const struct {
        double weights[QOE_WEIGHTS];
        const char *profile;
    } rows[] = {
        {{1, 1, 1, 3}, "standard"},    {{2, 2, 2, 1}, "standard"},
        {{1, 4, 1, 1}, "documentary"}, {{1, 1, 3, 1}, "live"},
        {{3, 1, 0.5, 1}, "news"},      {{1.25, 0.5, 1.5, 1}, "sports"},
        {{3, 2, 1, 1}, "lecture"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct qoe q = qoe_of_weights(rows[i].weights);
        ck_assert_str_eq(qoe_profiles[settings_kind(&q)].name, rows[i].profile);
    }
}
END_TEST

START_TEST(a_text_sets_all_sets)
{
    struct pair sets[2] = {{1, 1}, {2, 2}};
    struct err e = {0};
    ck_assert_int_eq(
        settings_read(sets, sizeof *sets, 2, ROWS, "factor=0.5+horizon=3", &e), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(sets[i].factor == 0.5);
        ck_assert_int_eq(sets[i].horizon, 3);
    }
    ck_assert_int_eq(settings_read(sets, sizeof *sets, 2, ROWS, NULL, &e), 0);
    ck_assert(sets[0].factor == 0.5);
}
END_TEST

START_TEST(bad_texts_are_named)
{
    static const struct {
        const char *text;
        int code;
        const char *field;
    } rows[] = {
        {"facter=1", ERR_INVALID, "policy"}, {"factor", ERR_INVALID, "policy"},
        {"factor=x", ERR_INVALID, "factor"}, {"factor=11", ERR_RANGE, "factor"},
        {"horizon=5", ERR_RANGE, "horizon"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pair set = {1, 1};
        struct err e = {0};
        ck_assert_int_eq(settings_read(&set, sizeof set, 1, ROWS, rows[i].text, &e),
                         rows[i].code);
        ck_assert_str_eq(e.field, rows[i].field);
    }
}
END_TEST

SUITE(abr_deciders_settings, a_viewer_belongs_to_the_nearest_profile,
      weights_in_points_are_compared_relative_to_standard, a_text_sets_all_sets,
      bad_texts_are_named);
