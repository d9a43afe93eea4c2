#include "abr/manifests/scores.h"

#include "abr/emulator/quality.h"
#include "support/alloc.h"
#include "support/suites.h"

#include <stdio.h>
#include <string.h>

static struct scores *scores(enum scores_metric metric, const double *ends_s, int n)
{
    struct scores *s = scores_new(metric, 0.5, ends_s, n, 2, NULL);
    ck_assert_ptr_nonnull(s);
    return s;
}

static void add(struct scores *s, const char *text)
{
    scores_add(s, text, strlen(text));
}

/* As metadata=print does, with the times of frames a bit off. */
static void frame(struct scores *s, int n, double at_s, double ssim)
{
    char text[256];
    snprintf(text, sizeof text,
             "frame:%-4d pts:%-7d pts_time:%g\nlavfi.ssim.Y=%g\nlavfi.ssim.U=0.1\n"
             "lavfi.ssim.V=0.1\nlavfi.ssim.All=0.2\nlavfi.ssim.dB=12.5\n",
             n, n * 512, at_s, ssim);
    add(s, text);
}

TEST(frames_count_in_the_chunk_that_plays)
{
    const double ends[] = {2, 3, 4.5};
    struct scores *s = scores(SCORES_SSIM, ends, 3);
    float points[3];
    frame(s, 0, 0.25, 1);
    frame(s, 1, 1.75, 1);
    frame(s, 2, 1.95, 0.8); /* rounded: of the second chunk */
    frame(s, 3, 2.7, 0.9);
    frame(s, 4, 3.25, 0.7);
    frame(s, 5, 9, 0.1); /* behind the last chunk */
    ck_assert_double_eq(scores_end_s(s), 9.5);
    ck_assert_int_eq(scores_points(points, s, NULL), 0);
    ck_assert_float_eq(points[0], 100);
    ck_assert_float_eq_tol(points[1], (float)quality_of_ssim(0.85), 1e-4F);
    ck_assert_float_eq_tol(points[2], (float)quality_of_ssim(0.7), 1e-4F);
    scores_free(s);
}

/* Pieces end anywhere, and other lines are between them. */
TEST(pieces_of_any_length)
{
    static const char text[] = "[hls @ 0x1] Opening 'x'\nframe:0 pts:0 pts_time:0.5\n"
                               "lavfi.ssim.Y=0.9\nlavfi.psnr.psnr.y=33\n\n";
    const double end = 4;
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        struct scores *s = scores(SCORES_SSIM, &end, 1);
        float points;
        scores_add(s, text, cut);
        scores_add(s, text + cut, sizeof text - 1 - cut);
        ck_assert_int_eq(scores_points(&points, s, NULL), 0);
        ck_assert_float_eq_tol(points, (float)quality_of_ssim(0.9), 1e-4F);
        scores_free(s);
    }
}

TEST(chunks_of_whole_files)
{
    struct scores *s = scores(SCORES_SSIM, NULL, 0);
    static float points[400];
    for (int i = 0; i < 801; i++) /* more than there is room for at first */
        frame(s, i, i * 0.5 + 0.25, i < 400 ? 1 : 0.9);
    ck_assert_int_eq(scores_chunks(s), 201);
    ck_assert_int_eq(scores_points(points, s, NULL), 0);
    ck_assert_float_eq(points[99], 100);
    ck_assert_float_lt(points[100], 99);
    scores_free(s);
}

TEST(vmaf_is_points)
{
    const double ends[] = {1, 2};
    struct scores *s = scores(SCORES_VMAF, ends, 2);
    float points[2];
    add(s, "frame= 12 fps=3\nFrame,integer_adm2,vmaf_b,vmaf,psnr_y\n0,0.9,1,80.5,30\n"
           "1,0.9,1,81.5,30\n2,0.9,1,20,30\n\n");
    ck_assert_int_eq(scores_points(points, s, NULL), 0);
    ck_assert(points[0] == 81 && points[1] == 20);
    scores_free(s);
}

TEST(what_is_missing_is_told)
{
    const double ends[] = {2, 4, 6};
    float points[3];
    struct err e = {0};
    struct scores *s = scores(SCORES_SSIM, ends, 3);
    ck_assert_int_eq(scores_points(points, s, &e), ERR_INVALID);
    ck_assert_ptr_nonnull(strstr(e.detail, "no frame"));
    frame(s, 0, 0.25, 1);
    e = (struct err){0};
    ck_assert_int_eq(scores_points(points, s, &e), ERR_INVALID);
    ck_assert_ptr_nonnull(
        strstr(e.detail, "chunk 1 has no frame: the pictures end after"));
    frame(s, 1, 2.25, 0.5); /* the last chunk may be a rest without a frame */
    ck_assert_int_eq(scores_points(points, s, NULL), 0);
    ck_assert_float_eq(points[2], points[1]);
    add(s, "lavfi.ssim.Y=nan\n");
    ck_assert_int_eq(scores_points(points, s, NULL), ERR_INVALID);
    scores_free(s);
}

TEST(filters_of_ffmpeg)
{
    static const char list[] = "Filters:\n  T.. = Timeline support\n"
                               " TS. ssim              VV->V      Calculate the SSIM\n"
                               " ... vmafmotion        V->V       no libvmaf here\n";
    ck_assert(scores_has_filter(list, "ssim"));
    ck_assert(!scores_has_filter(list, "libvmaf"));
    ck_assert(!scores_has_filter(list, "ssi") && !scores_has_filter("", "ssim"));
}

TEST(size_and_rate_of_pictures)
{
    struct scores_picture p;
    ck_assert(
        scores_picture(&p, "YUV4MPEG2 W426 H240 F30000:1001 Ip A1:1 C420jpeg\nFRAME"));
    ck_assert(p.width == 426 && p.height == 240);
    ck_assert_double_eq_tol(p.frame_s, 0.0333667, 1e-6);
    const char *bad[] = {"",
                         "YUV4MPEG",
                         "YUV4MPEG2 W426 F24:1\n",
                         "YUV4MPEG2 W0 H2 F24:1",
                         "YUV4MPEG2 W2 H2 F0:1",
                         "YUV4MPEG2 W2 H2\nF24:1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!scores_picture(&p, bad[i]), "%s", bad[i]);
}

static void *make(void *ctx, struct err *e)
{
    (void)ctx;
    return scores_new(SCORES_SSIM, 0.5, (const double[]){1, 2}, 2, 0, e);
}

static void unmake(void *made)
{
    scores_free(made);
}

TEST(every_allocation_may_fail)
{
    ck_assert_int_ge(alloc_each_fails(make, unmake, NULL), 4);
}

SUITE(abr_manifests_scores, frames_count_in_the_chunk_that_plays, pieces_of_any_length,
      chunks_of_whole_files, vmaf_is_points, what_is_missing_is_told, filters_of_ffmpeg,
      size_and_rate_of_pictures, every_allocation_may_fail);
