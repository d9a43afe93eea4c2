/* abrd train from outside. */
#include "base/text.h"
#include "cli/opt.h"
#include "learn/ckpt.h"
#include "support/page_home.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL "--preset paper --variant pamoe --steps 20000 --seed 3 "

static struct policy *load(const char *path)
{
    struct err e = {0};
    struct policy *p = ckpt_load(path, NULL, NULL, NULL, &e);
    ck_assert_msg(p != NULL, "%s: %s", path, e.detail);
    return p;
}

static bool same(const char *a, const char *b)
{
    struct policy *p = load(a), *q = load(b);
    bool equal =
        p->actor->n == q->actor->n &&
        !memcmp(p->actor->theta, q->actor->theta, p->actor->n * sizeof(float)) &&
        !memcmp(p->critic->theta, q->critic->theta, p->critic->n * sizeof(float));
    policy_free(q);
    policy_free(p);
    return equal;
}

TEST(writes_policy_curve_and_rows)
{
    char line[512];
    const char *dir = tmpdir_new();
    program_expect_in(dir, "train " SMALL "--out @/a --csv @/a.csv --json @/a.json",
                      OPT_EXIT_DONE, "documentary");

    struct ckpt_meta m = {0};
    struct policy *p = ckpt_load(tmpdir_path(dir, "a"), &m, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(ckpt_meta_get(&m, "preset"), "paper");
    ck_assert_str_eq(ckpt_meta_get(&m, "variant"), "pamoe");
    ck_assert_str_eq(ckpt_meta_get(&m, "layout"), "paper");
    policy_free(p);

    FILE *f = fopen(tmpdir_path(dir, "a.csv"), "r");
    int rows = 0;
    while (fgets(line, sizeof line, f))
        rows++;
    fclose(f);
    ck_assert_int_eq(rows, 1 + 10); /* 20000 steps, 2000 per update */
    ck_assert_int_ne(access(tmpdir_path(dir, "a.part"), F_OK), 0);

    /* another seed, another policy; another number of threads, the same one */
    program_expect_in(dir, "train " SMALL "--seed 4 --out @/b --quiet", OPT_EXIT_DONE,
                      "");
    program_expect_in(dir, "train " SMALL "--threads 3 --out @/c --quiet", OPT_EXIT_DONE,
                      "");
    ck_assert(!same(tmpdir_path(dir, "a"), tmpdir_path(dir, "b")));
    ck_assert(same(tmpdir_path(dir, "a"), tmpdir_path(dir, "c")));
}

/* Interrupted as soon as it has saved once, taken up, finished: the same bits as in one go.
 * Once for each way of training. */
TEST(resumes_after_ctrl_c)
{
    static const char *const presets[] = {
        "--preset paper --variant pamoe --steps 60000",
        "--preset tuned --variant pamoe --steps 98304 --threads 2"};
    char fmt[512];
    const char *dir = tmpdir_new();
    for (int i = 0; i < 2; i++) {
        snprintf(fmt, sizeof fmt, "train %s --quiet --out @/whole", presets[i]);
        program_expect_in(dir, fmt, OPT_EXIT_DONE, "");
        /* the program's own pid waits in the background of the shell that runs it */
        snprintf(fmt, sizeof fmt,
                 "train %s --quiet --out @/half --checkpoint-every 0.001 & "
                 "while ! [ -f @/half.part ] && kill -0 $! 2>/dev/null; do :; done; "
                 "kill -INT $!; wait $!",
                 presets[i]);
        program_expect_in(dir, fmt, OPT_EXIT_DONE, "resume with");
        ck_assert_int_ne(access(tmpdir_path(dir, "half"), F_OK), 0);
        program_expect_in(dir, "train --resume @/half.part --out @/half --quiet",
                          OPT_EXIT_DONE, "score it with");
        ck_assert(same(tmpdir_path(dir, "whole"), tmpdir_path(dir, "half")));
        unlink(tmpdir_path(dir, "half"));
    }
}

static char *text_of(const char *dir, const char *name)
{
    struct err e = {0};
    char *text = text_read_file(tmpdir_path(dir, name), 1 << 20, NULL, &e);
    ck_assert_msg(text != NULL, "%s: %s", name, e.detail);
    return text;
}

/* Without the two columns on routes that an update changed: their sample starts again with a run. */
static char *steady_of(const char *dir, const char *name)
{
    char *text = text_of(dir, name), *to = text;
    int column = 0;
    for (const char *c = text; *c; c++) {
        column = *c == '\n' ? 0 : column + (*c == ',');
        if (column != 17 && column != 18) *to++ = *c;
    }
    *to = '\0';
    return text;
}

/* Killed with rows behind its last checkpoint: in the end the curve is that of one go. A new file
 * has a head of its own. */
TEST(a_curve_outlives_kill)
{
    const char *dir = tmpdir_new();
    static const char run[] =
        "train --preset paper --variant pamoe --steps 120000 --quiet ";
    char fmt[512];
    snprintf(fmt, sizeof fmt, "%s--out @/whole --csv @/whole.csv", run);
    program_expect_in(dir, fmt, OPT_EXIT_DONE, "");
    snprintf(fmt, sizeof fmt,
             "%s--out @/half --csv @/half.csv --checkpoint-every 0.05 & "
             "while ! [ -f @/half.part ] && kill -0 $! 2>/dev/null; do :; done; "
             "sleep 0.02; kill -KILL $!; wait $!; cp @/half.part @/new.part",
             run);
    struct program_result killed = program_run_in(dir, fmt);
    program_free(&killed);
    program_expect_in(dir,
                      "train --resume @/half.part --out @/half --csv @/half.csv --quiet",
                      OPT_EXIT_DONE, "");
    char *whole = steady_of(dir, "whole.csv"), *half = steady_of(dir, "half.csv");
    ck_assert_msg(strcmp(half, whole) == 0, "other rows than in one go");
    free(half);
    program_expect_in(dir,
                      "train --resume @/new.part --out @/new --csv @/new.csv --quiet",
                      OPT_EXIT_DONE, "");
    half = steady_of(dir, "new.csv");
    ck_assert_int_eq(strncmp(half, whole, strcspn(whole, "\n") + 1), 0);
    free(half);
    free(whole);
}

TEST(how_to_go_on_names_every_file)
{
    const char *dir = page_home_new();
    program_expect_in(
        dir,
        "train " SMALL "--steps 10000000 --quiet --out @/c --csv @/c.csv --json "
        "@/c.json --report @/c.html --checkpoint-every 0.001 & while ! [ "
        "-f @/c.part ] "
        "&& kill -0 $! 2>/dev/null; do :; done; kill -INT $!; wait $!",
        OPT_EXIT_DONE, " --csv @/c.csv --json @/c.json --report @/c.html\n");
}

TEST(the_curve_on_standard_output)
{
    char line[512];
    const char *dir = tmpdir_new();
    program_expect_in(dir, "train " SMALL "--quiet --out @/a --csv - > @/a.csv",
                      OPT_EXIT_DONE, "score it with");
    ck_assert_int_ne(access("-", F_OK), 0);
    FILE *f = fopen(tmpdir_path(dir, "a.csv"), "r");
    int rows = 0, columns = 0;
    while (fgets(line, sizeof line, f)) {
        int n = 0;
        for (const char *c = line; *c; c++)
            n += *c == ',';
        if (!rows++) columns = n;
        ck_assert_msg(n == columns, "%s", line);
    }
    fclose(f);
    ck_assert_int_eq(rows, 1 + 10);
    program_expect_in(dir, "train --out @/b --csv - --json -", OPT_EXIT_USAGE,
                      "cannot both be -");
}

TEST(resuming_something_else_is_refused)
{
    const char *dir = tmpdir_new();
    program_expect_in(dir, "train " SMALL "--quiet --out @/a", OPT_EXIT_DONE, "");
    program_expect_in(dir, "train --resume @/a --out @/b", OPT_EXIT_FAILED,
                      "finished policy");
    program_expect_in(dir, "train --resume @/none --out @/b", OPT_EXIT_FAILED, "none");

    program_expect_in(
        dir,
        "train " SMALL "--steps 10000000 --quiet --out @/c --checkpoint-every "
        "0.001 & while ! [ -f @/c.part ] && kill -0 $! 2>/dev/null; do :; done; "
        "kill -INT $!; wait $!",
        OPT_EXIT_DONE, "resume with");
    program_expect_in(dir,
                      "train --resume @/c.part --traces test/golden/traces --out @/d",
                      OPT_EXIT_FAILED, "traces_crc32");
    /* the file has the values of these, and they cannot be changed */
    static const char *const others[] = {"--steps 5000", "--seed 9", "--preset code",
                                         "--variant moe", "--part test"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char args[200], says[40];
        snprintf(args, sizeof args, "train --resume @/c.part %s --out @/d", others[i]);
        snprintf(says, sizeof says, "%.*s: ", (int)strcspn(others[i], " "), others[i]);
        program_expect_in(dir, args, OPT_EXIT_FAILED, says);
    }
}

/* The changes are in the file; a resumed run takes them from there. */
TEST(changes_of_the_recipe_are_kept)
{
    const char *dir = tmpdir_new();
    program_expect_in(
        dir, "train " SMALL "--experts 1 --hidden 24 --lr 2e-4 --quiet --out @/a",
        OPT_EXIT_DONE, "");
    struct ckpt_meta m = {0};
    struct policy *p = ckpt_load(tmpdir_path(dir, "a"), &m, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(ckpt_meta_get(&m, "changes"), "experts=1 hidden=24 lr=2e-4");
    ck_assert_uint_eq(strlen(ckpt_meta_get(&m, "recipe_crc32")), 8);
    ck_assert_int_eq(p->cfg.experts, 1);
    ck_assert_int_eq(p->cfg.hidden, 24);
    ck_assert_int_eq(p->cfg.route, MIX_SINGLE);
    policy_free(p);

    program_expect_in(
        dir,
        "train --steps 20000000 --envs 4 --rollout 32 --minibatch 64 --no-tutor "
        "--no-hint --links 20 --quiet --out @/c --checkpoint-every 0.001 & while ! "
        "[ -f @/c.part ] && kill -0 $! 2>/dev/null; do :; done; kill -INT $!; "
        "wait $!",
        OPT_EXIT_DONE, "resume with");
    program_expect_in(dir, "train --resume @/c.part --gamma 0.9 --out @/c --quiet",
                      OPT_EXIT_FAILED, "not with the changes of this command line");
    ck_assert_int_eq(rename(tmpdir_path(dir, "c.part"), tmpdir_path(dir, "d.part")), 0);
    program_expect_in(dir,
                      "train --resume @/d.part --quiet --out @/c --checkpoint-every "
                      "0.001 & pid=$!; while ! [ -f @/c.part ] && "
                      "kill -0 $pid 2>/dev/null; do :; done; kill -INT $pid; wait $pid",
                      OPT_EXIT_DONE, "resume with");
}

TEST(the_file_may_trust_the_plan_more)
{
    static const char *const ends[] = {"", "--prior-end 86 "};
    const char *dir = tmpdir_new(), *const to[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        char words[256];
        snprintf(
            words, sizeof words,
            "train --preset tuned --variant pamoe --layout plan --steps 4000 --envs 8 "
            "--links 20 --rollout 64 --prior 60 %s--quiet --out @/%s",
            ends[i], to[i]);
        program_expect_in(dir, words, OPT_EXIT_DONE, "");
        struct policy *p = load(tmpdir_path(dir, to[i]));
        ck_assert_int_eq(p->cfg.prior.gain, i ? 86 : 60);
        policy_free(p);
    }
    char *a = strdup(tmpdir_path(dir, "a"));
    ck_assert(same(a, tmpdir_path(dir, "b")));
    free(a);
}

/* A student of two teachers: told in the file, the same after an interruption, refused with
 * others. A teacher that sees something else is refused. */
TEST(students_have_teachers)
{
#define TUNED "train --envs 8 --rollout 32 --minibatch 64 --links 20 --ladders 4 --quiet "
    const char *dir = tmpdir_new();
    program_expect_in(dir, TUNED "--steps 2048 --out @/a", 0, "");
    program_expect_in(dir, TUNED "--steps 2048 --seed 2 --hidden 24 --out @/b", 0, "");
    program_expect_in(dir, TUNED "--steps 16384 --teacher @/a,@/b --out @/whole", 0, "");
    struct ckpt_meta m = {0};
    struct policy *p = ckpt_load(tmpdir_path(dir, "whole"), &m, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_str_eq(ckpt_meta_get(&m, "teachers"), "2");
    ck_assert_uint_eq(strlen(ckpt_meta_get(&m, "teachers_crc32")), 8);
    policy_free(p);
    program_expect_in(dir, TUNED "--steps 16384 --out @/alone", 0, "");
    ck_assert(!same(tmpdir_path(dir, "whole"), tmpdir_path(dir, "alone")));

    program_expect_in(dir,
                      TUNED "--steps 16384 --teacher @/a,@/b --out @/half "
                            "--checkpoint-every 0.001 & "
                            "while ! [ -f @/half.part ] && kill -0 $! 2>/dev/null; do :; "
                            "done; kill -INT $!; wait $!",
                      0, "--teacher");
    program_expect_in(dir, "train --resume @/half.part --teacher @/a --out @/half",
                      OPT_EXIT_FAILED, "teachers_crc32");
    program_expect_in(dir, "train --resume @/half.part --out @/half", OPT_EXIT_FAILED,
                      "teachers_crc32");
    program_expect_in(
        dir, "train --resume @/half.part --quiet --teacher @/a,@/b --out @/half", 0, "");
    ck_assert(same(tmpdir_path(dir, "whole"), tmpdir_path(dir, "half")));

    program_expect_in(dir, TUNED "--advice .9 --teacher @/a --out @/c", OPT_EXIT_FAILED,
                      "cannot be combined with --advice");

    /* specialists know what they teach */
    program_expect_in(dir, TUNED "--steps 2048 --profile news --out @/news", 0, "");
    program_expect_in(dir, TUNED "--steps 2048 --teacher @/a,@/news --out @/c", 0, "");
    program_expect_in(dir, TUNED "--steps 2048 --profile drawn --out @/drawn", 0,
                      "drawn weights");
    program_expect_in(dir, TUNED "--steps 2048 --teacher @/a,@/drawn --out @/c", 0, "");
    program_expect_in(dir, TUNED "--steps 2048 --profile live --teacher @/news --out @/c",
                      OPT_EXIT_FAILED, "was trained for news, the student is not");

    program_expect_in(dir, TUNED "--no-hint --teacher @/a --out @/c", OPT_EXIT_FAILED,
                      "a teacher must see what its student sees");
    program_expect_in(dir, TUNED "--teacher @/none --out @/c", OPT_EXIT_FAILED, "none");
}

TEST(mistakes_are_told)
{
    program_expect("train --experts 0", OPT_EXIT_USAGE, "--experts: ");
    program_expect("train --lr fast", OPT_EXIT_USAGE, "--lr: 'fast' is not a number");
    program_expect("train --experts 2 --route single", OPT_EXIT_USAGE, "need a router");
    program_expect("train --preset best", OPT_EXIT_USAGE, "paper, code or tuned");
    program_expect("train --variant gpt", OPT_EXIT_USAGE, "mlp, moe, smoe or pamoe");
    program_expect("train --traces /nowhere", OPT_EXIT_FAILED, "/nowhere");
    program_expect("train --part half --traces test/golden/traces", OPT_EXIT_FAILED,
                   "--part");
    program_expect("train --steps -1", OPT_EXIT_USAGE, "--steps");
    program_expect("train --preset paper --steps 2000 --out /nowhere/a", OPT_EXIT_FAILED,
                   "/nowhere");
    program_expect("train --help", OPT_EXIT_DONE, "--checkpoint-every");
}

/* The weights of another training to begin with; told in the file; of the same networks and
 * layout alone. */
TEST(begins_with_other_weights)
{
    const char *dir = tmpdir_new();
    program_expect_in(dir, TUNED "--steps 2048 --out @/a", 0, "");
    program_expect_in(
        dir, TUNED "--steps 256 --lr 0,0 --noise 0 --start @/a --out @/same", 0, "");
    ck_assert(same(tmpdir_path(dir, "a"), tmpdir_path(dir, "same")));
    struct ckpt_meta m = {0};
    struct policy *p = load(tmpdir_path(dir, "a"));
    char crc[16];
    snprintf(crc, sizeof crc, "%08x", policy_crc32(p));
    policy_free(p);
    policy_free(ckpt_load(tmpdir_path(dir, "same"), &m, NULL, NULL, NULL));
    ck_assert_str_eq(ckpt_meta_get(&m, "start_crc32"), crc);

    program_expect_in(dir, TUNED "--steps 256 --hidden 24 --start @/a --out @/b",
                      OPT_EXIT_FAILED, "has different networks");
    program_expect_in(dir, TUNED "--steps 256 --no-hint --start @/a --out @/b",
                      OPT_EXIT_FAILED,
                      "has observation layout full, but this run has blind");
    program_expect_in(dir, TUNED "--steps 256 --start @/none --out @/b", OPT_EXIT_FAILED,
                      "none");
}

TEST(the_curves_are_a_page)
{
    const char *dir = page_home_new();
    program_expect_in(
        dir, TUNED "--profile papers --steps 1024 --report @/curves.html --out @/p", 0,
        "");
    char *data = text_read_file(tmpdir_path(dir, "curves.csv"), 1 << 20, NULL, NULL);
    ck_assert_ptr_nonnull(data);
    static const char *const drawn[] = {
        "\nreward,,paper-news,", "\nlearning,entropy,entropy,",
        "\nlearning,losses,value,", "\nexperts,,expert 2,"};
    for (int i = 0; i < 4; i++)
        ck_assert_msg(strstr(data, drawn[i]) != NULL, "%s in\n%s", drawn[i], data);
    free(data);
    program_expect_in(dir, TUNED "--steps 256 --report x.pdf --out @/q", OPT_EXIT_FAILED,
                      "is not NAME.html");
    unsetenv("ABRD_HOME");
}

SUITE_WITHIN(cli_train_cmd_train, 120, writes_policy_curve_and_rows, resumes_after_ctrl_c,
             a_curve_outlives_kill, how_to_go_on_names_every_file,
             the_curve_on_standard_output, resuming_something_else_is_refused,
             changes_of_the_recipe_are_kept, the_file_may_trust_the_plan_more,
             students_have_teachers, mistakes_are_told, begins_with_other_weights,
             the_curves_are_a_page);
