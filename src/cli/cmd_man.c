/* abrd man: the manual pages. On a terminal a page is shown by man(1), or as plain text by less(1);
 * elsewhere its source is printed, for the build (make install). Also the options as Markdown, for the
 * reference. */
#include "cli/cmd.h"
#include "cli/man.h"
#include "cli/opt.h"
#include "cli/pager.h"
#include "cli/term.h"
#include "serve/metrics/metrics.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
              "show this page, or that of a command; print its source if standard output "
              "is no terminal");
    man_entry("abrd help [COMMAND]", "list the commands, or the options of one command");
    man_entry("abrd version", "print the version, as -V and --version do");
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

/* The source of a page; c NULL: of the overview. */
static int print_source(const struct cmd_sub *table, const struct cmd_sub *c)
{
    if (!c) {
        overview(table);
        return OPT_EXIT_DONE;
    }
    char title[64];
    snprintf(title, sizeof title, "abrd-%s", c->name);
    man_begin(title, c->help);
    int code = ask_command(c, OPT_MAN);
    man_end("\\fBabrd\\fR(8)");
    return code;
}

/* The same as one text, owned by the caller; NULL: there is no room for it. */
static char *take_source(const struct cmd_sub *table, const struct cmd_sub *c)
{
    FILE *file = tmpfile();
    int saved = file && !fflush(stdout) ? dup(STDOUT_FILENO) : -1;
    char *text = NULL;
    long n = 0;
    if (saved >= 0) {
        dup2(fileno(file), STDOUT_FILENO);
        bool whole = print_source(table, c) == OPT_EXIT_DONE && !fflush(stdout);
        dup2(saved, STDOUT_FILENO);
        close(saved);
        if (whole && !fseek(file, 0, SEEK_END) && (n = ftell(file)) > 0)
            text = calloc(1, (size_t)n + 1);
        rewind(file);
        if (text && fread(text, 1, (size_t)n, file) != (size_t)n) text[0] = '\0';
    }
    if (file) fclose(file);
    return text;
}

/* Without man(1) the page is made plain here, for less(1) or straight for the terminal. */
static int show_plain(const struct cmd_sub *table, const struct cmd_sub *c)
{
    static const char *const less[] = {"less", "-R", NULL};
    struct pager p;
    char *roff = take_source(table, c);
    if (!roff) return print_source(table, c);
    struct man_plain how = {.columns = term_columns(stdout, 60, 100),
                            .bold_on = term_on(stdout, TERM_HEADING),
                            .bold_off = term_off(stdout, TERM_HEADING)};
    bool paged = pager_begin(&p, less);
    man_plain(roff, &how);
    if (paged) pager_end(&p);
    free(roff);
    return OPT_EXIT_DONE;
}

static int show_page(const struct cmd_sub *table, const struct cmd_sub *c)
{
    static const char *const man[] = {"man", "-l", "-", NULL};
    struct pager p;
    if (!term_is(stdout)) return print_source(table, c);
    if (!pager_begin(&p, man)) return show_plain(table, c);
    int code = print_source(table, c);
    pager_end(&p);
    return code;
}

int cmd_man(const struct cmd_sub *table, int argc, char **argv)
{
    bool markdown = argc > 1 && !strcmp(argv[1], "--markdown");
    if (argc < 2) return show_page(table, NULL);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
        puts("Shows the manual page of the program, or of one command. If standard "
             "output\n"
             "is no terminal, prints the source of the page.\n"
             "--markdown prints the options of a command, or the metrics of the daemon, "
             "as\n"
             "Markdown tables instead.\n"
             "\n"
             "usage: abrd man [[--markdown] COMMAND]\n"
             "       abrd man --markdown metrics\n"
             "\n"
             "examples:\n"
             "  abrd man serve\n"
             "  abrd man > /usr/local/share/man/man8/abrd.8\n"
             "  abrd man --markdown serve");
        return OPT_EXIT_DONE;
    }
    if (argc != 2 + markdown)
        return opt_usage("man", "expected one command, or none for the overview");
    const char *name = argv[1 + markdown];
    if (markdown && !strcmp(name, "metrics")) return metrics_table();
    const struct cmd_sub *c = cmd_sub_find(table, name);
    if (!c) {
        const char *meant = cmd_sub_nearest(table, name);
        return meant ? opt_usage("man", "there is no command '%s'; did you mean '%s'?",
                                 name, meant)
                     : opt_usage("man", "there is no command '%s'", name);
    }
    return markdown ? ask_command(c, OPT_MARKDOWN) : show_page(table, c);
}
