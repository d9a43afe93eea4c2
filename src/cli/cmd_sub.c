/* Commands by name: the table of main.c, and those of commands that have commands. */
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/man.h"
#include "cli/opt.h"
#include "cli/term.h"
#include "nn/blas.h"

#include <stdio.h>
#include <string.h>

int cmd_fail(const char *command, const struct err *e)
{
    fprintf(stderr, "%sabrd %s:%s %s%s%s\n", term_on(stderr, TERM_BAD), command,
            term_off(stderr, TERM_BAD), e->field, *e->field ? ": " : "", e->detail);
    return OPT_EXIT_FAILED;
}

int cmd_blas(const char *command, int threads)
{
    struct err e = {0};
    return blas_reserve(threads, &e) ? cmd_fail(command, &e) : 0;
}

const struct cmd_sub *cmd_sub_find(const struct cmd_sub *table, const char *name)
{
    for (; table->name; table++)
        if (!strcmp(table->name, name)) return table;
    return NULL;
}

const char *cmd_sub_nearest(const struct cmd_sub *table, const char *name)
{
    const char *found = NULL;
    int best = 3; /* more than two typing mistakes make another word */
    for (; table->name; table++) {
        int d = text_distance(name, table->name);
        if (d >= best) continue;
        best = d;
        found = table->name;
    }
    return found;
}

void cmd_sub_print(FILE *f, const struct cmd_sub *table)
{
    for (; table->name; table++)
        fprintf(f, "  %-10s  %s\n", table->name, table->help);
}

void cmd_sub_words(const struct cmd_sub *table)
{
    for (; table->name; table++)
        puts(table->name);
}

static void print_help(FILE *f, const char *command, const char *about,
                       const struct cmd_sub *table, const char *example)
{
    fprintf(f, "%s\n\nusage: abrd %s COMMAND [options]\n\n%scommands:%s\n", about,
            command, term_on(f, TERM_HEADING), term_off(f, TERM_HEADING));
    cmd_sub_print(f, table);
    fprintf(f,
            "\nexample:\n  %s\n\n"
            "abrd %s COMMAND --help lists the options of a command. Exit codes: %d done, "
            "%d failed,\n%d wrong usage.\n",
            example, command, OPT_EXIT_DONE, OPT_EXIT_FAILED, OPT_EXIT_USAGE);
}

static int print_page(const char *command, const char *about, const struct cmd_sub *table)
{
    char usage[64], ask[] = OPT_MAN;
    snprintf(usage, sizeof usage, "%s COMMAND", command);
    man_group(usage, about, "COMMANDS");
    int code = OPT_EXIT_DONE;
    for (; table->name && code == OPT_EXIT_DONE; table++) {
        char name[64];
        snprintf(name, sizeof name, "%s", table->name);
        char *asked[] = {name, ask, NULL};
        code = table->run(2, asked);
    }
    return code;
}

int cmd_sub_run(const char *command, const char *about, const struct cmd_sub *table,
                const char *example, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_help(stderr, command, about, table, example);
        return OPT_EXIT_USAGE;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_help(stdout, command, about, table, example);
        return OPT_EXIT_DONE;
    }
    if (!strcmp(name, OPT_WORDS)) {
        cmd_sub_words(table);
        return OPT_EXIT_DONE;
    }
    if (!strcmp(name, OPT_MAN)) return print_page(command, about, table);
    const struct cmd_sub *c = cmd_sub_find(table, name);
    if (c) return c->run(argc - 1, argv + 1);
    const char *meant = cmd_sub_nearest(table, name);
    return meant ? opt_usage(command, "there is no command '%s %s'; did you mean '%s'?",
                             command, name, meant)
                 : opt_usage(command, "there is no command '%s %s'", command, name);
}
