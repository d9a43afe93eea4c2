/* abrd eval --why, from outside. */
#include "cli/eval/eval_why.h"

#include "base/text.h"
#include "support/page_home.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN "--traces test/golden/traces --video test/golden/video"

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

static const char *dir;

/* "@" in args is the folder. */
static void expect(const char *args, int code, const char *part)
{
    char full[2100];
    snprintf(full, sizeof full, "eval " GOLDEN " %s", args);
    program_expect_in(dir, full, code, part);
}

TEST(the_table_has_a_line_per_chunk)
{
    struct program_result r =
        program_run("eval " GOLDEN " --why outages --policy mpc,fixed-0,oracle "
                    "--count-first --quiet --worst 2");
    ck_assert_msg(r.code == OPT_EXIT_DONE, "%s", r.text);
    const char *const parts[] = {
        "mpc on outages, profile standard: QoE ",
        "the offline optimum: ",
        "\nQoE: points; chunk 0 counted\n",
        "\nchunk  buffer s  last   low   mid  high  took  by ",
        "\n    0       0.0     -     -     -     -   300  rule ",
        "\n   47 ",
        "\nlost most against the best plan: chunk ",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(r.text, parts[i]) != NULL, "no %s in\n%s", parts[i], r.text);
    const char *table = strstr(r.text, "\nchunk ");
    /* behind the table: two chunks, and the losses */
    ck_assert_msg(lines(table + 1) == 1 + 48 + 2 + 1, "%d lines\n%s", lines(table + 1),
                  table);
    ck_assert_ptr_nonnull(strstr(table, " would have "));
    program_free(&r);
}

/* A row per chunk and policy, of every profile. */
TEST(rows_for_programs)
{
    struct program_result r =
        program_run("eval " GOLDEN " --why commute_markov --policy rate,moe,oracle "
                    "--profile lecture,paper-news --quiet --csv - 2> /dev/null");
    ck_assert_msg(r.code == OPT_EXIT_DONE, "%s", r.text);
    ck_assert_msg(!strncmp(r.text,
                           "profile,trace,chunk,start_s,buffer_s,last_kbps,"
                           "forecast_low_kbps,forecast_mid_kbps,forecast_high_kbps,"
                           "policy,level,kbps,by,prob,qoe,stall_s,qoe_diff,session_qoe,"
                           "session_stall_s,session_diff,stall_diff,lost\n",
                           203),
                  "%.300s", r.text);
    ck_assert_int_eq(lines(r.text), 1 + 2 * 47 * 3);
    const char *const rows[] = {"\nlecture,commute_markov,1,",     ",rate,", ",rule,,",
                                "\npaper-news,commute_markov,47,", ",moe,",  ",plan,,"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ck_assert_msg(strstr(r.text, rows[i]) != NULL, "no %s in\n%s", rows[i], r.text);
    program_free(&r);
    program_expect("eval " GOLDEN " --why commute_markov --policy rate --json - "
                   "2> /dev/null",
                   OPT_EXIT_DONE, "\"session_diff\": 0.0");
}

/* Without --policy the shipped policy is explained; a file need not be in the folder. */
TEST(defaults_and_files)
{
    program_expect("eval --why test/golden/traces/outages --chunks 12 --quiet",
                   OPT_EXIT_DONE, "moe on outages, profile standard");
    program_expect("eval " GOLDEN " --why steady_3mbps --policy fixed-3 --quiet",
                   OPT_EXIT_DONE, "fixed-3 on steady_3mbps");
    program_expect("eval --why lte-00 --mu 1,1,4.3 --utility log --chunks 8 --policy "
                   "bola,rate --quiet",
                   OPT_EXIT_DONE, "\nQoE: log; chunk 0 at level 1 and not counted\n");
    /* nothing to gain where all agree */
    program_expect("eval " GOLDEN " --why steady_3mbps --policy fixed-0,fixed-00 --quiet",
                   OPT_EXIT_DONE, "no other single choice would have earned more");

    setenv("ABRD_HOME", "/nowhere", 1);
    program_expect("eval " GOLDEN " --why outages --quiet --chunks 0", OPT_EXIT_DONE,
                   "moe is not explained");
    unsetenv("ABRD_HOME");
}

TEST(a_page_of_a_session)
{
    dir = page_home_new();
    expect("--why outages --policy mpc,rate,oracle --profile live,news --count-first "
           "--report @/why.html",
           OPT_EXIT_DONE, "report: ");
    char *page = text_read_file(tmpdir_path(dir, "why.html"), 1 << 24, NULL, NULL);
    char *data = text_read_file(tmpdir_path(dir, "why.csv"), 1 << 24, NULL, NULL);
    char *json = text_read_file(tmpdir_path(dir, "why.json"), 1 << 24, NULL, NULL);
    ck_assert(page && data && json);
    ck_assert_ptr_nonnull(strstr(page, "Why this bitrate"));
    static const char *const drawn[] = {"\ntimeline-live,rates,throughput,",
                                        "\nchoices-live,,mpc,", "\ngains-news,,rate,",
                                        "\nlost-news,,lost,"};
    for (size_t i = 0; i < sizeof drawn / sizeof *drawn; i++)
        ck_assert_msg(strstr(data, drawn[i]) != NULL, "%s", drawn[i]);
    ck_assert_ptr_nonnull(strstr(json, "Every chunk, news"));
    ck_assert_ptr_nonnull(strstr(json, "QoE of the session, more"));
    free(json);
    free(data);
    free(page);
    expect("--why outages --report @/why.pdf", OPT_EXIT_FAILED, "is not NAME.html");
    unsetenv("ABRD_HOME");
}

TEST(mistakes_are_named)
{
    static const struct {
        const char *args;
        int code;
        const char *part;
    } rows[] = {
        {"--why nope", OPT_EXIT_FAILED,
         "--why: 'nope' is neither a file nor one of the 7 traces of 'traces' "
         "(broadband_markov, "},
        {"--why test/golden/traj.csv", OPT_EXIT_FAILED, "traj.csv"},
        {"--why outages --policy oracle,rate", OPT_EXIT_USAGE, "--policy: the first"},
        {"--why outages --policy rate,nope", OPT_EXIT_USAGE, "no policy 'nope'"},
        {"--why outages --profile nope", OPT_EXIT_USAGE, "--profile: 'nope'"},
        {"--why outages --gain rate", OPT_EXIT_USAGE, "--why cannot be combined"},
        {"--why outages --paired rate", OPT_EXIT_USAGE, "--why cannot be combined"},
        {"--why outages --draws 3", OPT_EXIT_USAGE, "--why cannot be combined"},
        {"--why outages --routing", OPT_EXIT_USAGE, "--why cannot be combined"},
        {"--why outages --exclude x", OPT_EXIT_USAGE, "--why cannot be combined"},
        {"--why outages --trajectories x", OPT_EXIT_USAGE, "--why cannot be combined"},
        {"--why outages --buffer-s 2", OPT_EXIT_FAILED, "buffer_max_s"},
    };
    char args[300];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(args, sizeof args, "eval " GOLDEN " %s", rows[i].args);
        program_expect(args, rows[i].code, rows[i].part);
    }
    program_expect("eval --why lte-00 --chunks 1 --policy rate", OPT_EXIT_FAILED,
                   "--count-first");
    program_expect("eval --why lte-00 --policy "
                   "fixed-0,fixed-1,fixed-2,fixed-3,fixed-4,fixed-5,fixed-6,fixed-7,"
                   "fixed-8,fixed-9,fixed-10,fixed-11,fixed-12,fixed-13,fixed-14,"
                   "fixed-15,fixed-16",
                   OPT_EXIT_USAGE, "--policy: --why takes at most 16");
}

SUITE_WITHIN(cli_eval_eval_why, 120, the_table_has_a_line_per_chunk, rows_for_programs,
             defaults_and_files, a_page_of_a_session, mistakes_are_named);
