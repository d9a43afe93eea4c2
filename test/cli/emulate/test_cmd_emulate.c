/* abrd emulate from outside. */
#include "base/text.h"
#include "cli/opt.h"
#include "support/page_home.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TEST(bad_requests_say_what_to_do)
{
    program_expect("emulate --profile tennis", OPT_EXIT_FAILED, "not a built-in profile");
    program_expect("emulate --kind 5g", OPT_EXIT_FAILED, "volatile-low");
    program_expect("emulate --kind lte --traces x", OPT_EXIT_USAGE, "cannot be combined");
    program_expect("emulate --learn --server http://127.0.0.1:1", OPT_EXIT_USAGE,
                   "--learn cannot be combined with --server");
    program_expect("emulate --server ftp://x", OPT_EXIT_FAILED, "is not a URL");
    program_expect("emulate --server http://127.0.0.1:1 --viewers 1", OPT_EXIT_FAILED,
                   "is `abrd serve` running?");
    program_expect("emulate --grow mine", OPT_EXIT_USAGE, "--grow needs --mu");
    program_expect("emulate --silent", OPT_EXIT_USAGE, "--silent needs --grow");
    program_expect("emulate --mu 3,1,3 --grow Sports --viewers 1", OPT_EXIT_FAILED,
                   "a-z");
    program_expect("emulate --liars .1 --lie sideways", OPT_EXIT_USAGE,
                   "up, down or noise");
    program_expect("emulate --policy /nowhere.safetensors", OPT_EXIT_FAILED, "/nowhere");
}

/* What an earlier run has written is not emptied by one that plays nothing. */
TEST(a_run_that_fails_writes_nothing)
{
    const char *dir = tmpdir_new(), *was = "{\"rows\": [{\"n\": 9}]}\n";
    struct err e = {0};
    ck_assert_int_eq(text_write_file(tmpdir_path(dir, "r.json"), was, strlen(was), &e),
                     0);
    program_expect_in(
        dir,
        "emulate --server http://127.0.0.1:1 --viewers 1 --quiet --json @/r.json "
        "--csv @/r.csv",
        OPT_EXIT_FAILED, "is `abrd serve` running?");
    char *is = text_read_file(tmpdir_path(dir, "r.json"), 1000, NULL, &e);
    ck_assert_str_eq(is, was);
    free(is);
    ck_assert_int_ne(access(tmpdir_path(dir, "r.csv"), F_OK), 0);
    /* one that a signal stops shows what was played and saves what was learned */
    program_expect_in(
        dir,
        "emulate --viewers 1000000 --learn --save @/w.safetensors --quiet --json "
        "@/r.json & sleep 2; kill -INT $!; wait $!",
        OPT_EXIT_FAILED, "has the weights of that moment");
    ck_assert_int_eq(access(tmpdir_path(dir, "w.safetensors"), R_OK), 0);
    is = text_read_file(tmpdir_path(dir, "r.json"), 100000, NULL, &e);
    ck_assert_ptr_nonnull(strstr(is, "\"profile\": \"news\""));
    free(is);
}

TEST(a_row_for_every_profile)
{
    program_expect(
        "emulate --viewers 9 --profile news,untagged --mu 1,2,3 --json - --quiet",
        OPT_EXIT_DONE, "\"profile\": \"untagged\"");
    program_expect(
        "emulate --viewers 9 --profile news,untagged --mu 1,2,3 --json - --quiet",
        OPT_EXIT_DONE, "\"profile\": \"custom\"");
    program_expect("emulate --viewers 9 --profile untagged --quiet --csv -",
                   OPT_EXIT_DONE, "moe,untagged,traces,in process,9,432,");
}

TEST(a_profile_without_a_viewer_has_no_figures)
{
    struct program_result r =
        program_run("emulate --viewers 1 --profile news,live --quiet");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_null(strstr(r.text, "nan"));
    program_free(&r);
}

static double number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    ck_assert_msg(at != NULL, "no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

/* The table in viewers' units; the QoE with --wide. Those who do not ask decide themselves. */
TEST(rows_say_what_viewers_saw)
{
    struct program_result r = program_run("emulate --viewers 12 --profile live --quiet");
    ck_assert_ptr_nonnull(
        strstr(r.text, "profile  viewers  start s (p90)  stall %  quality  switches/min  "
                       "player %\n"));
    ck_assert_ptr_null(strstr(r.text, "mean_qoe"));
    program_free(&r);
    r = program_run("emulate --viewers 12 --profile live --quiet --wide");
    ck_assert_ptr_nonnull(strstr(r.text, "mean_qoe"));
    program_free(&r);

    r = program_run("emulate --viewers 12 --profile live --quiet --json - 2> /dev/null");
    double ratio = number_of(r.text, "\"stall_ratio\": "),
           stall_s = number_of(r.text, "\"stall_s\": ");
    ck_assert_double_eq_tol(ratio, stall_s / (stall_s + 4), 1e-9); /* chunks of 4 s */
    ck_assert_double_gt(number_of(r.text, "\"startup_median_s\": "), 0);
    ck_assert_double_ge(number_of(r.text, "\"startup_p90_s\": "),
                        number_of(r.text, "\"startup_median_s\": "));
    ck_assert_double_eq(number_of(r.text, "\"by_player\": "), 0);
    program_free(&r);

    r = program_run("emulate --viewers 12 --weights quality=2 --grow mine --silent "
                    "--quiet --json - 2> /dev/null");
    ck_assert_double_eq(number_of(r.text, "\"by_player\": "), 1);
    program_free(&r);
}

/* Three viewers in ten lie, and none of the policies that get out is more than 3 % worse in the
 * exam than one before it. */
TEST(lies_do_not_get_out)
{
    struct program_result r =
        program_run("emulate --viewers 100 --kind volatile-low --learn --explore 1 "
                    "--liars .3 --lie down --exam-links 0 --rehearse 0 --quiet");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    const char *fall = strstr(r.text, "so far: "), *updates = strstr(r.text, "%; ");
    ck_assert_msg(fall && updates, "%s", r.text);
    ck_assert_double_le(strtod(fall + 8, NULL), 3);
    ck_assert_int_ge(atoi(updates + 3), 1);
    program_free(&r);
}

/* "levels crc 0123abcd" of a run */
static void levels_crc(char out[20], const char *args)
{
    struct program_result r = program_run(args);
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    const char *at = strstr(r.text, "levels crc ");
    ck_assert_ptr_nonnull(at);
    snprintf(out, 20, "%.19s", at);
    program_free(&r);
}

TEST(the_order_of_viewers_changes_nothing_without_learning)
{
    char a[20], b[20], c[20];
    levels_crc(a, "emulate --viewers 20 --explore 1 --quiet");
    levels_crc(b, "emulate --viewers 20 --explore 1 --quiet --at-once 1");
    levels_crc(c, "emulate --viewers 20 --explore 1 --quiet --seed 1");
    ck_assert_str_eq(a, b);
    ck_assert_str_ne(a, c);
}

TEST(learning_publishes_and_is_scored)
{
    const char *dir = tmpdir_new();
    program_expect_in(
        dir,
        "emulate --kind volatile-low --links 8 --viewers 120 --learn --explore 1 "
        "--profile news --score 3 --save @/learned.safetensors --quiet",
        OPT_EXIT_DONE, "closed %");

    program_expect_in(dir, "eval --policy moe,moe:@/learned.safetensors --quiet",
                      OPT_EXIT_DONE, "learned.safetensors");
}

/* The saved weights are the same to the byte, with a correction of the forecast among them. */
TEST(a_seed_repeats_what_is_learned)
{
    const char *dir = tmpdir_new();
    char *saved[2];
    size_t n[2];
    for (int i = 0; i < 2; i++) {
        program_expect_in(
            dir,
            "emulate --kind volatile-low --links 50 --viewers 180 --learn --explore 1 "
            "--seed 3 --save @/learned.safetensors --quiet",
            OPT_EXIT_DONE, "exam scores");
        saved[i] =
            text_read_file(tmpdir_path(dir, "learned.safetensors"), 1 << 24, &n[i], NULL);
        ck_assert_ptr_nonnull(saved[i]);
    }
    program_expect_in(dir, "policy show @/learned.safetensors", OPT_EXIT_DONE,
                      "corrected");
    ck_assert_uint_eq(n[0], n[1]);
    ck_assert_mem_eq(saved[0], saved[1], n[0]);
    free(saved[0]);
    free(saved[1]);
}

/* The rows of the older profiles, with the crc of all their levels. */
static void older_rows(char *out, size_t n, const char *args)
{
    struct program_result r = program_run(args);
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    const char *from = strstr(r.text, "moe,standard,"), *to = strstr(r.text, "moe,mine,");
    ck_assert(from && to && from < to && (size_t)(to - from) < n);
    ck_assert_ptr_nonnull(strstr(r.text, "policy versions 1 .. 2"));
    snprintf(out, n, "%.*s", (int)(to - from), from);
    program_free(&r);
}

/* Beside a profile that grows and learns, or without its viewers: the common policy learns
 * the same and everybody else gets the same levels. */
TEST(older_profiles_do_not_notice_growth)
{
    char with[2048], without[2048];
    older_rows(with, sizeof with,
               "emulate --profile all --mu 3,1,3 --grow mine --viewers 90 --learn "
               "--explore 1 --exam-links 0 --rehearse 0 --quiet --csv -");
    older_rows(without, sizeof without,
               "emulate --profile all --mu 3,1,3 --grow mine --viewers 90 --learn "
               "--explore 1 --exam-links 0 --rehearse 0 --quiet --csv - --silent");
    ck_assert_str_eq(with, without);
}

TEST(a_added_profile_learns_and_is_scored)
{
    const char *dir = tmpdir_new();
    program_expect_in(
        dir,
        "emulate --kind volatile-low --links 8 --viewers 60 --learn --explore 1 "
        "--mu 3,1,3 --grow mine --score 3 --save @/grown.safetensors --quiet",
        OPT_EXIT_DONE, "after");
    program_expect_in(dir, "eval --policy moe,moe:@/grown.safetensors --quiet",
                      OPT_EXIT_DONE, "grown.safetensors");
    program_expect("emulate --mu 3,1,3 --grow mine --save /x", OPT_EXIT_USAGE, "--learn");
}

TEST(what_viewers_saw_is_a_page)
{
    const char *dir = page_home_new();
    program_expect_in(
        dir,
        "emulate --policy deploy/policy/moe.safetensors --viewers 8 --at-once 3 "
        "--kind lte --links 2 --profile live,untagged --untagged default "
        "--report @/seen.html",
        OPT_EXIT_DONE, "levels crc");
    char *data = text_read_file(tmpdir_path(dir, "seen.csv"), 1 << 20, NULL, NULL);
    ck_assert_ptr_nonnull(data);
    static const char *const drawn[] = {"\ncdf,live,live,", "\ncdf,untagged,untagged,",
                                        "\nviewers,stall ratio [%],", "\nstalls,,live,",
                                        "\ntimeline-median,rates,bitrate,"};
    for (int i = 0; i < 5; i++)
        ck_assert_msg(strstr(data, drawn[i]) != NULL, "%s in\n%s", drawn[i], data);
    free(data);
    program_expect_in(
        dir,
        "emulate --policy deploy/policy/moe.safetensors --viewers 1000000 --kind lte "
        "--links 2 --report @/seen.html",
        OPT_EXIT_FAILED, "more than 10000000 chunks in total");
    unsetenv("ABRD_HOME");
}

/* Phases play on one daemon, which learns from one to the next. */
TEST(a_sequence_is_played_on_one_daemon)
{
    const char *dir = tmpdir_new();
    program_expect_in(
        dir,
        "emulate --learn --explore 1 --noise 0 --learn-rate 0.001 --batch 512 --quiet "
        "--sequence 'name=slow kind=volatile-low viewers=40; kind=lte viewers=12 "
        "profile=live:3,news:1 no-hint=.5; weights=stalls=2 viewers=5 liars=.5 lie=noise "
        "one-address explore-keys' --save-phases @/after --json @/r.json",
        OPT_EXIT_DONE, "exam scores");
    char *rows = text_read_file(tmpdir_path(dir, "r.json"), 1 << 20, NULL, NULL);
    static const char *const there[] = {"\"phase\": \"slow\"", "\"phase\": \"2\"",
                                        "\"phase\": \"3\"", "\"profile\": \"custom\""};
    for (int i = 0; i < 4; i++)
        ck_assert_msg(strstr(rows, there[i]) != NULL, "%s in\n%s", there[i], rows);
    free(rows);
    char *first =
             text_read_file(tmpdir_path(dir, "after-1.safetensors"), 1 << 24, NULL, NULL),
         *last =
             text_read_file(tmpdir_path(dir, "after-3.safetensors"), 1 << 24, NULL, NULL);
    ck_assert(first && last);
    free(first);
    free(last);
    program_expect("emulate --sequence viewers=2 --score 4", OPT_EXIT_USAGE,
                   "cannot be combined");
    program_expect("emulate --save-phases x", OPT_EXIT_USAGE, "needs --sequence");
    program_expect("emulate --sequence 'viewers=2; viewers=-1'", OPT_EXIT_FAILED,
                   "--sequence phase 2: viewers");
}

/* Settings of the learner reach it: without a learning rate nothing changes. */
TEST(settings_of_the_learner_are_used)
{
    static const char run[] =
        "emulate --learn --explore 1 --batch 512 --quiet --kind lte "
        "--viewers 30 --noise 0 --exam-links 0 --rehearse 0 ";
    char still[300], moving[300];
    snprintf(still, sizeof still, "%s--learn-rate 0 --critic-rate 0", run);
    snprintf(moving, sizeof moving, "%s--learn-rate 0.01", run);
    struct program_result a = program_run(still), b = program_run(moving);
    const char *at_a = strstr(a.text, "exam scores"),
               *at_b = strstr(b.text, "exam scores");
    ck_assert(at_a && at_b);
    double x[3], y[3];
    static const char form[] =
        "exam scores of published policies: first %lf, best %lf, last %lf";
    ck_assert_int_eq(sscanf(at_a, form, &x[0], &x[1], &x[2]), 3);
    ck_assert_int_eq(sscanf(at_b, form, &y[0], &y[1], &y[2]), 3);
    ck_assert_double_eq(x[0], x[2]);
    ck_assert(strncmp(at_a, at_b, 120) != 0);
    program_free(&a);
    program_free(&b);
}

SUITE_WITHIN(cli_emulate_cmd_emulate, 120, bad_requests_say_what_to_do,
             a_sequence_is_played_on_one_daemon, settings_of_the_learner_are_used,
             lies_do_not_get_out, a_run_that_fails_writes_nothing,
             a_row_for_every_profile, a_profile_without_a_viewer_has_no_figures,
             rows_say_what_viewers_saw,
             the_order_of_viewers_changes_nothing_without_learning,
             learning_publishes_and_is_scored, a_seed_repeats_what_is_learned,
             older_profiles_do_not_notice_growth, a_added_profile_learns_and_is_scored,
             what_viewers_saw_is_a_page);
