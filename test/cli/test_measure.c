/* abrd video quality on media that ffmpeg makes here; without ffmpeg the tests of it are skipped. */
#include "cli/measure.h"

#include "base/text.h"
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

static bool has_ffmpeg(void)
{
    if (!system("command -v ffmpeg >/dev/null")) return true;
    fputs("test_measure.c: skipped, ffmpeg is missing\n", stderr);
    return false;
}

static void shell(const char *command)
{
    char text[2048];
    snprintf(text, sizeof text, "cd %s && %s", dir, command);
    ck_assert_msg(!system(text), "%s", text);
}

#define FFMPEG "ffmpeg -hide_banner -v error -nostdin -y "
#define SOURCE "-f lavfi -i testsrc2=s=160x90:r=25:d=4 "
#define X264 "-c:v libx264 -preset ultrafast -g 50 -keyint_min 50 -sc_threshold 0 "

/* Two levels in segments of 2 s: the lower one in half the size and with half the pictures. */
static void make_dash(void)
{
    shell(FFMPEG SOURCE "-c:v ffv1 source.mkv");
    shell(FFMPEG "-i source.mkv -r 12.5 -s 80x46 " X264 "-qp 40 -g 25 -keyint_min 25 "
                 "-f dash -seg_duration 2 -use_template 1 -use_timeline 0 "
                 "-init_seg_name lo-init.mp4 -media_seg_name 'lo-$Number$.m4s' lo.mpd");
    shell(FFMPEG "-i source.mkv " X264 "-qp 10 "
                 "-f dash -seg_duration 2 -use_template 1 -use_timeline 0 "
                 "-init_seg_name hi-init.mp4 -media_seg_name 'hi-$Number$.m4s' hi.mpd");
    tmpdir_put(
        dir, "manifest.mpd",
        "<MPD mediaPresentationDuration=\"PT4S\"><Period>\n"
        "<AdaptationSet contentType=\"video\">\n"
        "<SegmentTemplate duration=\"2\" media=\"$RepresentationID$-$Number$.m4s\"\n"
        " initialization=\"$RepresentationID$-init.mp4\"/>\n"
        "<Representation id=\"hi\" bandwidth=\"900000\" height=\"90\"/>\n"
        "<Representation id=\"lo\" bandwidth=\"100000\" height=\"46\"/>\n"
        "</AdaptationSet></Period></MPD>\n");
}

static struct video *load(const char *name, const struct video_cfg *cfg)
{
    struct err e = {0};
    struct video *v = video_load(tmpdir_path(dir, name), cfg, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    return v;
}

TEST(dash_against_its_top_level)
{
    dir = tmpdir_new();
    if (!has_ffmpeg()) return;
    make_dash();
    program_expect_in(dir,
                      "video quality @/manifest.mpd --metric ssim --out @/table "
                      "--mpd @/rated.mpd --quiet --csv -",
                      OPT_EXIT_DONE, "\n1,900,90,100,100,100,ssim\n");
    struct video *v = load("table", NULL);
    ck_assert(v->chunks == 2 && v->quality == QUALITY_CHUNK && v->heights[0] == 46);
    double points[VIEW_LEVELS];
    for (int c = 0; c < 2; c++) {
        video_points(points, v, c);
        ck_assert_double_lt(points[0], 80);
        ck_assert_double_eq(points[1], 100);
    }
    struct video *rated = load("rated.mpd", NULL);
    ck_assert_int_eq(rated->quality, QUALITY_CHUNK);
    ck_assert_double_eq_tol(rated->level_points[0], v->level_points[0], 0.06);
    video_free(rated);
    video_free(v);

    /* against the source the top level is not perfect; the folder is named, and one chunk asked for */
    program_expect_in(dir,
                      "video quality @ --metric ssim --reference @/source.mkv --chunks 1 "
                      "--out @/source --quiet",
                      OPT_EXIT_DONE, "quality of 1 chunks of 2 s");
    v = load("source", NULL);
    ck_assert(v->chunks == 1 && v->level_points[1] < 100 && v->level_points[1] > 90);
    video_free(v);
    /* nothing is left in the temporary folder */
    setenv("TMPDIR", tmpdir_path(dir, "table"), 1);
    program_expect_in(dir, "video quality @ --metric ssim --quiet", OPT_EXIT_DONE,
                      "ssim");
    shell("test -z \"$(ls -d table/abrd-* 2>/dev/null)\"");
}

TEST(hls_and_whole_files)
{
    dir = tmpdir_new();
    if (!has_ffmpeg()) return;
    shell(FFMPEG SOURCE X264 "-qp 40 lo.mp4");
    shell(FFMPEG SOURCE X264 "-qp 12 hi.mp4");
    program_expect_in(dir,
                      "video quality @ --metric ssim --chunk-s 2 --out @/scores --quiet",
                      OPT_EXIT_DONE, "quality of 2 chunks of 2 s");
    struct video *v = video_default(NULL);
    ck_assert_int_eq(video_load_quality(v, tmpdir_path(dir, "scores"), NULL),
                     ERR_CONFLICT); /* two levels, not six */
    video_free(v);
    program_expect_in(dir, "video quality @ --mpd @/x.mpd --metric ssim --quiet",
                      OPT_EXIT_FAILED, "folder without an MPD");

    shell(FFMPEG "-i lo.mp4 -c copy -hls_time 2 -hls_playlist_type vod lo.m3u8");
    shell(FFMPEG "-i hi.mp4 -c copy -hls_time 2 -hls_playlist_type vod hi.m3u8");
    tmpdir_put(dir, "master.m3u8",
               "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nlo.m3u8\n"
               "#EXT-X-STREAM-INF:BANDWIDTH=900000\nhi.m3u8\n");
    program_expect_in(dir, "video quality @/master.m3u8 --metric ssim --quiet",
                      OPT_EXIT_DONE, "quality of 2 chunks of 2 s");
    shell("sed -i /ENDLIST/d lo.m3u8");
    program_expect_in(dir, "video quality @ --metric ssim --quiet", OPT_EXIT_FAILED,
                      "no #EXT-X-ENDLIST");
}

TEST(what_cannot_be_measured)
{
    dir = tmpdir_new();
    program_expect_in(dir, "video quality @/none", OPT_EXIT_FAILED, "No such file");
    program_expect_in(dir, "video quality", OPT_EXIT_USAGE, "INPUT");
    if (!has_ffmpeg()) return;
    program_expect_in(dir, "video quality @", OPT_EXIT_FAILED, "0 video files");
    program_expect_in(dir, "video quality @ --metric psnr", OPT_EXIT_FAILED,
                      "'psnr' is not auto, ssim or vmaf");
    make_dash();
    program_expect_in(dir, "video quality @ --metric ssim --reference @/none.mkv",
                      OPT_EXIT_FAILED, "none.mkv: cannot be read");
    program_expect_in(dir, "video quality @ --metric ssim --reference @/manifest.mpd",
                      OPT_EXIT_FAILED, "ffmpeg");
    shell(
        "ffmpeg -hide_banner -v error -nostdin -y -i source.mkv -t 1 -c copy short.mkv");
    program_expect_in(dir,
                      "video quality @ --metric ssim --reference @/short.mkv --chunks 1",
                      OPT_EXIT_DONE, "quality of 1 chunks");
    shell("rm hi-1.m4s");
    program_expect_in(dir, "video quality @ --metric ssim", OPT_EXIT_FAILED, "hi-1.m4s");
    shell("rm lo-1.m4s");
    program_expect_in(dir, "video quality @ --metric ssim", OPT_EXIT_FAILED,
                      "segments are not next to it");
    program_expect_in(dir, "video quality @/manifest.mpd --metric vmaf --chunks 1",
                      OPT_EXIT_FAILED, "");
}

/* An ffmpeg with libvmaf, as far as the command can see. */
TEST(vmaf_where_ffmpeg_has_it)
{
    dir = tmpdir_new();
    char path[4096];
    tmpdir_put(dir, "ffmpeg",
               "#!/bin/sh\ncase \"$*\" in\n"
               "*-filters*) echo ' ... libvmaf           VV->V  x' ;;\n"
               "*yuv4mpegpipe*) echo 'YUV4MPEG2 W160 H90 F2:1' ;;\n"
               "*libvmaf=*shortest=1*log_fmt=csv*)\n"
               "printf 'Frame,vmaf\\n0,50\\n1,60\\n2,70\\n3,80\\n' ;;\n"
               "*) echo \"unexpected: $*\" >&2; exit 1 ;;\nesac\n");
    ck_assert_int_eq(chmod(tmpdir_path(dir, "ffmpeg"), 0755), 0);
    snprintf(path, sizeof path, "%s:%s", dir, getenv("PATH"));
    setenv("PATH", path, 1);
    mkdir(tmpdir_path(dir, "in"), 0755);
    tmpdir_put(dir, "in/a.mp4", "small");
    tmpdir_put(dir, "in/b.mp4", "larger");
    program_expect_in(dir, "video quality @/in --chunk-s 1 --out @/out --quiet",
                      OPT_EXIT_DONE, "measured as vmaf");
    size_t n;
    char *text = text_read_file(tmpdir_path(dir, "out/video_quality_0"), 999, &n, NULL);
    ck_assert_str_eq(text, "55.00\n75.00\n");
    free(text);
    program_expect_in(dir, "video quality @/in --metric ssim", OPT_EXIT_FAILED,
                      "no filter ssim or metadata");
}

SUITE_WITHIN(cli_measure, 120, dash_against_its_top_level, hls_and_whole_files,
             what_cannot_be_measured, vmaf_where_ffmpeg_has_it);
