#include "abr/manifests/video.h"

#include "base/text.h"
#include "support/alloc.h"
#include "support/shared.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void put(const char *path, const char *text)
{
    struct err e = {0};
    ck_assert_msg(!text_write_file(path, text, strlen(text), &e), "%s", e.detail);
}

static struct video *load(const char *path, const struct video_cfg *cfg)
{
    struct err e = {0};
    struct video *v = video_load(path, cfg, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

/* ---- made here ---- */

TEST(shape_is_checked)
{
    const struct {
        int levels, chunks;
        double chunk_s, ladder[VIEW_LEVELS + 1];
        const char *field;
    } bad[] = {
        {1, 5, 4, {1}, "levels"},
        {VIEW_LEVELS + 1, 5, 4, {1, 2, 3}, "levels"},
        {2, 0, 4, {1, 2}, "chunks"},
        {2, VIDEO_CHUNKS_MAX + 1, 4, {1, 2}, "chunks"},
        {2, 5, .9, {1, 2}, "chunk_s"},
        {2, 5, 10.1, {1, 2}, "chunk_s"},
        {2, 5, NAN, {1, 2}, "chunk_s"},
        {3, 5, 4, {1, 2, 2}, "ladder_kbps"},
        {3, 5, 4, {1, 3, 2}, "ladder_kbps"},
        {2, 5, 4, {0, 2}, "ladder_kbps"},
        {2, 5, 4, {1, NAN}, "ladder_kbps"},
        {2, 5, 4, {1, INFINITY}, "ladder_kbps"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_ptr_null(
            video_new(bad[i].levels, bad[i].chunks, bad[i].chunk_s, bad[i].ladder, &e));
        ck_assert_int_eq(e.code, ERR_RANGE);
        ck_assert_str_eq(e.field, bad[i].field);
    }
}

TEST(sizes_are_checked)
{
    struct video *v = video_new(2, 3, 4.0, (const double[]){1, 2}, NULL);
    struct err e = {0};
    ck_assert_int_eq(video_check(v, &e), ERR_RANGE); /* all zero */
    for (int i = 0; i < 6; i++)
        v->bytes[i] = 1;
    ck_assert_int_eq(video_check(v, NULL), 0);
    v->bytes[5] = VIDEO_BYTES_MAX + 1;
    e = (struct err){0};
    ck_assert_int_eq(video_check(v, &e), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(e.detail, "chunk 2, level 1"));
    video_free(v);
}

TEST(generated)
{
    struct video *v = video_default(NULL), *again = video_default(NULL);
    ck_assert(v->levels == 6 && v->chunks == 48 && v->chunk_s == 4.0);
    ck_assert_int_eq(memcmp(v->bytes, again->bytes, 48 * 6 * sizeof *v->bytes), 0);
    ck_assert_int_eq(video_check(v, NULL), 0);

    /* levels ascend nearly always, since the scene is common; means keep to the ladder */
    double sum[6] = {0};
    int above = 0;
    for (int c = 0; c < 48; c++)
        for (int k = 0; k < 6; k++) {
            sum[k] += (double)video_chunk(v, c)[k];
            above += k > 0 && video_chunk(v, c)[k] > video_chunk(v, c)[k - 1];
        }
    ck_assert_int_gt(above, 48 * 5 * 95 / 100);
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq_tol(sum[k] / 48 / (v->ladder_kbps[k] * 500.0), 1.0, .1);

    struct video *other = video_generate(6, 48, 4.0, v->ladder_kbps, .2, 7, NULL);
    ck_assert_int_ne(memcmp(v->bytes, other->bytes, 48 * 6 * sizeof *v->bytes), 0);
    struct err e = {0};
    ck_assert_ptr_null(video_generate(6, 48, 4.0, v->ladder_kbps, -1, 7, &e));
    ck_assert_str_eq(e.field, "sigma");
    video_free(other);
    video_free(again);
    video_free(v);
}

/* ---- Pensieve ---- */

TEST(pensieve_folder)
{
    struct video *v = load("test/golden/video", NULL);
    ck_assert(v->levels == 6 && v->chunks == 48 && v->chunk_s == 4.0);
    ck_assert_str_eq(v->name, "video");
    ck_assert_double_eq(v->ladder_kbps[5], 4300);
    ck_assert_int_eq(video_chunk(v, 0)[0], 138354);
    video_free(v);

    v = load("test/golden/video/", &(struct video_cfg){.chunks = 49, .chunk_s = 2.0});
    ck_assert(v->chunks == 49 && v->chunk_s == 2.0);
    ck_assert_int_eq(video_chunk(v, 48)[5], 2514684);
    video_free(v);
}

TEST(pensieve_ladder_from_means)
{
    const char *dir = tmpdir_new();
    put(tmpdir_path(dir, "video_size_0"), "1000\r\n3000\n\n1\n");
    put(tmpdir_path(dir, "video_size_1"), " 5000\n7000 \n1");
    struct video *v = load(dir, NULL);
    ck_assert(v->levels == 2 && v->chunks == 2);
    ck_assert_double_eq_tol(v->ladder_kbps[0], 4.0, 1e-12);
    ck_assert_double_eq_tol(v->ladder_kbps[1], 12.0, 1e-12);
    ck_assert_int_eq(video_chunk(v, 1)[0], 3000);
    video_free(v);
    v = load(dir, &(struct video_cfg){.levels = 2, .ladder_kbps = {5, 6}});
    ck_assert_double_eq(v->ladder_kbps[1], 6.0);
    video_free(v);
}

TEST(pensieve_refusals)
{
    const struct {
        const char *text, *field, *says;
    } bad[] = {
        {"10\nx\n", "video_size_1:2", "whole number"},
        {"10\n0\n", "video_size_1:2", "0 is not within 1"},
        {"10\n-5\n", "video_size_1:2", "-5 is not within"},
        {"10\n1.5\n", "video_size_1:2", "whole number"},
        {"10\n99999999999\n", "video_size_1:2", "not within"},
        {"10\n", NULL, "video_size_1 has 1 rows"},
        {"1\n1\n", "ladder_kbps", "must ascend"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *dir = tmpdir_new();
        put(tmpdir_path(dir, "video_size_0"), "5\n5\n");
        put(tmpdir_path(dir, "video_size_1"), bad[i].text);
        struct err e = {0};
        ck_assert_ptr_null(video_load(dir, NULL, &e));
        ck_assert_msg((!bad[i].field || !strcmp(e.field, bad[i].field)) &&
                          strstr(e.detail, bad[i].says),
                      "'%s' gave %s: %s", bad[i].text, e.field, e.detail);
    }

    const char *dir = tmpdir_new();
    struct err e = {0};
    ck_assert_ptr_null(video_load(dir, NULL, &e)); /* an empty folder */
    ck_assert_int_eq(e.code, ERR_ABSENT);
    e = (struct err){0};
    ck_assert_ptr_null(video_load(tmpdir_path(dir, "none"), NULL, &e));
    ck_assert_int_eq(e.code, ERR_ABSENT);
    put(tmpdir_path(dir, "video_size_0"), "5\n");
    put(tmpdir_path(dir, "video_size_1"), "6\n");
    e = (struct err){0};
    ck_assert_ptr_null(video_load(dir, NULL, &e)); /* the only row is the rest */
    ck_assert_int_eq(e.code, ERR_RANGE);
    e = (struct err){0};
    struct video_cfg three = {.levels = 3, .ladder_kbps = {1, 2, 3}, .chunks = 1};
    ck_assert_ptr_null(video_load(dir, &three, &e));
    ck_assert_int_eq(e.code, ERR_CONFLICT);
}

/* ---- quality ---- */

/* A folder of 3 rows, of which the last is the rest, and quality of its chunks. */
static const char *rated_folder(const char *kind, const char *low, const char *high)
{
    const char *dir = tmpdir_new();
    char name[32];
    put(tmpdir_path(dir, "video_size_0"), "1000\n3000\n1\n");
    put(tmpdir_path(dir, "video_size_1"), "5000\n7000\n1\n");
    snprintf(name, sizeof name, "%s_0", kind);
    put(tmpdir_path(dir, name), low);
    snprintf(name, sizeof name, "%s_1", kind);
    put(tmpdir_path(dir, name), high);
    return dir;
}

TEST(quality_files_beside_the_sizes)
{
    const char *rows[] = {"20.5\n40\n", "20.5\n40\n7", "20.5\n40\n7\n8\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct video *v = load(rated_folder("video_quality", rows[i], rows[i]), NULL);
        double points[VIEW_LEVELS];
        ck_assert(v->chunks == 2 && v->quality == QUALITY_CHUNK);
        video_points(points, v, 1);
        ck_assert(points[0] == 40 && points[1] == 40);
        video_points(points, v, 0);
        ck_assert_double_eq(points[1], 20.5);
        ck_assert_double_eq(v->level_points[0], 30.25); /* the mean of the chunks */
        video_free(v);
    }
    /* a part of the video, and all of it */
    const char *dir = rated_folder("video_quality", "1\n2\n3", "4\n5\n6");
    struct video *v = load(dir, &(struct video_cfg){.chunks = 1});
    ck_assert_double_eq(v->level_points[1], 4);
    video_free(v);
    v = load(dir, &(struct video_cfg){.chunks = 3});
    ck_assert_double_eq(v->level_points[1], 5);
    video_free(v);
    /* scores of VMAF are joined where they are asked for, not found by chance */
    dir = rated_folder("vmaf", "1\n2\n3", "4\n5\n6");
    v = load(dir, NULL);
    ck_assert_int_eq(v->quality, QUALITY_CURVE);
    ck_assert_int_eq(video_load_quality(v, dir, NULL), 0);
    ck_assert(v->quality == QUALITY_CHUNK && v->level_points[1] > 4.4);
    video_free(v);
}

TEST(quality_file_refusals)
{
    const struct {
        const char *text, *field, *says;
    } bad[] = {
        {"10\nx\n", "video_quality_1:2", "number"},
        {"10\n-1\n", "video_quality_1:2", "within 0"},
        {"10\n100.01\n", "video_quality_1:2", "within 0"},
        {"10\nnan\n", "video_quality_1:2", "number"},
        {"10\n", NULL, "video_quality_1 has 1 rows and video_quality_0 has 2"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err e = {0};
        ck_assert_ptr_null(
            video_load(rated_folder("video_quality", "5\n5\n", bad[i].text), NULL, &e));
        ck_assert_msg((!bad[i].field || !strcmp(e.field, bad[i].field)) &&
                          strstr(e.detail, bad[i].says),
                      "'%s' gave %s: %s", bad[i].text, e.field, e.detail);
    }
    const char *rows[] = {"1\n", "1\n2\n3\n4\n5\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct err e = {0};
        ck_assert_ptr_null(
            video_load(rated_folder("video_quality", rows[i], rows[i]), NULL, &e));
        ck_assert_int_eq(e.code, ERR_CONFLICT);
        ck_assert_ptr_nonnull(strstr(e.detail, "different videos"));
    }
    struct video *v = load("test/golden/video", NULL);
    struct err e = {0};
    ck_assert_int_eq(video_load_quality(v, tmpdir_new(), &e), ERR_ABSENT);
    ck_assert_ptr_nonnull(strstr(e.detail, "neither video_quality_0 nor vmaf_0"));
    e = (struct err){0};
    ck_assert_int_eq(video_load_quality(v, rated_folder("vmaf", "1\n2", "1\n2"), &e),
                     ERR_CONFLICT);
    ck_assert_ptr_nonnull(strstr(e.detail, "2 files vmaf_0"));
    ck_assert_int_eq(v->quality, QUALITY_CURVE); /* as before */
    video_free(v);
}

TEST(quality_is_checked)
{
    struct video *v = video_default(NULL);
    v->level_points[2] = 100.5;
    struct err e = {0};
    ck_assert_int_eq(video_check(v, &e), ERR_RANGE);
    ck_assert_ptr_nonnull(strstr(e.detail, "level 2: a quality of 100.5"));
    video_rate(v);
    ck_assert_int_eq(video_check(v, NULL), 0);
    ck_assert_int_eq(video_make_points(v, NULL), 0);
    v->points[7] = NAN;
    ck_assert_int_eq(video_check(v, NULL), ERR_RANGE);
    v->points[7] = 0;
    v->heights[1] = -1;
    ck_assert_int_eq(video_check(v, NULL), ERR_RANGE);
    video_free(v);
}

/* The curve follows the ladder that the caller sets. */
TEST(another_ladder_has_another_curve)
{
    const struct video_cfg wide = {.levels = 2, .ladder_kbps = {100, 4000}},
                           narrow = {.levels = 2, .ladder_kbps = {3500, 4000}};
    const char *dir = tmpdir_new();
    put(tmpdir_path(dir, "video_size_0"), "1000\n3000\n1\n");
    put(tmpdir_path(dir, "video_size_1"), "5000\n7000\n1\n");
    struct video *a = load(dir, &wide), *b = load(dir, &narrow);
    ck_assert_double_lt(a->level_points[0], b->level_points[0] - 20);
    video_free(a);
    video_free(b);
}

static void same_quality(const struct video *a, const struct video *b)
{
    ck_assert_int_eq(a->quality, b->quality);
    ck_assert_mem_eq(a->heights, b->heights, sizeof a->heights);
    for (int c = 0; c < a->chunks; c++) {
        double x[VIEW_LEVELS] = {0}, y[VIEW_LEVELS] = {0};
        video_points(x, a, c);
        video_points(y, b, c);
        ck_assert_mem_eq(x, y, sizeof x);
    }
}

TEST(what_is_saved_is_loaded_again)
{
    const char *dir = tmpdir_new();
    struct video *v = video_default(NULL), *again;
    const int heights[] = {240, 360, 480, 720, 720, 1080};
    for (int step = 0; step < 4; step++) {
        if (step == 1) memcpy(v->heights, heights, sizeof heights), video_rate(v);
        if (step == 2) video_set_levels(v, (const double[]){11.5, 22, 33, 44, 55, 66});
        if (step == 3) ck_assert_int_eq(video_make_points(v, NULL), 0);
        for (int i = 0; step == 3 && i < v->levels * v->chunks; i++)
            v->points[i] = (float)fmod(i * 7.123456789, 100);
        ck_assert_int_eq(video_save(v, dir, NULL), 0);
        again = load(dir, NULL);
        same_quality(v, again);
        video_free(again);
    }
    video_free(v);
}

/* ---- JSON of sabre ---- */

static struct video *parse(const char *text, const struct video_cfg *cfg)
{
    struct err e = {0};
    struct video *v = video_parse(text, strlen(text), "v", NULL, cfg, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

static const char sabre_ok[] =
    "{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [100, 200.5],\n"
    "\"segment_sizes_bits\": [[800, 1601], [8, 16], [24, 32]]}";

TEST(sabre)
{
    struct video *v = parse(sabre_ok, NULL);
    ck_assert(v->levels == 2 && v->chunks == 3 && v->chunk_s == 3.0);
    ck_assert_double_eq(v->ladder_kbps[1], 200.5);
    ck_assert_int_eq(video_chunk(v, 0)[0], 100);
    ck_assert_int_eq(video_chunk(v, 0)[1], 201); /* bits are rounded up to bytes */
    ck_assert_int_eq(video_chunk(v, 2)[1], 4);
    video_free(v);

    v = parse(sabre_ok, &(struct video_cfg){.chunks = 2, .chunk_s = 1.5});
    ck_assert(v->chunks == 2 && v->chunk_s == 1.5);
    video_free(v);
    struct err e = {0};
    ck_assert_ptr_null(video_parse(sabre_ok, sizeof sabre_ok - 1, "v", NULL,
                                   &(struct video_cfg){.chunks = 4}, &e));
    ck_assert_str_eq(e.field, "chunks");
    e = (struct err){0};

    const char *path = shared_path("video/sabre-bbb.json");
    if (!path) return;
    v = video_load(path, NULL, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert(v->levels == 10 && v->chunks == 199 && v->chunk_s == 3.0);
    ck_assert_int_eq(video_chunk(v, 0)[0], 886360 / 8);
    video_free(v);
}

#define SABRE(more)                                                    \
    "{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [100, 200],\n" \
    "\"segment_sizes_bits\": [[8, 16], [24, 32]], " more "}"

TEST(sabre_with_quality)
{
    struct video *v = parse(SABRE("\"heights\": [360, 720]"), NULL);
    ck_assert(v->quality == QUALITY_CURVE && v->heights[0] == 360 &&
              v->heights[1] == 720);
    ck_assert_double_lt(v->level_points[1], 100); /* not what a 1080p screen can show */
    video_free(v);
    v = parse(SABRE("\"level_quality\": [12.5, 80]"), NULL);
    ck_assert(v->quality == QUALITY_LEVEL && v->level_points[0] == 12.5);
    video_free(v);
    v = parse(SABRE("\"level_quality\": [1, 2], \"quality\": [[10, 20], [30, 50]]"),
              NULL);
    ck_assert(v->quality == QUALITY_CHUNK && v->level_points[1] == 35);
    video_free(v);
}

TEST(sabre_refusals)
{
    const struct {
        const char *text, *field, *says;
        int code;
    } bad[] = {
        {"{", "v:1", "not JSON", ERR_INVALID},
        {"{\n\n1}", "v:3", "not JSON", ERR_INVALID},
        {"{\"a\": 1, \"a\": 2}", "v:1", "not JSON", ERR_INVALID},
        {"{}", "v", "needs segment_duration_ms", ERR_INVALID},
        {"{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1], "
         "\"segment_sizes_bits\": [[8]]}",
         "v", "2 to 32", ERR_RANGE},
        {"{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, \"2\"], "
         "\"segment_sizes_bits\": [[8, 8]]}",
         "v", "entry 1", ERR_INVALID},
        {"{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [2, 1], "
         "\"segment_sizes_bits\": [[8, 8]]}",
         "ladder_kbps", "ascend", ERR_RANGE},
        {"{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, 2], "
         "\"segment_sizes_bits\": []}",
         "chunks", "0 chunks", ERR_RANGE},
        {"{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, 2], "
         "\"segment_sizes_bits\": [[8, 8], [8]]}",
         "v", "segment 1", ERR_INVALID},
        {"{\"segment_duration_ms\": 3000, \"bitrates_kbps\": [1, 2], "
         "\"segment_sizes_bits\": [[8, 0]]}",
         "v", "segment 0, level 1", ERR_RANGE},
        {"{\"segment_duration_ms\": 100, \"bitrates_kbps\": [1, 2], "
         "\"segment_sizes_bits\": [[8, 8]]}",
         "chunk_s", "0.1 s", ERR_RANGE},
        {SABRE("\"heights\": [1]"), "v", "heights is not an array of 2", ERR_INVALID},
        {SABRE("\"heights\": [1, -1]"), "v", "heights: level 1", ERR_RANGE},
        {SABRE("\"level_quality\": 3"), "v", "level_quality is not an array",
         ERR_INVALID},
        {SABRE("\"level_quality\": [3, 101]"), "v", "level_quality: level 1", ERR_RANGE},
        {SABRE("\"quality\": [[1, 2]]"), "v", "quality is not an array of 2 rows",
         ERR_INVALID},
        {SABRE("\"quality\": [[1, 2], [3]]"), "v", "quality: segment 1 is not",
         ERR_INVALID},
        {SABRE("\"quality\": [[1, 2], [3, \"4\"]]"), "v", "quality: segment 1: level 1",
         ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *text = bad[i].text;
        struct err e = {0};
        ck_assert_msg(!video_parse(text, strlen(text), "v", NULL, NULL, &e),
                      "'%s' was accepted", text);
        ck_assert_msg(e.code == bad[i].code && !strcmp(e.field, bad[i].field) &&
                          strstr(e.detail, bad[i].says),
                      "'%s' gave %d %s: %s", text, e.code, e.field, e.detail);
    }
}

/* ---- all formats ---- */

TEST(neither_format)
{
    const char *texts[] = {"hello", "", " \n", "[1]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct err e = {0};
        ck_assert_ptr_null(video_parse(texts[i], strlen(texts[i]), "v", NULL, NULL, &e));
        ck_assert_int_eq(e.code, ERR_INVALID);
        ck_assert_str_eq(e.field, "v");
        ck_assert_ptr_nonnull(strstr(e.detail, "neither"));
    }
}

static void *make_folder(void *dir, struct err *e)
{
    return video_load(dir, NULL, e);
}

static void unmake(void *v)
{
    video_free(v);
}

static void *make_sabre(void *text, struct err *e)
{
    return video_parse(text, strlen(text), "v", NULL, NULL, e);
}

TEST(every_allocation_may_fail)
{
    char dir[] = "test/golden/video";
    ck_assert_int_ge(alloc_each_fails(make_folder, unmake, dir), 2);
    char text[] = SABRE("\"quality\": [[10, 20], [30, 50]]");
    ck_assert_int_ge(alloc_each_fails(make_sabre, unmake, text), 2);
    char rated[256];
    snprintf(rated, sizeof rated, "%s",
             rated_folder("video_quality", "1\n2\n", "3\n4\n"));
    ck_assert_int_ge(alloc_each_fails(make_folder, unmake, rated), 4);
}

/* Points of levels until those of chunks are known. */
TEST(points_of_levels_and_of_chunks)
{
    struct err e = {0};
    const double ladder[] = {300, 750, 1200};
    struct video *v = video_new(3, 4, 4, ladder, &e);
    double curve[3], got[3];
    quality_curve(curve, ladder, NULL, 3);
    ck_assert_int_eq(v->quality, QUALITY_CURVE);
    ck_assert_ptr_null(v->points);
    for (int chunk = 0; chunk < 4; chunk++) {
        video_points(got, v, chunk);
        for (int k = 0; k < 3; k++)
            ck_assert(got[k] == curve[k] && v->level_points[k] == curve[k]);
    }
    v->level_points[1] = 33; /* stated */
    video_points(got, v, 2);
    ck_assert_double_eq(got[1], 33);
    v->points = calloc(12, sizeof *v->points); /* owned */
    v->points[2 * 3 + 1] = 44.5f;
    v->points[3 * 3] = 11;
    video_points(got, v, 2);
    ck_assert(got[0] == 0 && got[1] == 44.5 && got[2] == 0);
    video_points(got, v, 3);
    ck_assert(got[0] == 11 && got[1] == 0);
    video_free(v);
}

SUITE(abr_manifests_video, points_of_levels_and_of_chunks, shape_is_checked,
      sizes_are_checked, generated, pensieve_folder, pensieve_ladder_from_means,
      pensieve_refusals, quality_files_beside_the_sizes, quality_file_refusals,
      quality_is_checked, another_ladder_has_another_curve, what_is_saved_is_loaded_again,
      sabre, sabre_with_quality, sabre_refusals, neither_format,
      every_allocation_may_fail);
