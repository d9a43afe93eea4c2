/* Colour and width: the program on a terminal, in a pipe, and with NO_COLOR. */
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"

#include <stdlib.h>
#include <string.h>

static const char HEADING[] = "\x1b[1mcommands:\x1b[0m\r\n";

TEST(headings_are_bold_on_a_terminal_only)
{
    struct program_result r = program_on_terminal("", "help", 80);
    ck_assert_msg(strstr(r.text, HEADING) != NULL, "%s", r.text);
    program_free(&r);

    static const char *const plain[] = {"NO_COLOR=1", "TERM=dumb"};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        r = program_on_terminal(plain[i], "help", 80);
        ck_assert_msg(strstr(r.text, "\r\ncommands:\r\n") && !strchr(r.text, '\x1b'),
                      "%s: %s", plain[i], r.text);
        program_free(&r);
    }
    r = program_on_terminal("NO_COLOR=", "help", 80); /* empty: not set */
    ck_assert_ptr_nonnull(strstr(r.text, HEADING));
    program_free(&r);

    r = program_run("help");
    ck_assert(strstr(r.text, "\ncommands:\n") && !strchr(r.text, '\x1b'));
    program_free(&r);
}

TEST(errors_and_verdicts_have_a_colour)
{
    struct program_result r = program_on_terminal("", "serve --prt 1", 80);
    ck_assert_int_eq(r.code, OPT_EXIT_USAGE);
    ck_assert_msg(strstr(r.text, "\x1b[1;31mabrd serve:\x1b[0m unknown option --prt; did "
                                 "you mean --port?") == r.text,
                  "%s", r.text);
    program_free(&r);

    r = program_on_terminal("", "trace check /dev/null", 80);
    ck_assert_msg(strstr(r.text, "\x1b[1mfile\x1b[0m") &&
                      strstr(r.text, "\x1b[1;31mrefused\x1b[0m"),
                  "%s", r.text);
    program_free(&r);
}

/* Columns of the longest line, whose end is \r\n. */
static size_t longest(char *text)
{
    size_t most = 0;
    char *rest = NULL;
    for (char *l = strtok_r(text, "\r\n", &rest); l; l = strtok_r(NULL, "\r\n", &rest))
        if (strlen(l) > most) most = strlen(l);
    return most;
}

TEST(help_and_tables_fit_the_terminal)
{
    static const struct {
        int columns;
        size_t lo, hi;
    } widths[] = {{72, 60, 72}, {300, 90, 100}};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        struct program_result r =
            program_on_terminal("NO_COLOR=1", "eval --help-all", widths[i].columns);
        char *options = strstr(r.text, "options:"), *end = strstr(r.text, "\r\nexample:");
        ck_assert(options && end);
        *end = '\0';
        size_t most = longest(options);
        ck_assert_msg(most >= widths[i].lo && most <= widths[i].hi, "%d: %zu",
                      widths[i].columns, most);
        program_free(&r);
    }

    /* the reason of a refusal stands in the last column */
    struct program_result r =
        program_on_terminal("NO_COLOR=1", "trace check /dev/null", 60);
    ck_assert_msg(longest(r.text) <= 60, "%s", r.text);
    program_free(&r);
}

SUITE(cli_term, headings_are_bold_on_a_terminal_only, errors_and_verdicts_have_a_colour,
      help_and_tables_fit_the_terminal);
