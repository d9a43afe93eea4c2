#include "cli/opt.h"

#include "support/capture.h"
#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct values {
    int i;
    int64_t i64;
    uint64_t u64;
    double d;
    bool flag;
    const char *text;
    struct field_list list;
    char *printed; /* by the last parse: stderr, or stdout for the help */
};

/* Parses a command line of words; returns what opt_parse does. */
static int parse(struct values *v, const char *line, char words[512], int fd)
{
    const struct field opts[] = {
        {"policy", "A,B", "which ones", FIELD_TO(v->list)},
        {"profile", "NAME", "whose weights", FIELD_TO(v->text)},
        {"threads", "N", "at once", FIELD_TO(v->i), .lo = 1, .hi = 64},
        {"steps", "N", "in all", FIELD_TO(v->i64)},
        {"seed", "N", "of everything\nrandom", FIELD_TO(v->u64)},
        {"share", "X", "that explores", FIELD_TO(v->d), .lo = 0, .hi = 1},
        {"quiet", NULL, "say nothing", FIELD_TO(v->flag)},
        {0},
    };
    const struct opt_cmd cmd = {.name = "eval",
                                .args = "FILE...",
                                .max_args = 2,
                                .about = "Scores policies.",
                                .opts = opts,
                                .example = "abrd eval --policy mpc"};
    char *argv[32], *rest = NULL, name[] = "eval";
    int argc = 0;
    argv[argc++] = name;
    strcpy(words, line);
    for (char *w = strtok_r(words, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        argv[argc++] = w;
    argv[argc] = NULL;

    capture_begin(fd);
    int first = opt_parse(&cmd, argc, argv);
    v->printed = capture_end();
    return first < 0 ? first : argc - first;
}

TEST(every_type_is_read)
{
    char words[512];
    struct values v = {.list = {1, {"default"}}};
    ck_assert_int_eq(
        parse(&v,
              "--policy=a,b one --policy c --profile live --threads 7 --steps "
              "-9000000000 --seed 18446744073709551615 --share .25 --quiet two",
              words, STDERR_FILENO),
        2);
    ck_assert_str_eq(v.printed, "");
    free(v.printed);
    ck_assert_int_eq(v.list.n, 3);
    ck_assert_str_eq(v.list.item[0], "a");
    ck_assert_str_eq(v.list.item[2], "c");
    ck_assert_str_eq(v.text, "live");
    ck_assert_int_eq(v.i, 7);
    ck_assert_int_eq(v.i64, -9000000000);
    ck_assert_uint_eq(v.u64, UINT64_MAX);
    ck_assert_double_eq(v.d, .25);
    ck_assert(v.flag);
}

TEST(defaults_stay_when_nothing_is_said)
{
    char words[512];
    struct values v = {.i = 3, .text = "news", .list = {1, {"default"}}};
    ck_assert_int_eq(parse(&v, "", words, STDERR_FILENO), 0);
    free(v.printed);
    ck_assert_int_eq(v.i, 3);
    ck_assert_str_eq(v.text, "news");
    ck_assert_str_eq(v.list.item[0], "default");
}

TEST(dashes_end_the_options)
{
    char words[512];
    struct values v = {0};
    ck_assert_int_eq(parse(&v, "-- --quiet", words, STDERR_FILENO), 1);
    free(v.printed);
    ck_assert(!v.flag);
}

static const struct {
    const char *line, *says;
} refusals[] = {
    {"--polcy a", "unknown option --polcy; did you mean --policy?"},
    {"--xyzzy=1", "unknown option --xyzzy\n"},
    {"-x", "unknown option -x"},
    {"--p a", "--p matches more than one option"},
    {"--seed", "--seed needs a value: --seed N"},
    {"--quiet=yes", "--quiet takes no value"},
    {"--threads 0", "--threads: 0 is not within 1 .. 64"},
    {"--threads 1.5", "--threads: '1.5' is not a whole number"},
    {"--steps 99999999999999999999", "--steps: 99999999999999999999 is not within"},
    {"--seed -1", "--seed: '-1' is not a whole number"},
    {"--share nan", "--share: 'nan' is not a number"},
    {"--share 1.01", "--share: 1.01 is not within 0 .. 1"},
    {"--policy ,", "--policy: the list is empty"},
    {"a b c", "too many arguments: 3, at most 2"},
};

TEST(mistakes_are_named_and_point_to_the_help)
{
    char words[512];
    struct values v = {0};
    int got = parse(&v, refusals[_i].line, words, STDERR_FILENO);
    ck_assert_int_lt(got, 0);
    ck_assert_int_eq(opt_status(got), OPT_EXIT_USAGE);
    ck_assert_msg(strstr(v.printed, refusals[_i].says), "%s: %s", refusals[_i].line,
                  v.printed);
    ck_assert_ptr_nonnull(strstr(v.printed, "try 'abrd eval --help'"));
    free(v.printed);
}

TEST(help_shows_the_table_and_the_defaults)
{
    char words[512];
    struct values v = {.i = 2,
                       .i64 = 5000000000,
                       .d = .2,
                       .text = "pensieve",
                       .list = {2, {"mpc", "bola"}}};
    int got = parse(&v, "--help", words, STDOUT_FILENO);
    ck_assert_int_eq(opt_status(got), OPT_EXIT_DONE);
    static const char *const expected[] = {
        "usage: abrd eval [options] FILE...\n",
        "\nScores policies.\n",
        "  --policy A,B    which ones (default mpc,bola)",
        "  --profile NAME  whose weights (default pensieve)",
        "  --threads N     at once (default 2)",
        "in all (default 5000000000)",
        "that explores (default 0.2)",
        "  --quiet         say nothing\n",
        "of everything\n                  random (default 0)",
        "\nexample:\n  abrd eval --policy mpc\n",
        "--help",
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        ck_assert_msg(strstr(v.printed, expected[i]), "no '%s' in\n%s", expected[i],
                      v.printed);
    free(v.printed);
}

TEST(missing_and_unwanted_arguments)
{
    const struct field none[] = {{0}};
    struct opt_cmd cmd = {
        .name = "x", .args = "FILE", .min_args = 1, .about = "", .opts = none};
    char a0[] = "x", a1[] = "y";
    char *argv[] = {a0, a1, NULL};

    capture_begin(STDERR_FILENO);
    int missing = opt_parse(&cmd, 1, argv);
    cmd.args = NULL;
    cmd.min_args = 0;
    int unwanted = opt_parse(&cmd, 2, argv);
    char *said = capture_end();
    ck_assert_int_lt(missing, 0);
    ck_assert_int_lt(unwanted, 0);
    ck_assert_ptr_nonnull(strstr(said, "FILE is missing"));
    ck_assert_ptr_nonnull(strstr(said, "'y' is not an option"));
    free(said);
}

TEST(a_list_has_an_end)
{
    const struct field_list *l = &(struct field_list){0};
    char line[1024] = "--policy ", words[1024];
    for (int i = 0; i <= FIELD_LIST_MAX; i++)
        strcat(line, "a,");
    struct values v = {.list = *l};
    ck_assert_int_lt(parse(&v, line, words, STDERR_FILENO), 0);
    ck_assert_ptr_nonnull(strstr(v.printed, "more than 64 items"));
    free(v.printed);
}

/* ---- one setting, one row: a struct and a table of the test's own ---- */

struct settings {
    double ttl_s;
    int depth;
};

static const struct field SETTINGS[] = {
    {"ttl", "S", "close after S seconds", FIELD(struct settings, ttl_s), .lo = 1,
     .hi = 60, .unit = "seconds", .group = "sessions", .flags = FIELD_LIVE},
    {"depth", "N", "depth of\nthe tree", FIELD(struct settings, depth), .group = "tree",
     .flags = FIELD_ADVANCED},
    {0}};

/* What the command prints for one word on fd; *first: what opt_parse returns. */
static char *ask(struct settings *s, const char *word, int fd, int *first)
{
    struct field opts[FIELD_TABLE_MAX + 1] = {{0}};
    field_bind(opts, SETTINGS, s);
    const struct opt_cmd cmd = {.name = "x", .about = "Does.", .opts = opts};
    char name[] = "x", copy[64];
    snprintf(copy, sizeof copy, "%s", word);
    char *argv[] = {name, copy, NULL};
    capture_begin(fd);
    *first = opt_parse(&cmd, 2, argv);
    return capture_end();
}

static void prints(const char *word, const char *part, bool there)
{
    struct settings s = {.ttl_s = 5, .depth = 2};
    int first;
    char *text = ask(&s, word, STDOUT_FILENO, &first);
    ck_assert_int_eq(opt_status(first), OPT_EXIT_DONE);
    ck_assert_msg((strstr(text, part) != NULL) == there, "%s: '%s' in\n%s", word, part,
                  text);
    free(text);
}

TEST(a_row_is_seen_everywhere)
{
    struct settings s = {.ttl_s = 5};
    int first;
    free(ask(&s, "--ttl=7.5", STDERR_FILENO, &first));
    ck_assert_int_eq(first, 2);
    ck_assert_double_eq(s.ttl_s, 7.5);
    char *text = ask(&s, "--ttl=0", STDERR_FILENO, &first);
    ck_assert_ptr_nonnull(
        strstr(text, "abrd x: --ttl: 0 is not within 1 .. 60 seconds\n"));
    free(text);

    struct field rows[FIELD_TABLE_MAX + 1] = {{0}};
    field_bind(rows, SETTINGS, &s);
    char file[] = "ttl = 9\ndepth = 3\n";
    ck_assert_int_eq(field_parse(file, strlen(file), "a.conf", rows, NULL), 0);
    ck_assert_double_eq(s.ttl_s, 9);
    ck_assert_int_eq(s.depth, 3);

    prints("--help", "\nsessions:\n  --ttl S *  ", true);
    prints("--help", "close after S seconds (default 5)\n", true);
    prints("--help", "--depth", false);
    prints("--help", "1 advanced options are not shown: abrd x --help-all\n", true);
    prints("--help-all", "\ntree:\n  --depth N  ", true);
    prints("--help-all",
           "depth of\n                                the tree (default 2)\n", true);
    prints("--help-all", "are not shown", false);
    prints(OPT_WORDS, "--ttl\n--depth\n--help\n--help-all\n", true);
    prints(OPT_MAN,
           ".SS sessions\n.TP\n\\fB\\-\\-ttl\\fR \\fIS\\fR *\nclose after S seconds "
           "(default 5)\n",
           true);
    prints(OPT_MAN, ".SS tree\n.TP\n\\fB\\-\\-depth\\fR", true);
    prints(OPT_MARKDOWN, "\n### Sessions\n", true);
    prints(OPT_MARKDOWN,
           "\n| `--ttl S` * | close after S seconds | 1 to 60 seconds | `5` |\n", true);
    prints(OPT_MARKDOWN, "\n| `--depth N` | depth of the tree |  | `2` |\n", true);
}

TEST(long_help_is_wrapped)
{
    struct settings s = {0};
    const struct field opts[] = {{"depth", "N",
                                  "one two three four five six seven eight nine ten "
                                  "eleven twelve thirteen fourteen "
                                  "fifteen sixteen",
                                  FIELD_TO(s.depth)},
                                 {0}};
    const struct opt_cmd cmd = {.name = "x", .about = "Does.", .opts = opts};
    char name[] = "x", help[] = "--help", *argv[] = {name, help, NULL};
    capture_begin(STDOUT_FILENO);
    ck_assert_int_lt(opt_parse(&cmd, 2, argv), 0);
    char *text = capture_end(), *rest = NULL;
    ck_assert_ptr_nonnull(
        strstr(text, "fourteen\n             fifteen sixteen (default 0)\n"));
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        ck_assert_msg(strlen(l) <= 100 && l[strlen(l) - 1] != ' ', "'%s'", l);
    free(text);
}

SUITE(cli_opt, every_type_is_read, defaults_stay_when_nothing_is_said,
      dashes_end_the_options, ROWS(mistakes_are_named_and_point_to_the_help, refusals),
      help_shows_the_table_and_the_defaults, missing_and_unwanted_arguments,
      a_list_has_an_end, a_row_is_seen_everywhere, long_help_is_wrapped);
