/* abrd trace adversary, from outside. */
#include "cli/trace_adversary.h"

#include "base/text.h"
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL "--chunks 12 --trials 16 --n 2 --quiet "

static const char *dir;

/* "@" in args is the folder. */
static void expect(const char *args, int code, const char *part)
{
    char full[1000];
    snprintf(full, sizeof full, "trace adversary %s", args);
    program_expect_in(dir, full, code, part);
}

TEST(writes_links_that_can_be_scored_again)
{
    dir = tmpdir_new();
    expect(SMALL "--policy rate,fixed-0 --count-first --out @/worst --json @/found.json",
           OPT_EXIT_DONE,
           "links: 0.2 to 6 Mbit/s, at most a factor 2 between slots of 4 s, 15 slots");
    char *json = text_read_file(tmpdir_path(dir, "found.json"), 1 << 20, NULL, NULL);
    ck_assert_ptr_nonnull(json);
    const char *const parts[] = {"\"link\": \"adversary-00\"", "\"policy\": \"fixed-0\"",
                                 "\"link\": \"all\"", "\"worst\": ", "\"begin\": "};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(json, parts[i]) != NULL, "no %s in\n%s", parts[i], json);
    program_expect_in(dir, "trace check @/worst", OPT_EXIT_DONE, "2 ok, 0 refused");

    /* the same shares, read from the files */
    expect("--chunks 12 --policy rate,fixed-0 --count-first --links @/worst --quiet "
           "--json @/again.json",
           OPT_EXIT_DONE, "worst, 2\n");
    char *again = text_read_file(tmpdir_path(dir, "again.json"), 1 << 20, NULL, NULL);
    ck_assert_ptr_nonnull(again);
    const char *all = strstr(json, "\"link\": \"all\"");
    ck_assert_int_eq(strncmp(json, again, (size_t)(all - json)), 0);
    free(again);
    free(json);
    /* eval plays them, too */
    program_expect_in(dir,
                      "eval --traces @/worst --chunks 12 --policy rate,oracle "
                      "--count-first --quiet",
                      OPT_EXIT_DONE, "worst: 2 traces");
}

TEST(the_same_seed_gives_the_same_files)
{
    dir = tmpdir_new();
    expect(SMALL "--policy bola --profile pensieve --seed 3 --threads 1 --out @/a",
           OPT_EXIT_DONE, "seed 3");
    expect(SMALL "--policy bola --profile pensieve --seed 3 --threads 2 --out @/b",
           OPT_EXIT_DONE, "share of the offline optimum: bola ");
    char *a = text_read_file(tmpdir_path(dir, "a/adversary-00"), 1 << 20, NULL, NULL);
    char *b = text_read_file(tmpdir_path(dir, "b/adversary-00"), 1 << 20, NULL, NULL);
    ck_assert(a && b);
    ck_assert_str_eq(a, b);
    free(a);
    free(b);
}

TEST(adversary_mistakes_are_named)
{
    dir = tmpdir_new();
    static const struct {
        const char *args;
        int code;
        const char *part;
    } rows[] = {
        {"", OPT_EXIT_USAGE, "--out DIR is missing"},
        {"--out @/x --links @", OPT_EXIT_USAGE, "--out cannot be combined"},
        {"--out @/x --abandon", OPT_EXIT_USAGE, "--abandon"},
        {"--out @/x --profile live,news", OPT_EXIT_USAGE, "--profile: name one"},
        {"--out @/x --profile nope", OPT_EXIT_USAGE, "--profile: 'nope'"},
        {"--out @/x --policy oracle", OPT_EXIT_USAGE, "--policy: no policy 'oracle'"},
        {"--out @/x --policy moe:@/none", OPT_EXIT_FAILED, "none"},
        {"--out @/x --low-mbps 3 --high-mbps 2", OPT_EXIT_USAGE,
         "--low-mbps: 3 is above the highest speed, 2"},
        {"--out @/x --low-mbps 0", OPT_EXIT_USAGE, "--low-mbps"},
        {"--out @/x --factor 0.5", OPT_EXIT_USAGE, "--factor"},
        {"--out @/x --step-s 0", OPT_EXIT_USAGE, "--step-s"},
        {"--out @/x --slots 1", OPT_EXIT_USAGE, "--slots: 1 is not within 2 .. 1000"},
        {"--out @/x --n 0", OPT_EXIT_USAGE, "--n"},
        {"--out @/no/x --policy rate --n 1 --trials 16 --quiet", OPT_EXIT_FAILED,
         "cannot be created"},
        {"--out @/x --policy rate --mu 0,1,1 --quiet", OPT_EXIT_FAILED,
         "no level earns anything"},
        {"--links @/none --policy rate", OPT_EXIT_FAILED, "none"},
        {"--out @/x --policy rate --buffer-s 2 --quiet", OPT_EXIT_FAILED, "buffer_max_s"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect(rows[i].args, rows[i].code, rows[i].part);
}

SUITE_WITHIN(cli_trace_adversary, 120, writes_links_that_can_be_scored_again,
             the_same_seed_gives_the_same_files, adversary_mistakes_are_named);
