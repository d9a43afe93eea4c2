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

/* ---- plain text ---- */

enum { INDENT = 7, TERM_INDENT = 14, PLAIN_WORD = 512 };

/* Where the next word goes. */
struct plain_at {
    const struct man_plain *how;
    int indent, column; /* column 0: at the start of a line */
    bool as_it_is;      /* .nf: lines are not filled */
    bool term;          /* .TP: the next line is a term */
};

static void plain_break(struct plain_at *at)
{
    if (at->column) putchar('\n');
    at->column = 0;
}

/* One word without the escapes of roff; the signs that our pages use. */
static int plain_word(char out[PLAIN_WORD], const char *word, size_t n)
{
    static const struct {
        const char *name, *sign;
    } signs[] = {{"\\e", "\\"},  {"\\-", "-"},   {"\\(aq", "'"}, {"\\(dq", "\""},
                 {"\\(ga", "`"}, {"\\(ha", "^"}, {"\\(ti", "~"}, {"\\&", ""},
                 {"\\fB", ""},   {"\\fI", ""},   {"\\fR", ""}};
    int used = 0;
    for (size_t i = 0; i < n && used < PLAIN_WORD - 1;) {
        size_t k = 0, known = sizeof signs / sizeof *signs;
        while (k < known && strncmp(word + i, signs[k].name, strlen(signs[k].name)) != 0)
            k++;
        if (k < known) {
            if (*signs[k].sign) out[used++] = *signs[k].sign;
            i += strlen(signs[k].name);
        } else {
            out[used++] = word[i++];
        }
    }
    out[used] = '\0';
    return used;
}

static void plain_put(struct plain_at *at, const char *line, size_t n)
{
    char word[PLAIN_WORD];
    if (at->as_it_is) {
        int used = plain_word(word, line, n);
        printf("%*s%.*s\n", at->indent, "", used, word);
        return;
    }
    while (n) {
        size_t blanks = strspn(line, " "), length;
        if (blanks > n) blanks = n;
        line += blanks;
        n -= blanks;
        length = strcspn(line, " \n");
        if (length > n) length = n;
        if (!length) continue;
        int used = plain_word(word, line, length);
        if (at->column && at->column + 1 + used > at->how->columns) plain_break(at);
        at->column +=
            at->column ? printf(" %s", word) : printf("%*s%s", at->indent, "", word);
        line += length;
        n -= length;
    }
}

static void plain_bold(struct plain_at *at, int indent, const char *line, size_t n)
{
    char words[PLAIN_WORD];
    plain_word(words, line, n);
    printf("%*s%s%s%s\n", indent, "", at->how->bold_on, words, at->how->bold_off);
}

/* A line that begins with a point. */
static void plain_request(struct plain_at *at, const char *line, size_t n)
{
    bool section = !strncmp(line, ".SH ", 4), part = !strncmp(line, ".SS ", 4);
    plain_break(at);
    if (section || part) {
        putchar('\n');
        plain_bold(at, section ? 0 : 3, line + 4, n - 4);
        at->indent = INDENT;
    } else if (!strncmp(line, ".TP", 3)) {
        putchar('\n');
        at->term = true;
    } else if (!strncmp(line, ".PP", 3)) {
        putchar('\n');
        at->indent = INDENT;
    } else if (!strncmp(line, ".nf", 3) || !strncmp(line, ".fi", 3)) {
        at->as_it_is = line[1] == 'n';
    }
}

void man_plain(const char *roff, const struct man_plain *how)
{
    struct plain_at at = {.how = how, .indent = INDENT};
    while (*roff) {
        size_t n = strcspn(roff, "\n");
        if (*roff == '.') {
            plain_request(&at, roff, n);
        } else if (at.term) {
            plain_bold(&at, INDENT, roff, n);
            at.indent = TERM_INDENT;
            at.term = false;
        } else {
            plain_put(&at, roff, n);
        }
        roff += n + (roff[n] == '\n');
    }
    plain_break(&at);
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
