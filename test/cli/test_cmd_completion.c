/* Completion as bash does it, with the script that the program prints. */
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *dir;

TEST(words_come_from_the_tables)
{
    program_expect("completion words", OPT_EXIT_DONE, "eval\nemulate\nserve\n");
    program_expect("completion words trace", OPT_EXIT_DONE, "check\nconvert\n");
    program_expect("completion words trace check", OPT_EXIT_DONE,
                   "--csv\n--json\n--help");
    program_expect("completion words eval --traces x", OPT_EXIT_DONE, "--mu-draws\n");
    program_expect("completion words man", OPT_EXIT_DONE, "eval\nemulate\n");
    program_expect("completion words lab", OPT_EXIT_DONE, "forgetting\n");
    program_expect("completion words lab shift", OPT_EXIT_DONE, "--preset\n");
    program_expect("completion words completion", OPT_EXIT_DONE, "bash\nzsh\n");
    program_expect("completion words nonsense", OPT_EXIT_DONE, "");
    program_expect("completion", OPT_EXIT_USAGE, "bash or zsh");
    program_expect("completion zsh", OPT_EXIT_DONE, "#compdef abrd");
}

/* What bash offers for `abrd` and these words, of which the one at `at` is unfinished. */
static void offered(const char *words, int at, const char *want)
{
    char self[1024], args[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    ck_assert_int_gt(n, 0);
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    snprintf(args, sizeof args,
             "completion bash > '%s/script' && bash -c '. %s/script; "
             "COMP_WORDS=(%s/abrd %s); COMP_CWORD=%d; _abrd; "
             "echo \"offered: ${COMPREPLY[*]}.\"'",
             dir, dir, self, words, at);
    program_expect(args, OPT_EXIT_DONE, want);
}

TEST(bash)
{
    dir = tmpdir_new();
    offered("tr", 1, "offered: train trace trial.");
    offered("trace co", 2, "offered: convert.");
    offered("eval --mu", 2, "offered: --mu --mu-draws.");
    offered("eval --traces \"\"", 3, "offered: ."); /* files: bash finds them itself */
}

SUITE(cli_cmd_completion, words_come_from_the_tables, bash);
