/* abrd eval and the options it shares (cli/setup.c), from outside. */
#include "base/text.h"
#include "cli/opt.h"
#include "support/page_home.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GOLDEN "--traces test/golden/traces --video test/golden/video"

TEST(table_has_a_row_per_policy_and_profile)
{
    struct program_result r = program_run(
        "eval " GOLDEN " --policy buffer,fixed-0 --profile live,news --csv -");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    const char *const rows[] = {"\nbuffer,live,traces,7,", "\nfixed-0,live,traces,7,",
                                "\nbuffer,news,traces,7,", "\nfixed-0,news,traces,7,"};
    for (int i = 0; i < 4; i++)
        ck_assert_msg(strstr(r.text, rows[i]) != NULL, "no %s in\n%s", rows[i] + 1,
                      r.text);
    ck_assert_ptr_nonnull(
        strstr(r.text, "policy,profile,set,n,mean_qoe,ci_lo,ci_hi,bitrate_mbps,quality,"
                       "stall_ratio,stall_ratio_carried,link_bound,switches_per_min,"
                       "startup_median_s,startup_p90_s,stall_s,switch_mbps,stalled,"
                       "session_stall_s,diff,diff_lo,diff_hi,stall_diff,stall_diff_lo,"
                       "stall_diff_hi"));
    program_free(&r);

    program_expect("eval " GOLDEN " --policy fixed-0 --json - 2> /dev/null",
                   OPT_EXIT_DONE, "{\"rows\":");
    program_expect("eval " GOLDEN " --policy fixed-0 --mu 1,0,0", OPT_EXIT_DONE,
                   "custom");
}

static size_t longest_line(const char *text)
{
    size_t longest = 0;
    while (*text) {
        size_t n = strcspn(text, "\n");
        if (n > longest) longest = n;
        text += n + (text[n] == '\n');
    }
    return longest;
}

TEST(table_is_brief)
{
    struct program_result r = program_run(
        "eval " GOLDEN " --policy buffer,fixed-0 --profile live --count-first");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_msg(strstr(r.text, "\npolicy     QoE") != NULL, "%s", r.text);
    ck_assert_msg(
        strstr(r.text, "gain  quality  stall %  switches/min  start s (p90)\n") != NULL,
        "%s", r.text);
    ck_assert_ptr_null(strstr(r.text, "mean_qoe"));
    program_free(&r);

    /* with all profiles it fits a window of 100 columns */
    r = program_run("eval " GOLDEN " --policy rate,fixed-0 --profile all,papers "
                    "--count-first");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    const char *table = strstr(r.text, "\npolicy");
    ck_assert_ptr_nonnull(table);
    ck_assert_msg(longest_line(table) <= 100, "%s", r.text);
    ck_assert_ptr_nonnull(strstr(table, "Mbit/s"));
    program_free(&r);

    r = program_run("eval " GOLDEN " --policy buffer,fixed-0 --wide");
    ck_assert_ptr_nonnull(strstr(r.text, "mean_qoe"));
    ck_assert_ptr_nonnull(strstr(r.text, "stall_ratio_carried"));
    ck_assert_ptr_null(strstr(r.text, "switches/min"));
    program_free(&r);
}

TEST(help_and_header_say_what_a_profile_means)
{
    program_expect("eval --help", OPT_EXIT_DONE, "\nprofiles:\n  standard ");
    program_expect("emulate --help", OPT_EXIT_DONE, "\n  paper-documentary ");
    program_expect("man eval", OPT_EXIT_DONE, "\n.SH PROFILES\n.TP\n\\fBstandard");
    struct program_result r = program_run("eval " GOLDEN " --policy rate");
    ck_assert_ptr_nonnull(strstr(r.text,
                                 "profile standard: one second of stall is worth 34 "
                                 "points of one 4 s chunk;"));
    const char *profile = strstr(r.text, "\nprofile ");
    ck_assert_msg(profile && longest_line(profile) <= 100, "%s", r.text);
    program_free(&r);
    program_expect("eval " GOLDEN " --policy rate --weights stalls=2", OPT_EXIT_DONE,
                   "profile custom: one second of stall is worth 68 points");
}

TEST(sessions_bound_by_their_link_are_told_apart)
{
    const char *bound = "in parentheses: without";
    program_expect("eval --traces test/golden/traces --policy fixed-0 --ladder 2500,5000",
                   OPT_EXIT_DONE, bound);
    struct program_result r = program_run(
        "eval --traces test/golden/traces --policy fixed-0 --ladder 100,5000");
    ck_assert_ptr_null(strstr(r.text, bound));
    program_free(&r);
}

/* A percentage only where both means are positive. */
TEST(gain_is_a_percentage_or_a_difference)
{
    program_expect("eval " GOLDEN " --policy fixed-0,fixed-1 --profile standard",
                   OPT_EXIT_DONE, " %");
    program_expect("eval " GOLDEN
                   " --policy fixed-5,fixed-0 --weights quality=0 --json - "
                   "2> /dev/null",
                   OPT_EXIT_DONE, "\"diff\"");
    struct program_result r = program_run(
        "eval " GOLDEN
        " --policy fixed-5,fixed-0 --weights quality=0 --json - 2> /dev/null");
    ck_assert_ptr_null(strstr(r.text, "gain_over"));
    program_free(&r);
    r = program_run("eval " GOLDEN " --policy fixed-0,fixed-1 --json - 2> /dev/null");
    ck_assert_ptr_nonnull(strstr(r.text, "\"gain_over\": \"fixed-0\""));
    program_free(&r);
}

/* The default includes abrd's own policy; without its file the other policies are scored. */
TEST(without_options_the_shipped_policy_is_scored)
{
    struct program_result r = program_run("eval " GOLDEN " 2> /dev/null");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    const char *const all[] = {"buffer", "rate", "bola", "mpc", "moe"};
    for (int i = 0; i < 5; i++)
        ck_assert_msg(strstr(r.text, all[i]) != NULL, "no %s in\n%s", all[i], r.text);
    program_free(&r);

    setenv("ABRD_HOME", "/nowhere", 1);
    r = program_run("eval " GOLDEN " --csv -");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(r.text, "\nmpc,"));
    ck_assert_ptr_null(strstr(r.text, "\nmoe,"));
    ck_assert_ptr_nonnull(strstr(r.text, "moe is not scored"));
    ck_assert_ptr_nonnull(strstr(r.text, "/nowhere"));
    program_free(&r);
    r = program_run("eval " GOLDEN " --policy buffer --csv -");
    ck_assert_ptr_null(strstr(r.text, "moe is not scored"));
    program_free(&r);
    unsetenv("ABRD_HOME");
}

/* level 0 of the ladder for ever: .3 Mbit/s, and one switch from level 1 */
TEST(utility_and_weights_reach_the_emulator)
{
    struct program_result r =
        program_run("eval " GOLDEN " --policy fixed-0 --mu 1,0,0 --csv - 2> /dev/null");
    ck_assert_msg(strstr(r.text, "fixed-0,custom,traces,7,0.3,0.3,0.3,0.3,"), "%s",
                  r.text);
    program_free(&r);
    r = program_run("eval " GOLDEN " --policy fixed-0 --mu 1,0,0 --utility log --csv - "
                    "2> /dev/null");
    ck_assert_msg(strstr(r.text, "fixed-0,custom,traces,7,0,0,0,0.3,"), "%s", r.text);
    program_free(&r);
}

TEST(gain_compares_with_the_better_mpc)
{
    struct program_result r =
        program_run("eval " GOLDEN " --gain mpc --policy rate --profile papers --wide");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(r.text, "gain_over"));
    ck_assert_ptr_nonnull(strstr(r.text, "documentary+live+news"));
    ck_assert_ptr_nonnull(strstr(r.text, "ratio_lo"));
    ck_assert_ptr_nonnull(strstr(r.text, "mpc over the best of mpc and mpc-default"));
    program_free(&r);
}

/* Over itself a policy gains nothing. */
TEST(gain_over_a_bar_of_ones_own)
{
    struct program_result r =
        program_run("eval " GOLDEN
                    " --gain rate --over rate --policy buffer --profile papers --csv - "
                    "2> /dev/null");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_null(strstr(r.text, "mpc"));
    ck_assert_ptr_nonnull(strstr(r.text, ",rate,0,0,0,1,1,1\n"));
    program_free(&r);
}

TEST(oracle_gives_shares)
{
    struct program_result r =
        program_run("eval " GOLDEN
                    " --policy oracle --gain rate --profile live --csv - 2> /dev/null");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_nonnull(
        strstr(r.text, "of_oracle,of_oracle_lo,of_oracle_hi,above_bound"));
    ck_assert_ptr_nonnull(strstr(r.text, "gap_closed,gap_closed_lo,gap_closed_hi"));
    program_free(&r);
}

TEST(drawn_weights)
{
    struct program_result r = program_run(
        "eval " GOLDEN " --policy rate,fixed-5,mpc --mu-draws 5 --worst 2 --csv - "
        "2> /dev/null");
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    ck_assert_ptr_nonnull(strstr(r.text, "\nrate,drawn,traces,7,5,"));
    ck_assert_ptr_nonnull(strstr(r.text, "\nfixed-5,drawn,traces,7,5,"));
    ck_assert_ptr_null(strstr(r.text, "\nmpc,drawn")); /* a bar */
    int rows = 0;
    for (const char *c = r.text; *c; c++)
        rows += *c == '\n';
    ck_assert_int_eq(rows, 1 + 2 * (1 + 2));
    program_free(&r);

    program_expect("eval " GOLDEN " --policy rate --mu-draws 2", OPT_EXIT_DONE,
                   "not below the best of buffer, bola and mpc for");
    program_expect("eval --mu-draws 5 --policy bola", OPT_EXIT_USAGE,
                   "name one, as in --policy moe");
    program_expect("eval --mu-draws 5 --profile live", OPT_EXIT_USAGE, "--profile");
    program_expect("eval " GOLDEN " --policy rate --draws 2 --worst 1 --csv -",
                   OPT_EXIT_DONE, "\nrate,drawn,traces,7,2,");
    program_expect("eval --draws 5 --mu-draws 5 --policy rate", OPT_EXIT_USAGE,
                   "cannot be combined");
    program_expect("eval --draws 5 --weights quality=2", OPT_EXIT_USAGE, "--weights");
    program_expect("eval --mu-draws 5 --policy oracle", OPT_EXIT_USAGE, "oracle");
}

TEST(bundled_corpus_is_the_default)
{
    program_expect("eval --policy fixed-0", OPT_EXIT_DONE, "traces:");
    program_expect("eval --policy fixed-0 --part train", OPT_EXIT_DONE, "traces:");
}

TEST(exclude_reads_names)
{
    const char *dir = tmpdir_new();
    const char *path = tmpdir_path(dir, "names");
    const char text[] = "# leaks\n\n outages \r\nsteady_3mbps\nnot-there\n";
    struct err e = {0};
    ck_assert_int_eq(text_write_file(path, text, strlen(text), &e), 0);
    char args[512];
    snprintf(args, sizeof args, "eval " GOLDEN " --policy rate --exclude %s", path);
    program_expect(args, OPT_EXIT_DONE, "5 traces");
    snprintf(args, sizeof args, "eval " GOLDEN " --policy rate --exclude %s/none", dir);
    program_expect(args, OPT_EXIT_FAILED, "none");
}

static const char *dir;

/* "@" in args is the folder. */
static void expect(const char *args, int code, const char *part)
{
    char full[2100];
    snprintf(full, sizeof full, "eval %s", args);
    program_expect_in(dir, full, code, part);
}

TEST(a_page_and_every_chunk)
{
    dir = page_home_new();
    expect(GOLDEN " --policy buffer,mpc,oracle --profile live,news --report @/page.html "
                  "--trajectories @/all.csv",
           OPT_EXIT_DONE, "chunks in");
    char *page = text_read_file(tmpdir_path(dir, "page.html"), 1 << 24, NULL, NULL);
    char *data = text_read_file(tmpdir_path(dir, "page.csv"), 1 << 24, NULL, NULL);
    char *json = text_read_file(tmpdir_path(dir, "page.json"), 1 << 24, NULL, NULL);
    ck_assert(page && data && json);
    ck_assert_ptr_nonnull(strstr(page, "The worst trace of buffer"));
    ck_assert_ptr_null(strstr(page, "index.html")); /* it stands alone */
    ck_assert_ptr_null(fopen(tmpdir_path(dir, "index.html"), "r"));
    static const char *const drawn[] = {"\ncdf,live,mpc,",
                                        "\nviewers,stall ratio [%],news,",
                                        "\nstalls,live,oracle,",
                                        "\ngap,news,buffer,",
                                        "\ntimeline-best,rates,throughput,",
                                        "\ntimeline-worst,buffer,buffer,"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        ck_assert_msg(strstr(data, drawn[i]) != NULL, "%s", drawn[i]);
    ck_assert_ptr_nonnull(strstr(json, "\"below the oracle\""));

    /* 3 policies, 2 profiles, 7 traces, 47 chunks: their rewards are the scores */
    char *rows = text_read_file(tmpdir_path(dir, "all.csv"), 1 << 24, NULL, NULL);
    int n = -1;
    for (const char *c = rows; *c; c++)
        n += *c == '\n';
    ck_assert_int_eq(n, 3 * 2 * 7 * 47);
    free(rows);
    free(json);
    free(data);
    free(page);

    expect(GOLDEN " --policy buffer --trajectories @/all.jsonl --detail obs",
           OPT_EXIT_DONE, "329 chunks in");
    expect("--report @/page.pdf", OPT_EXIT_FAILED, "is not NAME.html");
    expect("--report @/no/page.html", OPT_EXIT_FAILED, "there is no folder");
    expect("--detail obs", OPT_EXIT_USAGE, "--trajectories");
    expect("--trajectories x --detail weights", OPT_EXIT_USAGE, "obs, probs");
    expect("--report x.html --mu-draws 3", OPT_EXIT_USAGE, "--mu-draws");
    remove(tmpdir_path(dir, "web/report/report.js"));
    expect(GOLDEN " --policy buffer --report @/page.html", OPT_EXIT_FAILED, "report.js");
    unsetenv("ABRD_HOME");
}

static int fields(const char *line)
{
    int n = 1;
    for (; *line && *line != '\n'; line++)
        n += *line == ',';
    return n;
}

TEST(every_chunk_on_standard_output)
{
    dir = tmpdir_new();
    expect(GOLDEN " --policy buffer --profile live --quiet --trajectories - > @/all.csv",
           OPT_EXIT_DONE, "329 chunks in -"); /* that, on stderr */
    char *rows = text_read_file(tmpdir_path(dir, "all.csv"), 1 << 24, NULL, NULL);
    int n = 0;
    for (const char *c = rows; *c; c = strchr(c, '\n') + 1, n++)
        ck_assert_msg(fields(c) == fields(rows), "%.80s", c);
    ck_assert_int_eq(n, 1 + 329);
    free(rows);
    expect("--json - --trajectories -", OPT_EXIT_USAGE, "cannot both be -");
}

/* As long as a path may be, not as a name in a table may. */
TEST(a_checkpoint_far_down)
{
    dir = page_home_new();
    char far[200], args[2048], file[512];
    memset(far, 'd', 150);
    far[150] = '\0';
    snprintf(file, sizeof file, "%s/%s/moe.safetensors", dir, far);
    ck_assert_int_eq(mkdir(tmpdir_path(dir, far), 0755), 0);
    snprintf(args, sizeof args, "cp deploy/policy/moe.safetensors %s", file);
    ck_assert_int_eq(system(args), 0);
    snprintf(args, sizeof args,
             GOLDEN " --policy buffer,moe:%s --profile live --gain moe:%s --over buffer "
                    "--csv - --report @/page.html --trajectories @/all.csv",
             file, file);
    expect(args, OPT_EXIT_DONE, ",gain,");
    char *rows = text_read_file(tmpdir_path(dir, "all.csv"), 1 << 24, NULL, NULL);
    snprintf(args, sizeof args, "\nmoe:%s,live,", file);
    ck_assert_ptr_nonnull(strstr(rows, args));
    free(rows);
    char *page = text_read_file(tmpdir_path(dir, "page.html"), 1 << 24, NULL, NULL);
    snprintf(args, sizeof args, "The worst trace of moe:%s", file);
    ck_assert_ptr_nonnull(strstr(page, args));
    free(page);
    unsetenv("ABRD_HOME");
}

TEST(mistakes_are_named)
{
    program_expect("eval --policy nope", OPT_EXIT_USAGE,
                   "known are fixed-N, random, rate");
    program_expect("eval --policy moe:", OPT_EXIT_FAILED, "no policy 'moe:'");
    program_expect("eval --since 2026-11-01", OPT_EXIT_USAGE,
                   "--since needs --sessions DATA");
    program_expect("eval --arm new", OPT_EXIT_USAGE, "--arm needs --sessions DATA");
    program_expect("eval --label device=tv", OPT_EXIT_USAGE, "--label needs --sessions");
    program_expect("eval --sessions-max 9", OPT_EXIT_USAGE, "--sessions-max needs");
    program_expect("eval --sessions x --spread 0.1", OPT_EXIT_USAGE, "--spread");
    program_expect("eval --sessions x --utility log", OPT_EXIT_USAGE, "--utility");
    program_expect("eval --policy rate,rate", OPT_EXIT_USAGE, "given twice");
    program_expect("eval --profile nope", OPT_EXIT_USAGE,
                   "--profile: 'nope' is not a built-in profile");
    program_expect("eval --profile live,live", OPT_EXIT_USAGE, "given twice");
    program_expect("eval --utility cubic", OPT_EXIT_USAGE, "--utility: 'cubic'");
    program_expect("eval --mu 1,2", OPT_EXIT_USAGE, "three numbers");
    program_expect("eval --mu 1,2,3,4", OPT_EXIT_USAGE, "three numbers");
    program_expect("eval --mu 1,x,3", OPT_EXIT_USAGE, "--mu: 'x' is not a number");
    program_expect("eval --mu 0,0,0", OPT_EXIT_USAGE, "all three weights are 0");
    program_expect("eval --policy rate --paired mpc", OPT_EXIT_USAGE,
                   "not among the policies");
    program_expect("eval --part half", OPT_EXIT_FAILED, "--part: 'half'");
    program_expect("eval --traces /nowhere", OPT_EXIT_FAILED, "/nowhere");
    program_expect("eval --video /nowhere", OPT_EXIT_FAILED, "/nowhere");
    program_expect("eval " GOLDEN " --ladder 300,900", OPT_EXIT_FAILED, "--video");
    program_expect("eval --ladder 900,300", OPT_EXIT_FAILED, "ascend");
    program_expect("eval --chunk-s 11", OPT_EXIT_USAGE, "--chunk-s");
    program_expect("eval --buffer-s 2", OPT_EXIT_FAILED, "buffer_max_s");
}

SUITE_WITHIN(cli_eval_cmd_eval, 60, table_has_a_row_per_policy_and_profile,
             table_is_brief, gain_is_a_percentage_or_a_difference,
             sessions_bound_by_their_link_are_told_apart,
             without_options_the_shipped_policy_is_scored,
             utility_and_weights_reach_the_emulator, gain_compares_with_the_better_mpc,
             gain_over_a_bar_of_ones_own, oracle_gives_shares, drawn_weights,
             help_and_header_say_what_a_profile_means, bundled_corpus_is_the_default,
             exclude_reads_names, a_page_and_every_chunk, every_chunk_on_standard_output,
             a_checkpoint_far_down, mistakes_are_named);
