/* abrd trace, from outside. */
#include "base/text.h"
#include "cli/opt.h"
#include "support/program.h"
#include "support/stored.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *dir;

static void set_up(void)
{
    dir = tmpdir_new();
}

/* Asserts that each of the parts is in the output. "@" in args is the folder. */
static void expect(const char *args, int code, const char *const *parts)
{
    char full[1024];
    snprintf(full, sizeof full, "trace %s", args);
    struct program_result r = program_run_in(dir, full);
    ck_assert_msg(r.code == code, "%s: exit %d, not %d\n%s", full, r.code, code, r.text);
    for (; *parts; parts++)
        ck_assert_msg(strstr(r.text, *parts), "%s: no \"%s\" in\n%s", full, *parts,
                      r.text);
    program_free(&r);
}

#define PARTS(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(check_gives_a_verdict_per_file)
{
    tmpdir_put(dir, "good", "0 1\n1 2\n");
    tmpdir_put(dir, "mahi", "5\n900\n1900\n");
    tmpdir_put(dir, "worse", "0 1\n1 x\n");
    expect("check @", OPT_EXIT_FAILED,
           PARTS("/good", "/mahi", "worse:2", "'1 x'", "2 ok, 1 refused"));
    expect("check @/good", OPT_EXIT_DONE, PARTS("1 ok, 0 refused"));
    expect("check @/absent", OPT_EXIT_FAILED, PARTS("refused", "No such file"));
    expect("check @ --json - 2> /dev/null", OPT_EXIT_FAILED,
           PARTS("{\"rows\":", "\"verdict\": \"refused\", \"where\": \"worse:2\""));
    expect("check", OPT_EXIT_USAGE, PARTS("--help"));
}

TEST(convert_writes_pensieve_text)
{
    tmpdir_put(dir, "in.csv", "timestamp_ms,kbps\n1000,500\n2500,800\n");
    expect("convert @/in.csv @/out", OPT_EXIT_DONE, PARTS("traces written: 1"));
    char *text = text_read_file(tmpdir_path(dir, "out"), 1000, NULL, NULL);
    ck_assert_str_eq(text, "0\t0.5\n1.5\t0.8\n");
    free(text);

    tmpdir_put(dir, "in.json",
               "[{\"duration_ms\": 1000, \"bandwidth_kbps\": 3000, \"latency_ms\": 80}]");
    expect("convert @/in.json @/out", OPT_EXIT_DONE, PARTS("80 ms", "--rtt-ms"));
    expect("convert @ @/all", OPT_EXIT_DONE, PARTS("/all/in.csv", "/all/in.json"));
    expect("check @/all", OPT_EXIT_DONE, PARTS("3 ok"));
    expect("convert @/in.csv", OPT_EXIT_USAGE, PARTS("--help"));
    expect("convert @/in.csv @/no/where", OPT_EXIT_FAILED, PARTS("/no/where"));
}

TEST(convert_makes_a_trace_of_each_session)
{
    tmpdir_put(dir, "web.csv",
               "unit_id,target,fetch_time,bytes_sec\n1,a,1,125000\n1,a,1,250000\n"
               "2,a,1,125000\n");
    expect(
        "convert @/web.csv @/fcc --min-s 10", OPT_EXIT_DONE,
        PARTS("FCC webget, 1 of 2 sessions", "traces written: 1", "/fcc/fcc-web-00000"));
    char *text =
        text_read_file(tmpdir_path(dir, "fcc/fcc-web-00000-1-a"), 1000, NULL, NULL);
    ck_assert_str_eq(text, "0\t1\n5\t1\n10\t2\n");
    free(text);
    expect("convert @/web.csv @/fcc", OPT_EXIT_FAILED, PARTS("web.csv", "--min-s"));
    expect("stats @/web.csv", OPT_EXIT_FAILED, PARTS("abrd trace convert"));

    tmpdir_put(dir, "plain", "0 1\n1 2\n");
    expect("convert @ @/mixed --min-s 5 --json - 2> /dev/null", OPT_EXIT_DONE,
           PARTS("/mixed/plain\"", "/mixed/fcc-web-00001-2-a\", \"rows\": 2"));
}

/* Sessions of two logs have the same units and targets. */
TEST(logs_of_one_folder_keep_their_traces_apart)
{
    const char *log = "unit_id,target,fetch_time,bytes_sec\n1,a,1,125000\n1,a,1,250000\n"
                      "1,a,1,125000\n";
    ck_assert_int_eq(mkdir(tmpdir_path(dir, "logs"), 0700), 0);
    tmpdir_put(dir, "logs/a.csv", log);
    tmpdir_put(dir, "logs/b.csv", log);
    expect(
        "convert @/logs @/fcc --min-s 5", OPT_EXIT_DONE,
        PARTS("traces written: 2", "/fcc/fcc-web-00000-1-a", "/fcc/fcc-web-00001-1-a"));
    expect("check @/fcc", OPT_EXIT_DONE, PARTS("2 ok"));
}

TEST(generate_is_reproducible)
{
    expect("generate --out @/a --n 1 --seconds 30 --seed 4", OPT_EXIT_DONE,
           PARTS("6 traces", "CRC-32"));
    expect("generate --out @/b --n 1 --seconds 30 --seed 4", OPT_EXIT_DONE, PARTS("6"));
    char *a = text_read_file(tmpdir_path(dir, "a/lte-00"), 10000, NULL, NULL);
    char *b = text_read_file(tmpdir_path(dir, "b/lte-00"), 10000, NULL, NULL);
    ck_assert(a && b && *a);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
    expect("generate --out @/v --n 2 --kind volatile-low", OPT_EXIT_DONE,
           PARTS("2 traces"));
    expect("check @/v/volatile-low-01", OPT_EXIT_DONE, PARTS("ok"));
    expect("generate --out @/j --n 1 --kind lte --seconds 20 --json - 2> /dev/null",
           OPT_EXIT_DONE, PARTS("{\"rows\":", "/j/lte-00\", \"rows\": 21"));
    expect("generate --n 1", OPT_EXIT_USAGE, PARTS("--out"));
    expect("generate --out @/x --kind 5g", OPT_EXIT_USAGE, PARTS("'5g'", "3g-commute"));
    expect("generate --out @/no/where", OPT_EXIT_FAILED, PARTS("/no/where"));
}

TEST(stats_per_trace_and_in_total)
{
    tmpdir_put(dir, "a", "0 9\n2 1\n");
    tmpdir_put(dir, "b", "0 9\n1 4\n2 0\n");
    expect("stats @ --csv - 2> /dev/null", OPT_EXIT_DONE,
           PARTS("trace,slots,duration_s,mean_mbps,p5,p50,p95,cv,zero_share\n",
                 "\na,1,2,1,1,1,1,0,0\n", "\nb,2,2,2,0,0,4,1,0.5\n",
                 "\ntotal,3,4,1.5,0,1,4,1,0.25\n"));
    expect("stats @ --total --csv - 2> /dev/null", OPT_EXIT_DONE,
           PARTS("zero_share\ntotal,"));
    expect("stats traces --part test --total --csv -", OPT_EXIT_DONE, PARTS("total,"));
    expect("stats @ --part none", OPT_EXIT_USAGE, PARTS("train"));
    tmpdir_put(dir, "c", "nonsense");
    expect("stats @", OPT_EXIT_FAILED, PARTS("c:1"));
}

TEST(overlap_lists_what_eval_can_leave_out)
{
    expect("generate --out @/a --kind lte --n 2 --seconds 500", OPT_EXIT_DONE,
           PARTS("2"));
    expect("generate --out @/b --kind lte --n 2 --seconds 500 --seed 2", OPT_EXIT_DONE,
           PARTS("2"));
    expect("convert @/a/lte-01 @/b/copied", OPT_EXIT_DONE, PARTS("rows"));
    expect("overlap @/a @/b --list @/list", OPT_EXIT_DONE,
           PARTS("copied", "lte-01", "1.000", "1 of 3 traces in b"));
    char *text = text_read_file(tmpdir_path(dir, "list"), 1000, NULL, NULL);
    ck_assert_str_eq(text, "copied\n");
    free(text);
    expect("overlap @/a", OPT_EXIT_USAGE, PARTS("--help"));
    expect("overlap @/a @/none", OPT_EXIT_FAILED, PARTS("/none"));

    /* nothing is compared: no verdict */
    expect("overlap @/a @/b --window 501", OPT_EXIT_FAILED,
           PARTS("a: none of its 2 traces lasts 501 s", "--window"));
    expect("generate --out @/long --kind lte --n 1 --seconds 600", OPT_EXIT_DONE,
           PARTS("1"));
    expect("overlap @/long @/b --window 501", OPT_EXIT_FAILED,
           PARTS("b: none of its 3 traces lasts 501 s"));
}

TEST(help_and_unknown_commands)
{
    expect("--help", OPT_EXIT_DONE, PARTS("usage: abrd trace COMMAND", "overlap"));
    expect("", OPT_EXIT_USAGE, PARTS("usage: abrd trace COMMAND"));
    expect("chekc", OPT_EXIT_USAGE, PARTS("'trace chekc'"));
    const char *const all[] = {"check", "convert", "generate", "stats", "overlap"};
    for (int i = 0; i < 5; i++) {
        char args[64];
        snprintf(args, sizeof args, "%s --help", all[i]);
        expect(args, OPT_EXIT_DONE, PARTS("example:", "abrd trace"));
    }
}

TEST(sessions_of_a_daemon_become_links)
{
    stored_make(&(struct stored_cfg){
        .dir = dir, .sessions = 12, .seed = 3, .arms = 1, .policy = {"hyb"}});
    expect("convert --from @ @/own", 0,
           PARTS("12 sessions, 9 used", "1 still running", "1 too short", "1 with holes",
                 "traces written: 9", "/own/session-000003"));
    expect("check @/own", 0, PARTS("9 ok, 0 refused"));
    char *mix =
        text_read_file(tmpdir_path(dir, "own/mix/sessions.csv"), 10000, NULL, NULL);
    ck_assert_ptr_nonnull(mix);
    ck_assert_str_eq(mix, "sessions,profile,ladder_kbps,chunk_s,buffer_max_s,arm\n"
                          "5,news,300 750 1200 1850 2850 4300,4,30,\n"
                          "4,standard,300 750 1200 1850 2850 4300,4,30,\n");
    free(mix);
    expect("convert --from @ --profile news --least 20 @/news", 0,
           PARTS("left out by the filters", "too short"));
    expect("convert --from @ @ @", 2, PARTS("give TO"));
    expect("convert @", 2, PARTS("--from DATA TO"));
    expect("convert --since 2026-11-01 @ @/x", 2, PARTS("--since needs --from DATA"));
    expect("convert --profile news @ @/x", 2, PARTS("--profile needs --from DATA"));
    expect("convert --rtt-ms 20 @ @/x", 2, PARTS("--rtt-ms needs --from DATA"));
    expect("convert --from @ --profile sports @/none", 1, PARTS("no usable session"));
}

SUITE_SET_UP(cli_cmd_trace, 60, set_up, NULL, check_gives_a_verdict_per_file,
             convert_writes_pensieve_text, convert_makes_a_trace_of_each_session,
             logs_of_one_folder_keep_their_traces_apart, generate_is_reproducible,
             stats_per_trace_and_in_total, overlap_lists_what_eval_can_leave_out,
             help_and_unknown_commands, sessions_of_a_daemon_become_links);
