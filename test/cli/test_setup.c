/* What a mistyped option says is tried in test_cmd_eval.c, from outside. */
#include "cli/setup.h"

#include <check.h>
#include <string.h>

START_TEST(profiles_by_name_by_weights_or_otherwise)
{
    struct setup_profile p[SETUP_PROFILES];
    struct setup s = setup_default();
    struct err e = {0};
    ck_assert_int_eq(setup_profiles(p, &s, "pensieve", &e), 1);
    ck_assert_str_eq(p[0].name, "pensieve");
    ck_assert(p[0].qoe.mu_stall == 4.3 && p[0].qoe.utility == QOE_LINEAR);
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), QOE_PROFILES);

    s.mu = "2,0.5,3";
    s.utility = "log";
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), 1);
    ck_assert_str_eq(p[0].name, "custom");
    ck_assert(p[0].qoe.mu_quality == 2 && p[0].qoe.mu_switch == .5 &&
              p[0].qoe.mu_stall == 3 && p[0].qoe.utility == QOE_LOG);

    s.profiles = (struct opt_list){.n = 2, .item = {"news", "live"}};
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), 3);
    ck_assert_str_eq(p[0].name, "news");
    ck_assert_str_eq(p[2].name, "custom");
    ck_assert(p[0].qoe.utility == QOE_LOG);

    s.profiles = (struct opt_list){.n = 2, .item = {"all", "live"}};
    ck_assert_int_eq(setup_profiles(p, &s, "all", &e), ERR_CONFLICT);
    ck_assert_str_eq(e.field, "--profile");
}
END_TEST

START_TEST(corpus_parts)
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
END_TEST

START_TEST(player_and_link)
{
    struct setup s = setup_default();
    ck_assert(setup_emu(&s).rtt_s == .08 && setup_emu(&s).buffer_max_s == 60);
    s.rtt_ms = 20;
    s.buffer_s = 12;
    s.no_wrap = true;
    struct emu_cfg emu = setup_emu(&s);
    ck_assert(emu.rtt_s == .02 && emu.buffer_max_s == 12 && emu.wrap == EMU_WRAP_NONE);
}
END_TEST

Suite *suite_cli_setup(void);
Suite *suite_cli_setup(void)
{
    Suite *s = suite_create("cli/setup");
    TCase *t = tcase_create("cli/setup");
    tcase_add_test(t, profiles_by_name_by_weights_or_otherwise);
    tcase_add_test(t, corpus_parts);
    tcase_add_test(t, player_and_link);
    suite_add_tcase(s, t);
    return s;
}
