/* abrd man: the manual pages, for the build (make install) and for who has only the program. */
#include "cli/cmd.h"
#include "cli/man.h"
#include "cli/opt.h"

#include <stdio.h>
#include <string.h>

static void overview(const struct cmd_sub *table)
{
    man_begin("abrd", "chooses the bitrate of every chunk of a video stream");
    man_section("SYNOPSIS");
    puts("\\fBabrd\\fR \\fICOMMAND\\fR [options]");
    man_section("DESCRIPTION");
    man_text(
        "abrd is a daemon that video players ask, chunk by chunk, which bitrate to fetch "
        "next,\n"
        "and the tools around it. It decides by a mixture of experts trained with PPO, "
        "computes\n"
        "the reward of each chunk from what the player measured, and learns from it "
        "while it\n"
        "serves. Each command has a page of its own, and its options by --help.");
    man_section("COMMANDS");
    for (; table->name; table++) {
        char term[64];
        snprintf(term, sizeof term, "abrd-%s(8)", table->name);
        man_entry(term, table->help);
    }
    man_entry("abrd completion bash|zsh",
              "print a script that completes commands and options");
    man_entry("abrd man [COMMAND]", "print the source of this page, or of a command's");
    man_entry("abrd help [COMMAND]", "list the commands, or the options of one");
    man_entry("abrd version", "print the version");
    man_end("Every command above has its page. The HTTP API is described in\n"
            "\\fIshare/abrd/web/openapi.json\\fR.");
}

int cmd_man(const struct cmd_sub *table, int argc, char **argv)
{
    if (argc > 2) return opt_usage("man", "one command, or none for the overview");
    if (argc < 2) {
        overview(table);
        return OPT_EXIT_DONE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        puts("Prints the source of a manual page: of the program, or of one command.\n\n"
             "usage: abrd man [COMMAND]\n\n"
             "examples:\n  abrd man serve | man -l -\n"
             "  abrd man > /usr/local/share/man/man8/abrd.8");
        return OPT_EXIT_DONE;
    }
    const struct cmd_sub *c = cmd_sub_find(table, argv[1]);
    if (!c) return opt_usage("man", "there is no command '%s'", argv[1]);
    char name[64], ask[] = OPT_MAN;
    snprintf(name, sizeof name, "abrd-%s", c->name);
    man_begin(name, c->help);
    char *asked[] = {argv[1], ask, NULL};
    int code = c->run(2, asked);
    man_end("\\fBabrd\\fR(8)");
    return code;
}
