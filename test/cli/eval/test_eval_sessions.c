/* eval_sessions replays what eval scored: the sums of its rows are the scores. */
#include "cli/eval/eval_sessions.h"

#include "base/text.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Mean of the last column over the rows of a trace. */
static double mean_reward(const char *text, const char *trace)
{
    double sum = 0;
    int n = 0;
    for (const char *line = strchr(text, '\n') + 1; *line;
         line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n'), *comma = end;
        while (*comma != ',')
            comma--;
        const char *found = strstr(line, trace);
        if (!found || found > end) continue;
        sum += strtod(comma + 1, NULL);
        n++;
    }
    ck_assert_int_gt(n, 0);
    return sum / n;
}

TEST(rows_are_what_was_scored)
{
    struct err e = {0};
    struct corpus *corpus = corpus_load("test/golden/traces", CORPUS_ALL, &e);
    struct video *video = video_load("test/golden/video", NULL, &e);
    ck_assert_msg(corpus && video, "%s: %s", e.field, e.detail);
    const char *left_out[] = {corpus->traces[0]->name};
    struct eval_cfg cfg = eval_cfg_default();
    cfg.exclude = left_out;
    cfg.n_exclude = 1;
    const struct algo_ctx ctx = {.seed = 5};
    struct setup_profile profile = {.name = "live", .qoe = qoe_find("live")->qoe};

    static const char *const policies[] = {"random", "oracle"};
    struct eval_row rows[2];
    for (int p = 0; p < 2; p++)
        ck_assert_int_eq(eval_run(&rows[p], policies[p], &ctx, "live", &profile.qoe,
                                  corpus, video, &cfg, &e),
                         0);
    for (int p = 0; p < 2; p++) {
        const char *dir = tmpdir_new();
        const struct eval_sessions s = {.rows = &rows[p],
                                        .n_profiles = 1,
                                        .n_policies = 1,
                                        .profiles = &profile,
                                        .shown = policies[p],
                                        .corpus = corpus,
                                        .video = video,
                                        .cfg = &cfg,
                                        .ctx = &ctx};
        int64_t n = 0;
        const char *path = tmpdir_path(dir, "t.csv");
        ck_assert_int_eq(eval_sessions_export(&n, &s, path, 0, &e), 0);
        ck_assert_int_eq(n, (corpus->n - 1) * (video->chunks - 1));
        char *text = text_read_file(path, 1 << 24, NULL, &e);
        ck_assert_ptr_null(strstr(text, left_out[0]));
        for (int i = 0; i < rows[p].n; i++)
            ck_assert_double_eq_tol(mean_reward(text, corpus->traces[i + 1]->name),
                                    rows[p].trace_qoe[i], 1e-6);
        free(text);
    }
    for (int p = 0; p < 2; p++)
        eval_row_free(&rows[p]);
    video_free(video);
    corpus_free(corpus);
}

SUITE_WITHIN(cli_eval_eval_sessions, 60, rows_are_what_was_scored);
