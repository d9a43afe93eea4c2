/* abrd video, from outside; what --fetch does over HTTP is in test/http/video.mjs. */
#include "base/text.h"
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <string.h>

static char dir[64];

/* "$" in args is the folder */
static void expect(const char *args, int code, const char *part)
{
    char full[1024] = "";
    for (const char *s = args; *s; s++) {
        size_t n = strlen(full);
        snprintf(full + n, sizeof full - n, *s == '$' ? "%s" : "%.1s",
                 *s == '$' ? dir : s);
    }
    program_expect(full, code, part);
}

static void put(const char *name, const char *text)
{
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, name), text, strlen(text), NULL),
                     0);
}

TEST(a_manifest_becomes_a_table_that_eval_plays)
{
    snprintf(dir, sizeof dir, "%s", tmpdir_new());
    put("m.m3u8", "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=500000\nlo.m3u8\n"
                  "#EXT-X-STREAM-INF:BANDWIDTH=2000000\nhi.m3u8\n");
    put("lo.m3u8", "#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:250000@0\na\n#EXTINF:4,\n"
                   "#EXT-X-BYTERANGE:125000\na\n");
    put("hi.m3u8", "#EXTM3U\n#EXTINF:4,\n#EXT-X-BYTERANGE:1000000@0\na\n#EXTINF:4,\n"
                   "#EXT-X-BYTERANGE:900000\na\n");
    expect("video show $/m.m3u8 --csv - 2> /dev/null", OPT_EXIT_DONE,
           "level,kbps,mean_kbps,least_bytes,most_bytes\n0,500,375,125000,250000\n");
    expect("video convert $/m.m3u8 --out $/table", OPT_EXIT_DONE,
           "m.m3u8: 2 chunks of 4 s at 2 levels");
    expect("video show $/table", OPT_EXIT_DONE, "2 chunks of 4 s at 2 levels");
    expect("eval --policy buffer --video $/table --csv -", OPT_EXIT_DONE, "buffer,");

    expect("video convert $/m.m3u8", OPT_EXIT_USAGE, "--out DIR is missing");
    expect("video show $/absent", OPT_EXIT_FAILED, "absent");
    expect("video show http://127.0.0.1:1/x", OPT_EXIT_FAILED, "--fetch");
    expect("video shwo x", OPT_EXIT_USAGE, "did you mean 'show'?");
    tmpdir_remove(dir);
}

SUITE(cli_cmd_video, a_manifest_becomes_a_table_that_eval_plays);
