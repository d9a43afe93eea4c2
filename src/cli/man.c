#include "cli/man.h"

#include "cli/cmd.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Signs that roff would make prettier, or take for its own: what is copied from a page into a
 * shell must be what was meant. */
static void put_sign(char c)
{
    static const struct {
        char sign;
        const char *name;
    } special[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"}, {'"', "\\(dq"},
                   {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (special[i].sign != c) continue;
        fputs(special[i].name, stdout);
        return;
    }
    putchar(c);
}

static void man_put(const char *text, size_t n)
{
    if (n && *text == '.') fputs("\\&", stdout);
    for (size_t i = 0; i < n; i++)
        put_sign(text[i]);
}

static void put_line(const char *text)
{
    man_put(text, strlen(text));
    putchar('\n');
}

void man_section(const char *heading)
{
    printf(".SH %s\n", heading);
}

void man_text(const char *text)
{
    bool as_it_is = false;
    while (*text) {
        size_t n = strcspn(text, "\n");
        bool indented = *text == ' ';
        if (indented != as_it_is) puts(indented ? ".PP\n.nf" : ".fi\n.PP");
        as_it_is = indented;
        if (n) {
            man_put(text, n);
            putchar('\n');
        } else {
            puts(".PP");
        }
        text += n + (text[n] == '\n');
    }
    if (as_it_is) puts(".fi");
}

static void literal(const char *lines)
{
    puts(".nf");
    while (*lines) {
        size_t n = strcspn(lines, "\n");
        man_put(lines, n);
        putchar('\n');
        lines += n + (lines[n] == '\n');
    }
    puts(".fi");
}

void man_begin(const char *name, const char *help)
{
    fputs(".TH ", stdout);
    for (const char *p = name; *p; p++)
        putchar(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    printf(" 8 %s \"abrd %s\" \"abrd\"\n", CMD_DATE, CMD_VERSION);
    man_section("NAME");
    man_put(name, strlen(name));
    fputs(" \\- ", stdout);
    put_line(help);
}

void man_entry(const char *term, const char *text)
{
    puts(".TP");
    fputs("\\fB", stdout);
    man_put(term, strlen(term));
    puts("\\fR");
    put_line(text);
}

static void put_option(const struct opt *o)
{
    char value[OPT_DEFAULT];
    opt_default(value, sizeof value, o);
    puts(".TP");
    fputs("\\fB\\-\\-", stdout);
    man_put(o->name, strlen(o->name));
    fputs("\\fR", stdout);
    if (o->arg) {
        fputs(" \\fI", stdout);
        man_put(o->arg, strlen(o->arg));
        fputs("\\fR", stdout);
    }
    putchar('\n');
    man_put(o->help, strlen(o->help));
    if (*value) {
        fputs(" [", stdout);
        man_put(value, strlen(value));
        putchar(']');
    }
    putchar('\n');
}

static void synopsis(const char *name, const char *rest)
{
    printf("\\fBabrd %s\\fR %s\n", name, rest);
}

void man_command(const struct opt_cmd *c)
{
    bool part = strchr(c->name, ' ') != NULL;
    char rest[160];
    snprintf(rest, sizeof rest, "[options]%s%s", c->args ? " " : "",
             c->args ? c->args : "");
    if (part) {
        printf(".SS abrd %s\n", c->name);
    } else {
        man_section("SYNOPSIS");
    }
    synopsis(c->name, rest);
    if (part)
        puts(".PP");
    else
        man_section("DESCRIPTION");
    man_text(c->about);
    if (!part) man_section("OPTIONS");
    for (const struct opt *o = c->opts; o->name; o++)
        put_option(o);
    put_option(&opt_help);
    if (!c->example) return;
    if (part)
        puts(".PP\nExample:\n.PP");
    else
        man_section("EXAMPLES");
    literal(c->example);
}

void man_group(const char *usage, const char *about, const char *heading)
{
    man_section("SYNOPSIS");
    synopsis(usage, "[options]");
    man_section("DESCRIPTION");
    man_text(about);
    man_section(heading);
}

void man_end(const char *see_also)
{
    man_section("EXIT STATUS");
    char done[8], failed[8], usage[8];
    snprintf(done, sizeof done, "%d", OPT_EXIT_DONE);
    snprintf(failed, sizeof failed, "%d", OPT_EXIT_FAILED);
    snprintf(usage, sizeof usage, "%d", OPT_EXIT_USAGE);
    man_entry(done, "done");
    man_entry(failed, "failed; standard error says what and why");
    man_entry(usage, "wrong usage; nothing was done");
    man_section("SEE ALSO");
    printf("%s\n", see_also);
}
