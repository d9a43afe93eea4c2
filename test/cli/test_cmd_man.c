/* The manual page of every command has what its --help-all has. */
#include "base/text.h"
#include "cli/opt.h"
#include "support/program.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINES = 4096, OPTIONS = 256 };

/* One line for each option, "--port N", in order. */
struct options {
    int n;
    char line[OPTIONS][160];
};

static void add(struct options *o, const char *text)
{
    ck_assert_int_lt(o->n, OPTIONS);
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
    program_expect("man nothing", OPT_EXIT_USAGE, "there is no command 'nothing'\n");
    program_expect("man srve", OPT_EXIT_USAGE, "did you mean 'serve'?");
    program_expect("man eval serve", OPT_EXIT_USAGE, "one command");
}

/* A folder with programs for PATH; text NULL: without that program. */
static const char *path_with(const char *man, const char *less)
{
    const char *dir = tmpdir_new();
    const struct {
        const char *name, *text;
    } programs[] = {{"man", man}, {"less", less}};
    for (size_t i = 0; i < 2; i++) {
        if (!programs[i].text) continue;
        const char *path = tmpdir_path(dir, programs[i].name);
        struct err e = {0};
        ck_assert_int_eq(
            text_write_file(path, programs[i].text, strlen(programs[i].text), &e), 0);
        ck_assert_int_eq(chmod(path, 0755), 0);
    }
    return dir;
}

/* `abrd man serve` on a terminal of 80 columns with that PATH. */
static struct program_result shown(const char *dir, const char *env)
{
    char words[1024];
    snprintf(words, sizeof words, "%s PATH=%s", env, dir);
    struct program_result r = program_on_terminal(words, "man serve", 80);
    ck_assert_msg(r.code == OPT_EXIT_DONE, "exit %d\n%s", r.code, r.text);
    return r;
}

TEST(on_a_terminal_man_shows_the_page)
{
    const char *dir = path_with("#!/bin/sh\nread line\necho \"shown by man $*: $line\"\n",
                                "#!/bin/sh\necho less\n");
    struct program_result r = shown(dir, ""); /* it leaves the rest of the page unread */
    ck_assert_msg(strstr(r.text, "shown by man -l -: .TH ABRD-SERVE 8 20") == r.text,
                  "%s", r.text);
    ck_assert_ptr_null(strstr(r.text, ".SH"));
    program_free(&r);
}

TEST(without_man_less_gets_plain_text)
{
    const char *dir =
        path_with(NULL, "#!/bin/sh\necho \"less $*\"\nwhile IFS= read -r line; do "
                        "printf '%s\\n' \"$line\"; done\n");
    struct program_result r = shown(dir, "NO_COLOR=1");
    ck_assert_msg(strstr(r.text, "less -R\r\n\r\nNAME\r\n       abrd-serve - ") == r.text,
                  "%.200s", r.text);
    ck_assert_ptr_nonnull(strstr(r.text, "\r\n       --port N\r\n              port to "
                                         "listen on; 0: a free one (default 8080)\r\n"));
    ck_assert_ptr_null(strstr(r.text, "\\f"));
    ck_assert_ptr_null(strchr(r.text, '\x1b'));
    program_free(&r);
}

TEST(without_any_pager_the_terminal_gets_plain_text)
{
    struct program_result r = shown(path_with(NULL, NULL), "");
    ck_assert_msg(strstr(r.text, "\r\n\x1b[1mNAME\x1b[0m\r\n       abrd-serve - ") ==
                      r.text,
                  "%.200s", r.text);
    program_free(&r);
}

SUITE(cli_cmd_man, every_option_is_in_the_page, on_a_terminal_man_shows_the_page,
      without_man_less_gets_plain_text, without_any_pager_the_terminal_gets_plain_text,
      a_page_has_its_parts_and_an_overview_every_command);
