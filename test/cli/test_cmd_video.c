/* abrd video, from outside; what --fetch does over HTTP is in test/http/video.mjs. */
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

TEST(a_manifest_becomes_a_table_that_eval_plays)
{
    dir = tmpdir_new();
    tmpdir_put(dir, "m.m3u8",
               "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=500000\nlo.m3u8\n"
               "#EXT-X-STREAM-INF:BANDWIDTH=2000000\nhi.m3u8\n");
    tmpdir_put(dir, "lo.m3u8",
               "#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:250000@0\na\n#EXTINF:4,\n"
               "#EXT-X-BYTERANGE:125000\na\n");
    tmpdir_put(dir, "hi.m3u8",
               "#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:1000000@0\na\n#EXTINF:4,\n"
               "#EXT-X-BYTERANGE:900000\na\n");
    program_expect_in(dir, "video show @/m.m3u8 --csv - 2> /dev/null", OPT_EXIT_DONE,
                      "level,kbps,mean_kbps,least_bytes,most_bytes,quality,quality_from\n"
                      "0,500,375,125000,250000,");
    program_expect_in(dir, "video convert @/m.m3u8 --out @/table", OPT_EXIT_DONE,
                      "m.m3u8: 2 chunks of 4 s at 2 levels");
    program_expect_in(dir, "video show @/table", OPT_EXIT_DONE,
                      "2 chunks of 4 s at 2 levels");
    program_expect_in(dir, "eval --policy buffer --video @/table --csv -", OPT_EXIT_DONE,
                      "buffer,");

    program_expect_in(dir, "video convert @/m.m3u8", OPT_EXIT_USAGE,
                      "--out DIR is missing");
    program_expect_in(dir, "video show @/absent", OPT_EXIT_FAILED, "absent");
    program_expect_in(dir, "video show http://127.0.0.1:1/x", OPT_EXIT_FAILED, "--fetch");
    program_expect_in(dir, "video shwo x", OPT_EXIT_USAGE, "did you mean 'show'?");
}

TEST(quality_is_joined_kept_and_shown)
{
    dir = tmpdir_new();
    tmpdir_put(dir, "video_size_0", "250000\n125000\n1\n");
    tmpdir_put(dir, "video_size_1", "1000000\n900000\n1\n");
    mkdir(tmpdir_path(dir, "scores"), 0755);
    tmpdir_put(dir, "scores/vmaf_0", "20\n40\n60\n");
    tmpdir_put(dir, "scores/vmaf_1", "80\n90\n100\n");

    program_expect_in(dir, "video show @ --csv -", OPT_EXIT_DONE, ",curve\n");
    program_expect_in(dir, "video convert @ --quality @/scores --out @/table --csv -",
                      OPT_EXIT_DONE, "0,375,375,125000,250000,30,chunk\n");
    program_expect_in(dir, "video show @/table --csv -", OPT_EXIT_DONE, ",85,chunk\n");
    program_expect_in(dir, "eval --policy buffer --video @/table --csv -", OPT_EXIT_DONE,
                      "buffer,");
    program_expect_in(dir, "eval --policy buffer --video @ --quality @/scores --csv -",
                      OPT_EXIT_DONE, "buffer,");
    program_expect_in(dir, "eval --policy buffer --quality @/scores", OPT_EXIT_FAILED,
                      "2 files vmaf_0");
    program_expect_in(dir, "video show @ --quality @/none", OPT_EXIT_FAILED,
                      "neither video_quality_0 nor vmaf_0");
}

SUITE(cli_cmd_video, quality_is_joined_kept_and_shown,
      a_manifest_becomes_a_table_that_eval_plays);
