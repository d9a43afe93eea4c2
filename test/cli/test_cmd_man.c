/* The manual page of every command has what its --help-all has. */
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 4096 };

/* One line for each option, "--port N", in order. */
struct options {
    int n;
    char line[128][160];
};

static void add(struct options *o, const char *text)
{
    ck_assert_int_lt(o->n, 128);
    snprintf(o->line[o->n++], sizeof o->line[0], "%s", text);
}

/* Of "  --port N       port ...": everything up to two spaces. */
static void from_help(struct options *o, char *text)
{
    char *rest = NULL;
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(l, "  --", 4) != 0) continue;
        char *gap = strstr(l + 2, "  ");
        ck_assert_ptr_nonnull(gap);
        *gap = '\0';
        add(o, l + 2);
    }
}

/* What a terminal shows of a line of roff: without fonts, with plain signs. */
static void plain(char *out, const char *roff)
{
    while (*roff) {
        if (!strncmp(roff, "\\fB", 3) || !strncmp(roff, "\\fI", 3) ||
            !strncmp(roff, "\\fR", 3)) {
            roff += 3;
        } else if (!strncmp(roff, "\\-", 2)) {
            *out++ = '-';
            roff += 2;
        } else {
            ck_assert_msg(*roff != '\\', "%s", roff);
            *out++ = *roff++;
        }
    }
    *out = '\0';
}

static void from_page(struct options *o, char *text)
{
    char *rest = NULL, term[LINES];
    bool next = false;
    for (char *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest)) {
        if (next && !strncmp(l, "\\fB\\-\\-", 7)) {
            plain(term, l);
            add(o, term);
        }
        next = strcmp(l, ".TP") == 0;
    }
}

/* Adds what --help of a command lists; of one that has commands, what theirs list. */
static void helped(struct options *o, const char *name)
{
    char args[128];
    snprintf(args, sizeof args, "completion words %s", name);
    struct program_result words = program_run(args);
    if (!strncmp(words.text, "--", 2)) {
        snprintf(args, sizeof args, "%s --help-all", name);
        struct program_result r = program_run(args);
        ck_assert_int_eq(r.code, OPT_EXIT_DONE);
        ck_assert_msg(strstr(r.text, "--json FILE") && strstr(r.text, "exit codes: 0"),
                      "%s: %s", name, r.text);
        from_help(o, r.text);
        program_free(&r);
    } else {
        char *rest = NULL;
        for (char *w = strtok_r(words.text, "\n", &rest); w;
             w = strtok_r(NULL, "\n", &rest)) {
            snprintf(args, sizeof args, "%s %s", name, w);
            helped(o, args);
        }
    }
    program_free(&words);
}

static void compare(const char *name)
{
    struct options *help = calloc(2, sizeof *help), *page = help + 1;
    ck_assert_ptr_nonnull(help);
    char args[64];
    helped(help, name);
    snprintf(args, sizeof args, "man %s", name);
    struct program_result r = program_run(args);
    ck_assert_int_eq(r.code, OPT_EXIT_DONE);
    snprintf(args, sizeof args, "abrd\\-%s \\- ", name);
    ck_assert_ptr_nonnull(strstr(r.text, args));
    from_page(page, r.text);
    program_free(&r);

    ck_assert_int_gt(help->n, 1);
    for (int i = 0; i < help->n && i < page->n; i++)
        ck_assert_str_eq(help->line[i], page->line[i]);
    ck_assert_int_eq(help->n, page->n);
    free(help);
}

TEST(every_option_is_in_the_page)
{
    int n = 0;
    char *rest = NULL;
    struct program_result r = program_run("completion words");
    for (char *w = strtok_r(r.text, "\n", &rest); w; w = strtok_r(NULL, "\n", &rest)) {
        if (!strcmp(w, "help") || !strcmp(w, "man") || !strcmp(w, "version") ||
            !strcmp(w, "completion"))
            continue;
        compare(w);
        n++;
    }
    program_free(&r);
    ck_assert_int_ge(n, 9);
}

TEST(a_page_has_its_parts_and_an_overview_every_command)
{
    program_expect("man doctor", OPT_EXIT_DONE, ".TH ABRD-DOCTOR 8 20");
    program_expect("man serve", OPT_EXIT_DONE, "\n.SH SYNOPSIS\n\\fBabrd serve\\fR ");
    program_expect("man serve", OPT_EXIT_DONE,
                   "\nport to listen on; 0: a free one (default 8080)\n");
    program_expect("man trace", OPT_EXIT_DONE, "\n.SS abrd trace overlap\n");
    program_expect("man lab", OPT_EXIT_DONE, "\n.SS abrd lab shift\n");
    program_expect("man", OPT_EXIT_DONE, "\n.TP\n\\fBabrd\\-emulate(8)\\fR\n");
    program_expect("man nothing", OPT_EXIT_USAGE, "there is no command 'nothing'");
    program_expect("man eval serve", OPT_EXIT_USAGE, "one command");
}

SUITE(cli_cmd_man, every_option_is_in_the_page,
      a_page_has_its_parts_and_an_overview_every_command);
