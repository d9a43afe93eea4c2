/* abrd video, from outside; what --fetch does over HTTP is in test/http/video.mjs. */
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <string.h>

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
    program_expect_in(
        dir, "video show @/m.m3u8 --csv - 2> /dev/null", OPT_EXIT_DONE,
        "level,kbps,mean_kbps,least_bytes,most_bytes\n0,500,375,125000,250000\n");
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

SUITE(cli_cmd_video, a_manifest_becomes_a_table_that_eval_plays);
