/* abrd man: the manual pages, for the build (make install) and for users without them; the options as
 * Markdown, for the reference. */
#include "cli/cmd.h"
#include "cli/man.h"
#include "cli/opt.h"
#include "serve/metrics/metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void overview(const struct cmd_sub *table)
{
    man_begin("abrd", "chooses the bitrate of every chunk of a video stream");
    man_section("SYNOPSIS");
    puts("\\fBabrd\\fR \\fICOMMAND\\fR [options]");
    man_section("DESCRIPTION");
    man_text("abrd is a daemon that decides the bitrate of each chunk for video players, "
             "together\n"
             "with its tools. A mixture of experts that was trained with PPO decides. "
             "The daemon\n"
             "computes the reward of each chunk from what the player measured, and "
             "learns from it.\n"
             "Each command has a manual page; --help lists its options.");
    man_section("COMMANDS");
    for (; table->name; table++) {
        char term[64];
        snprintf(term, sizeof term, "abrd-%s(8)", table->name);
        man_entry(term, table->help);
    }
    man_entry("abrd completion bash|zsh",
              "print a script that completes commands and options");
    man_entry("abrd man [COMMAND]",
              "print the source of this page, or of a command's page");
    man_entry("abrd help [COMMAND]", "list the commands, or the options of one command");
    man_entry("abrd version", "print the version");
    man_end("Every command above has a manual page. The HTTP API is described in\n"
            "\\fIshare/abrd/web/openapi.json\\fR.");
}

/* What a command prints when it is asked (opt.h). */
static int ask_command(const struct cmd_sub *c, const char *what)
{
    char name[64], ask[64];
    snprintf(name, sizeof name, "%s", c->name);
    snprintf(ask, sizeof ask, "%s", what);
    char *asked[] = {name, ask, NULL};
    return c->run(2, asked);
}

static int metrics_table(void)
{
    struct emit o = {0};
    metrics_reference(&o);
    if (!o.failed) fwrite(o.at, 1, o.n, stdout);
    int code = o.failed ? OPT_EXIT_FAILED : OPT_EXIT_DONE;
    emit_free(&o);
    return code;
}

int cmd_man(const struct cmd_sub *table, int argc, char **argv)
{
    bool markdown = argc > 1 && !strcmp(argv[1], "--markdown");
    if (argc < 2) {
        overview(table);
        return OPT_EXIT_DONE;
    }
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        puts("Prints the source of the manual page of the program, or of one command.\n"
             "--markdown prints the options of a command, or the metrics of the daemon, "
             "as\n"
             "Markdown tables instead.\n"
             "\n"
             "usage: abrd man [[--markdown] COMMAND]\n"
             "       abrd man --markdown metrics\n"
             "\n"
             "examples:\n"
             "  abrd man serve | man -l -\n"
             "  abrd man > /usr/local/share/man/man8/abrd.8\n"
             "  abrd man --markdown serve");
        return OPT_EXIT_DONE;
    }
    if (argc != 2 + markdown)
        return opt_usage("man", "expected one command, or none for the overview");
    const char *name = argv[1 + markdown];
    if (markdown && !strcmp(name, "metrics")) return metrics_table();
    const struct cmd_sub *c = cmd_sub_find(table, name);
    if (!c) return opt_usage("man", "there is no command '%s'", name);
    if (markdown) return ask_command(c, OPT_MARKDOWN);
    char title[64];
    snprintf(title, sizeof title, "abrd-%s", c->name);
    man_begin(title, c->help);
    int code = ask_command(c, OPT_MAN);
    man_end("\\fBabrd\\fR(8)");
    return code;
}
