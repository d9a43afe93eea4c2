#include "cli/cmd.h"
#include "cli/opt.h"
#include "cli/term.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct cmd_sub commands[] = {
    {"eval", "score policies on traces", cmd_eval},
    {"emulate", "play emulated viewers", cmd_emulate},
    {"serve", "run the daemon that decides bitrates over HTTP", cmd_serve},
    {"doctor", "check whether abrd serve would work with the same options", cmd_doctor},
    {"backup", "copy the data folder of a daemon, which may be running", cmd_backup},
    {"forget", "delete sessions from a data folder", cmd_forget},
    {"train", "train a policy with PPO", cmd_train},
    {"retrain", "train the published weights on with a daemon's own sessions",
     cmd_retrain},
    {"lab", "reproduce experiments of papers; compute the cost of a cluster", cmd_lab},
    {"policy", "show, join, import and merge policy files", cmd_policy},
    {"trace", "check, convert, generate and compare traces", cmd_trace},
    {"trial", "compare arms on the viewers of a running daemon", cmd_trial},
    {"video", "show or convert the chunk sizes of a DASH or HLS video", cmd_video},
    {NULL, NULL, NULL},
};

static void print_commands(FILE *f)
{
    fprintf(f,
            "abrd chooses the bitrate of every chunk of a video stream.\n\n"
            "usage: abrd COMMAND [options]\n\n%scommands:%s\n",
            term_on(f, TERM_HEADING), term_off(f, TERM_HEADING));
    cmd_sub_print(f, commands);
    fputs("  help        print this text, or the options of one command: abrd help "
          "COMMAND\n"
          "  man         show the manual page, or that of one command: abrd man COMMAND\n"
          "  completion  print a completion script: abrd completion bash|zsh\n"
          "  version     print the version, as -V and --version do\n"
          "\n"
          "abrd COMMAND --help lists the options of a command. Exit codes: 0 done, 1 "
          "failed,\n"
          "2 wrong usage.\n",
          f);
}

static int main_unknown(const char *name)
{
    const char *meant = cmd_sub_nearest(commands, name);
    fprintf(stderr, "%sabrd:%s there is no command '%s'", term_on(stderr, TERM_BAD),
            term_off(stderr, TERM_BAD), name);
    if (meant) fprintf(stderr, "; did you mean '%s'?", meant);
    fputs("\ntry 'abrd help'\n", stderr);
    return OPT_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stdout);
        return OPT_EXIT_DONE;
    }
    char ask[] = "--help";
    char *asked[] = {argv[1], ask, NULL};
    if (!strcmp(argv[1], "man")) return cmd_man(commands, 2, asked);
    if (!strcmp(argv[1], "completion")) return cmd_completion(commands, 2, asked);
    if (!strcmp(argv[1], "help") || !strcmp(argv[1], "version")) {
        print_commands(stdout);
        return OPT_EXIT_DONE;
    }
    const struct cmd_sub *c = cmd_sub_find(commands, argv[1]);
    return c ? c->run(2, asked) : main_unknown(argv[1]);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stderr);
        return OPT_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0 ||
        strcmp(name, "version") == 0) {
        puts("abrd " CMD_VERSION);
        return OPT_EXIT_DONE;
    }
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 ||
        strcmp(name, "-h") == 0)
        return help(argc - 1, argv + 1);
    if (strcmp(name, "completion") == 0)
        return cmd_completion(commands, argc - 1, argv + 1);
    if (strcmp(name, "man") == 0) return cmd_man(commands, argc - 1, argv + 1);

    const struct cmd_sub *c = cmd_sub_find(commands, name);
    return c ? c->run(argc - 1, argv + 1) : main_unknown(name);
}

int main(int argc, char **argv)
{
    int code = dispatch(argc, argv);

    /* a full disk or a closed pipe must not look like success */
    bool flushed = fflush(stdout) == 0; /* only if not, errno says why */
    if (!flushed || ferror(stdout)) {
        fprintf(stderr, "abrd: standard output: %s\n",
                flushed ? "could not be written in full" : strerror(errno));
        if (code == OPT_EXIT_DONE) code = OPT_EXIT_FAILED;
    }
    return code;
}
