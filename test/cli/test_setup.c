/* What a mistyped option says is tried in test_cmd_eval.c, from outside. */
#include "cli/setup.h"

#include "support/suites.h"

#include <string.h>

TEST(profiles_by_name_by_weights_or_otherwise)
{
    struct setup_profile p[SETUP_PROFILES];
    struct setup s = setup_default();
    struct err e = {0};
    ck_assert_int_eq(setup_profiles(p, &s, "pensieve", &e), 1);
    ck_assert_str_eq(p[0].name, "pensieve");
    ck_assert(p[0].qoe.mu_stall == 4.3 && p[0].qoe.utility == QOE_LINEAR);
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), QOE_PRODUCT);
    ck_assert_str_eq(p[0].name, "standard");
    ck_assert_int_eq(setup_profiles(p, &s, "papers", &e), QOE_PAPERS);
    ck_assert_str_eq(p[3].name, "pensieve");

    s.mu = "2,0.5,3";
    s.utility = "log";
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), 1);
    ck_assert_str_eq(p[0].name, "custom");
    ck_assert(p[0].qoe.mu_quality == 2 && p[0].qoe.mu_switch == .5 &&
              p[0].qoe.mu_stall == 3 && p[0].qoe.utility == QOE_LOG);

    /* --utility concerns the papers' profiles, not the product's */
    s.profiles = (struct field_list){.n = 2, .item = {"paper-news", "live"}};
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), 3);
    ck_assert_str_eq(p[0].name, "paper-news");
    ck_assert_str_eq(p[2].name, "custom");
    ck_assert(p[0].qoe.utility == QOE_LOG && p[1].qoe.utility == QOE_POINTS);

    s.profiles = (struct field_list){.n = 2, .item = {"all", "live"}};
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "--profile");
}

TEST(weights_have_names)
{
    struct setup_profile p[SETUP_PROFILES];
    struct setup s = setup_default();
    struct err e = {0};
    s.weights = (struct field_list){.n = 2, .item = {"stalls=2", "quality=0.5"}};
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), 1);
    ck_assert_str_eq(p[0].name, "custom");
    const double want[QOE_WEIGHTS] = {.5, 1, 2, 1};
    const struct qoe k = qoe_of_weights(want);
    ck_assert(qoe_same(&p[0].qoe, &k));

    static const struct {
        const char *item, *says;
    } wrong[] = {{"mood=2", "quality, switches, stalls or startup"},
                 {"stalls", "as in quality=1.5"},
                 {"stalls=many", "'many' is not a number"},
                 {"stalls=-1", ""},
                 {"=1", "as in"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        e = (struct err){0};
        s.weights = (struct field_list){.n = 1, .item = {wrong[i].item}};
        ck_assert_int_lt(setup_profiles(p, &s, "all", &e), 0);
        ck_assert_str_eq(e.field, "--weights");
        ck_assert_msg(strstr(e.detail, wrong[i].says) != NULL, "%s", e.detail);
    }
    e = (struct err){0};
    s.weights = (struct field_list){
        .n = 4, .item = {"quality=0", "switches=0", "stalls=0", "startup=0"}};
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), ERR_RANGE);
    e = (struct err){0};
    s.mu = "1,1,1";
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), ERR_CONFLICT);
}

TEST(every_profile_says_what_it_means)
{
    struct setup_terms t;
    setup_terms(&t);
    for (int i = 0; i < QOE_PROFILES; i++) {
        ck_assert_str_eq(t.at[i].word, qoe_profiles[i].name);
        ck_assert_msg(strstr(t.at[i].means, "one second of stall is worth ") != NULL,
                      "%s", t.at[i].means);
        ck_assert_uint_lt(strlen(t.at[i].means), sizeof t.text[i] - 1);
    }
    ck_assert_ptr_nonnull(strstr(t.at[0].means, "34 points of one 4 s chunk"));
    ck_assert_ptr_null(t.at[QOE_PROFILES].word);
}

TEST(corpus_parts)
{
    struct setup s = setup_default();
    struct err e = {0};
    s.traces = "test/golden/traces";
    const char *const parts[] = {"train", "test", NULL};
    int n[3];
    for (int i = 0; i < 3; i++) {
        s.part = parts[i];
        struct corpus *c = setup_corpus(&s, &e);
        ck_assert_msg(c != NULL, "%s: %s", e.field, e.detail);
        n[i] = c->n;
        corpus_free(c);
    }
    ck_assert_int_eq(n[2], 7); /* a folder is taken whole */
    ck_assert_int_eq(n[0] + n[1], n[2]);
}

TEST(generated_videos)
{
    struct setup s = setup_default();
    struct err e = {0};
    struct video *usual = setup_video(&s, &e);
    ck_assert_int_eq(usual->levels, 6);
    s.chunk_s = 2;
    struct video *v = setup_video(&s, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert_int_eq(v->levels, 6);
    ck_assert_int_eq(v->chunks, 96); /* as long as the usual one */
    ck_assert(v->ladder_kbps[5] == usual->ladder_kbps[5]);
    video_free(v);
    video_free(usual);

    s = setup_default();
    s.ladder = (struct field_list){.n = 3, .item = {"1000", "2500.5", "40000"}};
    s.spread = 0;
    s.chunks = 7;
    v = setup_video(&s, &e);
    ck_assert_msg(v != NULL, "%s: %s", e.field, e.detail);
    ck_assert(v->levels == 3 && v->chunks == 7 && v->chunk_s == 4);
    for (int c = 0; c < 7; c++) /* constant bitrate: 40 Mbit/s for 4 s is 20 MB */
        ck_assert_int_eq(video_chunk(v, c)[2], 20000000);
    video_free(v);

    s.video = "test/golden/video";
    ck_assert_ptr_null(setup_video(&s, &e));
    ck_assert_str_eq(e.field, "--video");
    s.video = NULL;
    s.ladder.item[1] = "900";
    e = (struct err){0};
    ck_assert_ptr_null(setup_video(&s, &e)); /* does not ascend */
    ck_assert_int_eq(e.code, ERR_RANGE);
    s.ladder.item[1] = "fast";
    e = (struct err){0};
    ck_assert_ptr_null(setup_video(&s, &e));
    ck_assert_str_eq(e.field, "--ladder");
    s.ladder.n = VIEW_LEVELS + 1;
    e = (struct err){0};
    ck_assert_ptr_null(setup_video(&s, &e));
    ck_assert_int_eq(e.code, ERR_RANGE);
}

TEST(player_and_link)
{
    struct setup s = setup_default();
    ck_assert(setup_emu(&s).rtt_s == .08 && setup_emu(&s).buffer_max_s == 60);
    s.rtt_ms = 20;
    s.buffer_s = 12;
    s.no_wrap = true;
    struct emu_cfg emu = setup_emu(&s);
    ck_assert(emu.rtt_s == .02 && emu.buffer_max_s == 12 && emu.wrap == EMU_WRAP_NONE);
}

SUITE(cli_setup, profiles_by_name_by_weights_or_otherwise, weights_have_names,
      every_profile_says_what_it_means, corpus_parts, generated_videos, player_and_link);
