#include "abr/emulator/qoe_means.h"
#include "support/suites.h"

#include <check.h>
#include <string.h>

static const char *means(const struct qoe *k)
{
    static char text[QOE_MEANS];
    return qoe_means(text, sizeof text, k);
}

TEST(points_are_of_one_chunk)
{
    ck_assert_str_eq(
        means(qoe_standard()),
        "one second of stall is worth 34 points of one 4 s chunk; one second "
        "before the first picture 8.5; a fall by one point costs 1.25; the aim "
        "is stalls below 1 % of the time and a first picture within 3 s");
    struct qoe k = *qoe_standard();
    k.mu_quality *= 2;
    k.mu_rise = k.mu_quality * .3;
    k.stall_ratio_max = 0;
    k.startup_max_s = 2.5;
    ck_assert_str_eq(
        means(&k),
        "one second of stall is worth 17 points of one 4 s chunk; one second "
        "before the first picture 4.25; a fall by one point costs 0.626; a rise "
        "by one point costs 0.3; the aim is a first picture within 2.5 s");
}

TEST(the_papers_are_in_their_units)
{
    ck_assert_str_eq(
        means(&qoe_find("pensieve")->qoe),
        "one second of stall is worth 4.3 Mbit/s of one chunk; a change by one "
        "Mbit/s costs 1");
    struct qoe k = qoe_of_mu(2, 1, 500, QOE_LOG);
    ck_assert_str_eq(
        means(&k),
        "one second of stall is worth 250 units of the logarithm of one chunk's "
        "bitrate; a change by one unit costs 0.5");
    k.utility = QOE_PAMOE;
    ck_assert_ptr_nonnull(strstr(means(&k), "a change by one Mbit/s costs 0.5"));
}

TEST(every_sentence_fits)
{
    for (int i = 0; i < QOE_PROFILES; i++) {
        const char *text = means(&qoe_profiles[i].qoe);
        ck_assert_uint_gt(strlen(text), 20);
        ck_assert_uint_lt(strlen(text), QOE_MEANS - 1);
    }
    struct qoe k = qoe_of_weights((double[]){0, 100, 100, 100});
    k.mu_rise = 1000;
    k.stall_ratio_max = .12345;
    k.startup_max_s = 12.345;
    const char *text = means(&k);
    ck_assert_ptr_nonnull(strstr(text, "quality does not count"));
    ck_assert_uint_lt(strlen(text), QOE_MEANS - 1);
    char small[10];
    ck_assert_str_eq(qoe_means(small, sizeof small, &k), "quality d");
}

SUITE(abr_emulator_qoe_means, points_are_of_one_chunk, the_papers_are_in_their_units,
      every_sentence_fits);
