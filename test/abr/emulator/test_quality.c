/* How far the curve is off real content is measured by test/score/quality.sh. */
#include "abr/emulator/quality.h"

#include "support/shared.h"
#include "support/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIX = 6 };
static const double ENVIVIO[SIX] = {300, 750, 1200, 1850, 2850, 4300};

TEST(names)
{
    ck_assert_str_eq(quality_source_name(QUALITY_CURVE), "curve");
    ck_assert_str_eq(quality_source_name(QUALITY_LEVEL), "level");
    ck_assert_str_eq(quality_source_name(QUALITY_CHUNK), "chunk");
}

/* The mean VMAF of the levels of Comyco's data. */
TEST(the_curve_is_near_what_it_was_fitted_to)
{
    static const double mean[SIX] = {23.4, 63.7, 76.13, 85.13, 93.29, 99.95};
    double points[SIX];
    quality_curve(points, ENVIVIO, NULL, SIX);
    for (int k = 0; k < SIX; k++)
        ck_assert_double_eq_tol(points[k], mean[k], 1.2);
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

/* Mean error over the chunks, if the data is there: content differs by more than the curve does. */
TEST(the_curve_on_every_chunk)
{
    double points[SIX], sum = 0;
    int n = 0;
    quality_curve(points, ENVIVIO, NULL, SIX);
    for (int k = 0; k < SIX; k++) {
        char name[64];
        snprintf(name, sizeof name, "video/envivio-vmaf/vmaf_%d", k);
        const char *path = shared_path(name);
        FILE *f = path ? fopen(path, "r") : NULL;
        if (!f) return;
        for (double vmaf; fscanf(f, "%lf", &vmaf) == 1; n++)
            sum += fabs(points[k] - vmaf);
        fclose(f);
    }
    ck_assert_int_eq(n, 294);
    ck_assert_double_eq_tol(sum / n, 3.9, 0.05);
}

TEST(a_tall_ladder_begins_where_a_picture_can_be_watched)
{
    const double tall[] = {250, 1000, 4000, 16000, 40000};
    double points[5];
    quality_curve(points, tall, NULL, 5);
    ck_assert_double_eq_tol(points[0], 24.2, 0.1); /* as Envivio's */
    ck_assert_double_eq_tol(points[4], 100, 1e-9);
    for (int k = 1; k < 5; k++)
        ck_assert_double_gt(points[k], points[k - 1]);
}

TEST(a_screen_shows_no_more_than_the_picture_has)
{
    const int full[SIX] = {180, 360, 432, 576, 720, 1080};
    const int small[SIX] = {180, 240, 240, 360, 360, 720};
    const int same[SIX] = {240, 240, 240, 240, 240, 240};
    double plain[SIX], points[SIX];
    quality_curve(plain, ENVIVIO, NULL, SIX);
    /* a usual ladder: only what its pictures cannot show is taken away */
    quality_curve(points, ENVIVIO, full, SIX);
    ck_assert_double_eq_tol(points[5], 100, 1e-9);
    ck_assert_double_eq_tol(points[0], plain[0], 1e-9);
    ck_assert_double_lt(points[4], plain[4]);
    /* the top of 720 lines caps all, and a small picture caps its level */
    quality_curve(points, ENVIVIO, small, SIX);
    ck_assert_double_lt(points[5], 95);
    ck_assert_double_gt(points[5], 85);
    ck_assert_double_eq_tol(points[3], points[4],
                            1e-9); /* both are what 360 lines can show */
    for (int k = 1; k < SIX; k++)
        ck_assert_double_ge(points[k], points[k - 1]);
    /* one height for all: rates still differ */
    quality_curve(points, ENVIVIO, same, SIX);
    for (int k = 1; k < SIX; k++)
        ck_assert_double_gt(points[k], points[k - 1]);
    ck_assert_double_ge(points[0], 5);
    /* a picture larger than the screen is none better */
    const int large[SIX] = {360, 720, 1080, 1440, 2160, 2160};
    quality_curve(points, ENVIVIO, large, SIX);
    ck_assert_double_eq_tol(points[5], 100, 1e-9);
    /* a level that is lower than the one below it does not make the curve fall */
    const int mixed[SIX] = {360, 720, 240, 720, 720, 1080};
    quality_curve(points, ENVIVIO, mixed, SIX);
    for (int k = 1; k < SIX; k++)
        ck_assert_double_ge(points[k], points[k - 1]);
}

TEST(ssim_as_points)
{
    ck_assert_double_eq_tol(quality_of_ssim(1), 100, 1e-9);
    ck_assert_double_eq(quality_of_ssim(0), 0);
    ck_assert_double_eq(quality_of_ssim(-0.2), 0);
    double before = -1;
    for (double s = 0.5; s <= 1; s += 0.01) {
        ck_assert_double_ge(quality_of_ssim(s), before);
        before = quality_of_ssim(s);
    }
    /* measured on generated content: SSIM and VMAF of one encoding */
    ck_assert_double_eq_tol(quality_of_ssim(0.9432), 84.6, 3);
    ck_assert_double_eq_tol(quality_of_ssim(0.8572), 67.4, 3);
}

TEST(the_height_that_fills_a_screen)
{
    const struct {
        int width, height, want;
    } t[] = {{1920, 1080, 1080}, {1920, 800, 1080}, {640, 480, 480}, {426, 240, 240},
             {608, 1080, 608},   {0, 720, 720},     {1280, 0, 0},    {0, 0, 0}};
    for (size_t i = 0; i < sizeof t / sizeof *t; i++)
        ck_assert_int_eq(quality_height(t[i].width, t[i].height), t[i].want);
}

SUITE(abr_emulator_quality, names, by_hand, tall_and_short_ladders,
      the_curve_is_near_what_it_was_fitted_to, the_curve_on_every_chunk,
      a_tall_ladder_begins_where_a_picture_can_be_watched,
      a_screen_shows_no_more_than_the_picture_has, ssim_as_points,
      the_height_that_fills_a_screen);
