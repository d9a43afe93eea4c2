#include "serve/session/limits.h"
#include "support/suites.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static struct session_open good_open(void)
{
    return (struct session_open){.levels = 3,
                                 .ladder_kbps = {300, 750, 1200},
                                 .chunk_s = 4,
                                 .chunks = 48,
                                 .buffer_max_s = 60};
}

static void open_says(const struct session_open *in, int code, const char *field)
{
    struct err e = {0};
    ck_assert_int_eq(limits_open(in, &e), code);
    ck_assert_str_eq(e.field, field);
}

TEST(sessions_within_limits_pass)
{
    struct session_open in = good_open();
    open_says(&in, 0, "");
    in.has_mu = true;
    in.qoe = qoe_of_mu(1, 2, 3, QOE_LOG);
    in.chunks = 0;
    in.chunk_s = .5;
    in.has_next = true;
    strcpy(in.content_id, "caf\xc3\xa9");
    open_says(&in, 0, "");
}

TEST(labels_have_a_length_and_an_alphabet)
{
    static const struct {
        const char *value;
        int code;
    } ROWS[] = {{"tv", 0},
                {"Android_14.2-beta", 0},
                {"0123456789012345678901234567890", 0}, /* 31 */
                {"", 0},                                /* no label */
                {"smart tv", ERR_INVALID},
                {"a,b", ERR_INVALID},
                {"a\"b", ERR_INVALID},
                {"caf\xc3\xa9", ERR_INVALID},
                {"a\nb", ERR_INVALID}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        for (int k = 0; k < LABELS_KEYS; k++) {
            char field[40];
            struct session_open in = good_open();
            snprintf(field, sizeof field, "labels.%s", labels_keys[k]);
            strcpy(in.labels.value[k], ROWS[i].value);
            open_says(&in, ROWS[i].code, ROWS[i].code ? field : "");
        }
}

TEST(quality_heights_and_weights_have_limits)
{
    struct session_open in = good_open();
    in.quality_from = QUALITY_LEVEL;
    in.quality[2] = 100;
    open_says(&in, 0, "");
    in.quality[2] = 100.5;
    open_says(&in, ERR_RANGE, "quality[2]");
    in.quality[2] = NAN;
    open_says(&in, ERR_INVALID, "quality[2]");
    in.quality[2] = 1;
    in.n_quality = 2;
    open_says(&in, ERR_INVALID, "quality");
    in = good_open();
    in.n_height = 3;
    in.height[0] = 16, in.height[1] = 720, in.height[2] = 8640;
    open_says(&in, 0, "");
    in.height[0] = 15;
    open_says(&in, ERR_RANGE, "height[0]");
    in.height[0] = 360.5;
    open_says(&in, ERR_INVALID, "height[0]");
    in = good_open();
    in.has_next_quality = true;
    in.next_quality[0] = NAN;
    open_says(&in, 0, "");
    in.next_quality[1] = -1;
    open_says(&in, ERR_RANGE, "next_quality[1]");

    struct question q = {.has_next_quality = true, .n_next_quality = 3};
    struct err e = {0};
    q.next_quality[2] = 101;
    ck_assert_int_eq(limits_question(&q, 3, 0, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "next_quality[2]");
    e = (struct err){0};
    ck_assert_int_eq(limits_question(&q, 4, 0, &e), ERR_INVALID);
    ck_assert_str_eq(e.field, "next_quality");

    /* the largest weights of a request pass, whatever rounding does to them */
    in = good_open();
    in.has_mu = true;
    for (int i = 1; i <= 1000; i++) {
        double w = i / 10.0;
        in.qoe = qoe_of_weights((double[]){w, w, w, w});
        open_says(&in, 0, "");
    }
    in.qoe = qoe_of_weights((double[]){1, 1, 100.1, 1});
    open_says(&in, ERR_RANGE, "weights.stalls");
    in.qoe = qoe_of_weights((double[]){0, 0, 0, 0});
    open_says(&in, ERR_RANGE, "weights");
    in.qoe = *qoe_standard();
    strcpy(in.profile, "news");
    open_says(&in, ERR_INVALID, "weights");
    in.profile[0] = '\0';
    in.qoe.stall_ratio_max = .9;
    open_says(&in, ERR_RANGE, "stall_ratio_max");
}

TEST(sessions_outside_name_the_field)
{
    struct session_open in = good_open();
    in.levels = 1;
    open_says(&in, ERR_RANGE, "ladder_kbps");
    in = good_open();
    in.ladder_kbps[2] = 750;
    open_says(&in, ERR_INVALID, "ladder_kbps[2]");
    in = good_open();
    in.ladder_kbps[1] = NAN;
    open_says(&in, ERR_INVALID, "ladder_kbps[1]");
    in = good_open();
    in.chunk_s = INFINITY;
    open_says(&in, ERR_INVALID, "chunk_s");
    in = good_open();
    in.chunk_s = .1;
    open_says(&in, ERR_RANGE, "chunk_s");
    in = good_open();
    in.chunks = -1;
    open_says(&in, ERR_RANGE, "chunks");
    in = good_open();
    in.buffer_max_s = 3;
    open_says(&in, ERR_RANGE, "buffer_max_s");
    in = good_open();
    in.has_mu = true;
    open_says(&in, ERR_RANGE, "mu");
    in.qoe = qoe_of_mu(1, -1, 1, QOE_LINEAR);
    open_says(&in, ERR_RANGE, "mu[1]");
    in.qoe = qoe_of_mu(1, 1, 1, (enum qoe_utility)9);
    open_says(&in, ERR_INVALID, "utility");
    strcpy(in.profile, "news");
    open_says(&in, ERR_INVALID, "mu");
    in = good_open();
    strcpy(in.profile, "News!");
    open_says(&in, ERR_INVALID, "profile");
    in = good_open();
    in.has_next = true;
    in.next_bytes[1] = 5e9;
    open_says(&in, ERR_RANGE, "next_bytes[1]");
    in = good_open();
    strcpy(in.content_id, "a\nb");
    open_says(&in, ERR_INVALID, "content_id");
}

TEST(questions_name_the_path)
{
    const struct question good = {
        .chunk = 3,
        .buffer_s = 10,
        .has_last = true,
        .last = {.chunk = 2, .level = 1, .bytes = 100, .download_s = .5}};
    ck_assert_int_eq(limits_question(&good, 3, 48, NULL), 0);
    struct {
        const char *field;
        struct question q;
    } bad[8];
    for (int i = 0; i < 8; i++)
        bad[i].q = good;
    bad[0].field = "chunk", bad[0].q.chunk = 48;
    bad[1].field = "buffer_s", bad[1].q.buffer_s = -1;
    bad[2].field = "last.chunk", bad[2].q.last.chunk = -1;
    bad[3].field = "last.level", bad[3].q.last.level = 3;
    bad[4].field = "last.bytes", bad[4].q.last.bytes = INT64_C(20000000000);
    bad[5].field = "last.download_s", bad[5].q.last.download_s = 0;
    bad[6].field = "last.rebuffer_s", bad[6].q.last.rebuffer_s = NAN;
    bad[7].field = "next_bytes[0]", bad[7].q.has_next = true, bad[7].q.next_bytes[0] = -1;
    for (int i = 0; i < 8; i++) {
        struct err e = {0};
        ck_assert_int_lt(limits_question(&bad[i].q, 3, 48, &e), 0);
        ck_assert_str_eq(e.field, bad[i].field);
    }
    struct question live = good;
    live.chunk = 100000;
    ck_assert_int_eq(limits_question(&live, 3, 0, NULL), 0);
}

TEST(rewards_report_something)
{
    struct err e = {0};
    struct reward_in in = {.chunk = 0};
    ck_assert_int_eq(limits_reward(&in, 3, 48, &e), ERR_INVALID);
    in.has_external = true;
    in.external = 1001;
    e = (struct err){0};
    ck_assert_int_eq(limits_reward(&in, 3, 48, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "reward");
    in.external = -1000;
    ck_assert_int_eq(limits_reward(&in, 3, 48, NULL), 0);
    in.has_outcome = true;
    in.outcome = (struct outcome){.chunk = 1, .bytes = 1, .download_s = 1};
    ck_assert_int_eq(limits_reward(&in, 3, 48, NULL), ERR_INVALID);
}

TEST(views_are_checked_whole)
{
    struct view v = view_default();
    v.levels = 2;
    v.ladder_kbps[0] = 300;
    v.ladder_kbps[1] = 900;
    v.chunk_s = 2;
    v.buffer_max_s = 30;
    v.n_history = 1;
    v.throughput_kbps[0] = 1000;
    v.download_s[0] = 1;
    ck_assert_int_eq(limits_view(&v, NULL), 0);

    struct err e = {0};
    struct view bad = v;
    bad.download_s[0] = -1;
    ck_assert_int_eq(limits_view(&bad, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "download_s[0]");
    bad = v;
    bad.last_level = 2;
    e = (struct err){0};
    ck_assert_int_eq(limits_view(&bad, &e), ERR_RANGE);
    ck_assert_str_eq(e.field, "last_level");
}

SUITE(serve_session_limits, sessions_within_limits_pass,
      labels_have_a_length_and_an_alphabet, quality_heights_and_weights_have_limits,
      sessions_outside_name_the_field, questions_name_the_path, rewards_report_something,
      views_are_checked_whole);
