#include "cli/man.h"

#include "cli/cmd.h"

#include <ctype.h>
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

static void put_option(const struct field *f)
{
    char value[FIELD_TEXT_MAX] = "";
    if (f->to) field_default(value, sizeof value, f, NULL);
    puts(".TP");
    fputs("\\fB\\-\\-", stdout);
    man_put(f->name, strlen(f->name));
    fputs("\\fR", stdout);
    if (f->arg) {
        fputs(" \\fI", stdout);
        man_put(f->arg, strlen(f->arg));
        fputs("\\fR", stdout);
    }
    puts(f->flags & FIELD_LIVE ? " *" : "");
    man_put(f->help, strlen(f->help));
    if (*value) {
        fputs(" (default ", stdout);
        man_put(value, strlen(value));
        putchar(')');
    }
    putchar('\n');
}

static void put_options(const char *heading, const struct field *const *rows, int n)
{
    if (heading) printf(".SS %s\n", heading);
    for (int i = 0; i < n; i++)
        put_option(rows[i]);
}

static void synopsis(const char *name, const char *rest)
{
    printf("\\fBabrd %s\\fR %s\n", name, rest);
}

static void put_terms(const struct opt_cmd *c)
{
    if (!c->terms_heading) return;
    char heading[32];
    size_t n = 0;
    for (; c->terms_heading[n] && n < sizeof heading - 1; n++)
        heading[n] = (char)toupper((unsigned char)c->terms_heading[n]);
    heading[n] = '\0';
    man_section(heading);
    for (const struct opt_term *t = c->terms; t->word; t++) {
        printf(".TP\n\\fB");
        man_put(t->word, strlen(t->word));
        puts("\\fR");
        man_put(t->means, strlen(t->means));
        putchar('\n');
    }
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
    opt_groups(c->opts, true, put_options);
    put_option(&opt_help[0]);
    if (opt_advanced(c->opts)) put_option(&opt_help[1]);
    put_terms(c);
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

/* ---- Markdown ---- */

/* A cell of a table on one line. */
static void put_cell(const char *text)
{
    for (const char *p = text; *p; p++)
        if (*p == '|')
            fputs("\\|", stdout);
        else
            putchar(*p == '\n' ? ' ' : *p);
}

static void put_range(const struct field *f)
{
    for (int i = 0; f->words && f->words[i]; i++)
        printf("%s`%s`", i ? ", " : "", f->words[i]);
    if (f->words) return;
    if (f->lo != 0 || f->hi != 0) printf("%.10g to %.10g", f->lo, f->hi);
    if (f->unit) printf("%s%s", f->lo != 0 || f->hi != 0 ? " " : "", f->unit);
}

static void put_table(const char *heading, const struct field *const *rows, int n)
{
    if (heading) printf("\n### %c%s\n", *heading - 'a' + 'A', heading + 1);
    puts("\n| option | what it does | values | default |\n|---|---|---|---|");
    for (int i = 0; i < n; i++) {
        const struct field *f = rows[i];
        char value[FIELD_TEXT_MAX] = "";
        field_default(value, sizeof value, f, NULL);
        printf("| `--%s", f->name);
        if (f->arg) putchar(' '), put_cell(f->arg);
        printf("`%s | ", f->flags & FIELD_LIVE ? " *" : "");
        put_cell(f->help);
        fputs(" | ", stdout);
        put_range(f);
        printf(" | %s", *value ? "`" : "");
        put_cell(value);
        printf("%s |\n", *value ? "`" : "");
    }
}

void man_markdown(const struct field *opts)
{
    opt_groups(opts, true, put_table);
}
