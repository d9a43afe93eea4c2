/* The page of a whole crowd is in test_cmd_emulate.c. */
#include "cli/emulate/emulate_page.h"

#include "base/text.h"
#include "support/page_home.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(chunks_become_viewers)
{
    char path[128];
    const char *dir = page_home_new();
    snprintf(path, sizeof path, "%s/v.html", dir);
    struct err e = {0};
    struct video *video = video_default(&e);
    struct corpus *corpus = corpus_generate("lte", 1, 30, 1, &e);
    struct viewers_cfg crowd = {.n_profiles = 1, .corpus = corpus};
    strcpy(crowd.profile[0].name, "live");
    struct emulate_page *p;
    ck_assert_int_eq(emulate_page_new(&p, path, &crowd, 300000, video, &e), ERR_RANGE);
    ck_assert_ptr_null(p);
    e = (struct err){0};
    ck_assert_msg(!emulate_page_new(&p, path, &crowd, 2, video, &e), "%s", e.detail);

    /* viewer 1 gets 1000 bytes in .5 s, twice; viewer 0 nothing. The first wait is no stall */
    struct player player = {.view = view_default(),
                            .last = {.reward = .75, .stall_s = .25},
                            .now = {.kbps = 2000, .points = 80},
                            .result = {.delay_ms = 500, .bytes = 1000}};
    player.view.ladder_kbps[0] = 2000;
    player.view.last_level = 0;
    player.view.chunk_s = 4;
    for (int i = 1; i <= 2; i++) {
        player.view.buffer_s = 4 + 3.5 * (i - 1);
        crowd.chunk(crowd.chunk_ctx, 1, 0, &player);
    }
    ck_assert_int_eq(emulate_page_write(p, &crowd, &e), 0);
    char *data = text_read_file(tmpdir_path(dir, "v.csv"), 1 << 20, NULL, NULL);
    static const char *const drawn[] = {
        "\ncdf,live,live,0.75,1,",
        "\nviewers,quality [points],quality [points],live,80,",
        "\nviewers,switches per minute,switches per minute,live,"
        "7.5,",
        "\nviewers,\"start-up, p90 [s]\",\"start-up, p90 [s]\","
        "live,0.25,",
        "\nstartup,live,live,0.25,1,",
        "\nstalls,,live,80,0.25,",
        "\ntimeline-best,rates,bitrate,0.5,2,",
        "\ntimeline-best,rates,throughput,1,0.016,",
        "\ntimeline-best,buffer,buffer,1,7.5,"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        ck_assert_msg(strstr(data, drawn[i]) != NULL, "%s in\n%s", drawn[i], data);
    free(data);
    emulate_page_free(p);
    corpus_free(corpus);
    video_free(video);
    unsetenv("ABRD_HOME");
}

SUITE(cli_emulate_emulate_page, chunks_become_viewers);
