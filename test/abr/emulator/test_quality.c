#include "abr/emulator/quality.h"

#include "support/suites.h"

#include <math.h>

/* The mean VMAF of Envivio's levels, which the curve was fitted to. */
TEST(near_envivios_vmaf)
{
    static const double kbps[] = {300, 750, 1200, 1850, 2850, 4300},
                        vmaf[] = {23.4, 63.7, 76.1, 85.1, 93.3, 99.95};
    double points[6];
    quality_curve(points, kbps, NULL, 6);
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq_tol(points[k], vmaf[k], 1.2);
    ck_assert_double_eq(points[5], 100);
}

/* 100 - x (16.1 + 1.75 x^2) with x = ln 2 and ln 4. */
TEST(by_hand)
{
    static const double kbps[] = {1000, 2000, 4000};
    double points[3];
    quality_curve(points, kbps, NULL, 3);
    ck_assert_double_eq_tol(points[2], 100, 1e-12);
    ck_assert_double_eq_tol(points[1], 88.2575, 1e-4);
    ck_assert_double_eq_tol(points[0], 73.0183, 1e-4);
    quality_curve(points, kbps + 1, NULL, 2); /* two levels: as the upper two above */
    ck_assert_double_eq_tol(points[1], 100, 1e-12);
    ck_assert_double_eq_tol(points[0], 88.2575, 1e-4);
}

/* A ladder of any height begins where a picture can be watched, and never falls. */
TEST(tall_and_short_ladders)
{
    static const double spans[] = {1.01, 1.5, 4, 14.33, 15, 60, 400, 1e5};
    for (int s = 0; s < 8; s++)
        for (int levels = 2; levels <= 12; levels++) {
            double kbps[12], points[12];
            for (int k = 0; k < levels; k++)
                kbps[k] = 100 * pow(spans[s], (double)k / (levels - 1));
            quality_curve(points, kbps, NULL, levels);
            for (int k = 0; k < levels; k++) {
                ck_assert_double_ge(points[k], 5);
                ck_assert_double_le(points[k], 100);
                if (k) ck_assert_double_ge(points[k], points[k - 1]);
            }
            /* above Envivio's span the lowest level is as good as Envivio's lowest */
            if (spans[s] > 14.33) ck_assert_double_eq_tol(points[0], 24.24, .05);
            if (spans[s] < 1.5) ck_assert_double_gt(points[0], 99);
        }
}

TEST(sources_have_names)
{
    ck_assert_str_eq(quality_source_name(QUALITY_CURVE), "curve");
    ck_assert_str_eq(quality_source_name(QUALITY_LEVEL), "level");
    ck_assert_str_eq(quality_source_name(QUALITY_CHUNK), "chunk");
}

SUITE(abr_emulator_quality, near_envivios_vmaf, by_hand, tall_and_short_ladders,
      sources_have_names);
