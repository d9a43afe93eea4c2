#include "cli/cmd.h"
#include "cli/opt.h"

#include <stdio.h>
#include <string.h>

static const struct cmd_sub commands[] = {
    {"eval", "score policies on traces", cmd_eval},
    {"emulate", "play emulated viewers", cmd_emulate},
    {"serve", "answer bitrate questions over HTTP", cmd_serve},
    {"doctor", "look at what serve would meet: folder, store, port, ...", cmd_doctor},
    {"backup", "copy the data folder of a daemon that runs", cmd_backup},
    {"train", "make a policy with PPO", cmd_train},
    {"lab", "reproduce papers, reckon a cluster's costs; with reports", cmd_lab},
    {"policy", "look into policy files, join and merge experts", cmd_policy},
    {"trace", "check, convert, generate and compare traces", cmd_trace},
    {"video", "sizes of a DASH or HLS video, as a table", cmd_video},
    {NULL, NULL, NULL},
};

static void print_commands(FILE *f)
{
    fputs("abrd chooses the bitrate of every chunk of a video stream.\n\n"
          "usage: abrd COMMAND [options]\n\ncommands:\n",
          f);
    cmd_sub_print(f, commands);
    fputs("  help        this text, or that of one command: abrd help COMMAND\n"
          "  man         the manual page, or that of one command: abrd man COMMAND\n"
          "  completion  a script for a shell: abrd completion bash|zsh\n"
          "  version     the version of this program\n\n"
          "abrd COMMAND --help lists the options of a command. Exit codes: 0 done, 1 "
          "failed,\n"
          "2 wrong usage.\n",
          f);
}

static int main_unknown(const char *name)
{
    const char *meant = cmd_sub_nearest(commands, name);
    fprintf(stderr, "abrd: there is no command '%s'", name);
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
    if (strcmp(name, "--version") == 0 || strcmp(name, "version") == 0) {
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
    if (fflush(stdout) || ferror(stdout)) {
        perror("abrd: standard output");
        if (code == OPT_EXIT_DONE) code = OPT_EXIT_FAILED;
    }
    return code;
}
