#include "cli/opt.h"

#include "cli/man.h"
#include "cli/term.h"

#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STOP_HELP = -1, STOP_USAGE = -2, FIRST_VAL = 256 };

int opt_status(int parsed)
{
    return parsed == STOP_HELP ? OPT_EXIT_DONE : OPT_EXIT_USAGE;
}

int opt_usage(const char *name, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%sabrd %s:%s ", term_on(stderr, TERM_BAD), name,
            term_off(stderr, TERM_BAD));
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\ntry 'abrd %s --help'\n", name);
    va_end(ap);
    return OPT_EXIT_USAGE;
}

/* ---- help ---- */

const struct field opt_help[] = {
    {.name = "help", .help = "print this text"},
    {.name = "help-all", .help = "print this text with the advanced options"},
    {0}};

int opt_advanced(const struct field *opts)
{
    int n = 0;
    for (; opts->name; opts++)
        n += (opts->flags & FIELD_ADVANCED) != 0;
    return n;
}

void opt_groups(const struct field *opts, bool advanced,
                void (*each)(const char *heading, const struct field *const *rows, int n))
{
    bool done[FIELD_TABLE_MAX] = {false};
    int n = 0;
    while (opts[n].name)
        n++;
    for (int i = 0; i < n; i++) {
        const struct field *rows[FIELD_TABLE_MAX];
        int found = 0;
        for (int k = i; k < n && !done[i]; k++) {
            const char *a = opts[i].group, *b = opts[k].group;
            if (a != b && (!a || !b || strcmp(a, b) != 0)) continue;
            if (k > i) done[k] = true;
            if (advanced || !(opts[k].flags & FIELD_ADVANCED)) rows[found++] = &opts[k];
        }
        if (found) each(opts[i].group, rows, found);
    }
}

static int left_column(char *buf, size_t n, const struct field *f)
{
    return snprintf(buf, n, "--%s%s%s%s", f->name, f->arg ? " " : "",
                    f->arg ? f->arg : "", f->flags & FIELD_LIVE ? " *" : "");
}

enum { COLUMN = 28, LINE_LEAST = 60, LINE = 100 }; /* columns of the names; of a line */

static void print_heading(const char *heading)
{
    printf("\n%s%s:%s\n", term_on(stdout, TERM_HEADING), heading,
           term_off(stdout, TERM_HEADING));
}

/* Breaks text at its newlines and at the edge of the terminal, at most LINE columns; all lines but the
 * first are indented. */
static void print_wrapped(const char *text, int indent)
{
    int column = indent, edge = term_columns(stdout, LINE_LEAST, LINE);
    while (*text) {
        int word = (int)strcspn(text, " \n"), blanks = (int)strspn(text + word, " ");
        if (column > indent && column + word > edge)
            column = printf("\n%*s", indent, "") - 1;
        column += printf("%.*s", word, text);
        text += word + blanks;
        if (*text == '\n') {
            column = printf("\n%*s", indent, "") - 1;
            text++;
        } else if (blanks && column + blanks + (int)strcspn(text, " \n") <= edge) {
            column += printf("%*s", blanks, "");
        } else if (blanks) {
            column = edge;
        }
    }
}

static void print_option(const struct field *f, int width)
{
    char left[128];
    if (left_column(left, sizeof left, f) > width)
        printf("  %s\n  %-*s  ", left, width, "");
    else
        printf("  %-*s  ", width, left);
    char value[FIELD_TEXT_MAX] = "", help[2 * FIELD_TEXT_MAX];
    if (f->to) field_default(value, sizeof value, f, NULL);
    snprintf(help, sizeof help, *value ? "%s (default %s)" : "%s", f->help, value);
    print_wrapped(help, width + 4);
    putchar('\n');
}

static int widest(const struct field *opts)
{
    char left[128];
    int width = left_column(left, sizeof left, &opt_help[0]);
    for (; opts->name; opts++) {
        int w = left_column(left, sizeof left, opts);
        if (w > width) width = w;
    }
    return width < COLUMN ? width : COLUMN;
}

static void print_group(const char *heading, const struct field *const *rows, int n)
{
    int width = heading ? COLUMN : widest(rows[0]); /* and the rows behind it */
    print_heading(heading ? heading : "options");
    for (int i = 0; i < n; i++)
        print_option(rows[i], width);
}

static void print_indented(const char *text)
{
    printf("  ");
    for (const char *p = text; *p; p++) {
        putchar(*p);
        if (*p == '\n') printf("  ");
    }
    putchar('\n');
}

static void print_terms(const struct opt_cmd *c)
{
    if (!c->terms_heading) return;
    int width = 0;
    for (const struct opt_term *t = c->terms; t->word; t++)
        if ((int)strlen(t->word) > width) width = (int)strlen(t->word);
    print_heading(c->terms_heading);
    for (const struct opt_term *t = c->terms; t->word; t++) {
        printf("  %-*s  ", width, t->word);
        print_wrapped(t->means, width + 4);
        putchar('\n');
    }
}

static void print_help(const struct opt_cmd *c, bool all)
{
    int hidden = opt_advanced(c->opts);
    printf("usage: abrd %s [options]%s%s\n\n%s\n", c->name, c->args ? " " : "",
           c->args ? c->args : "", c->about);
    opt_groups(c->opts, all, print_group);
    if (!c->opts->name) print_heading("options");
    const struct field *last =
        c->opts; /* the first row of the last table, which has no heading */
    while (last->group)
        last++;
    int width = widest(last);
    print_option(&opt_help[0], width);
    if (hidden) print_option(&opt_help[1], width);
    print_terms(c);
    if (c->example) {
        print_heading("example");
        print_indented(c->example);
    }
    printf("\nexit codes: %d done, %d failed, %d wrong usage\n", OPT_EXIT_DONE,
           OPT_EXIT_FAILED, OPT_EXIT_USAGE);
    if (hidden && !all)
        printf("%d advanced options are not shown: abrd %s --help-all\n", hidden,
               c->name);
}

/* ---- names ---- */

/* How many options begin with this text. */
static int beginnings(const struct opt_cmd *c, const char *text)
{
    int n = 0;
    for (const struct field *o = c->opts; o->name; o++)
        n += strncmp(o->name, text, strlen(text)) == 0;
    return n;
}

static int unknown_option(const struct opt_cmd *c, const char *given)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    const char *plain = name + strspn(name, "-");

    const char *meant = field_nearest(c->opts, plain);
    if (beginnings(c, plain) > 1)
        opt_usage(c->name, "%s matches more than one option; write the whole name", name);
    else if (meant)
        opt_usage(c->name, "unknown option %s; did you mean --%s?", name, meant);
    else
        opt_usage(c->name, "unknown option %s", name);
    return STOP_USAGE;
}

static int check_count(const struct opt_cmd *c, int n, const char *first)
{
    if (n && !c->args) {
        opt_usage(c->name, "'%s' is not an option, and this command takes options only",
                  first);
        return STOP_USAGE;
    }
    if (n < c->min_args) {
        opt_usage(c->name, "%s is missing", c->args);
        return STOP_USAGE;
    }
    if (c->max_args && n > c->max_args) {
        opt_usage(c->name, "too many arguments: %d, at most %d", n, c->max_args);
        return STOP_USAGE;
    }
    return 0;
}

/* Two outputs would mix on standard output. */
static int check_outputs(const struct opt_cmd *c)
{
    const struct field *first = NULL;
    for (const struct field *o = c->opts; o->name; o++) {
        if (!(o->flags & FIELD_OUTPUT)) continue;
        const char *path = *(const char *const *)o->to;
        if (!path || strcmp(path, "-") != 0) continue;
        if (first) {
            opt_usage(c->name, "--%s and --%s cannot both be -", first->name, o->name);
            return STOP_USAGE;
        }
        first = o;
    }
    return 0;
}

static int print_words(const struct opt_cmd *c)
{
    for (const struct field *o = c->opts; o->name; o++)
        printf("--%s\n", o->name);
    puts(opt_advanced(c->opts) ? "--help\n--help-all" : "--help");
    return STOP_HELP;
}

int opt_parse(const struct opt_cmd *c, int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], OPT_WORDS)) return print_words(c);
    if (argc == 2 && !strcmp(argv[1], OPT_MAN)) {
        man_command(c);
        return STOP_HELP;
    }
    if (argc == 2 && !strcmp(argv[1], OPT_MARKDOWN)) {
        man_markdown(c->opts);
        return STOP_HELP;
    }
    struct option longs[FIELD_TABLE_MAX + 3] = {{0}};
    bool met[FIELD_TABLE_MAX] = {false};
    int n = 0;
    for (const struct field *o = c->opts; o->name; o++, n++) {
        assert(n < FIELD_TABLE_MAX);
        longs[n] = (struct option){o->name, o->arg ? required_argument : no_argument,
                                   NULL, FIRST_VAL + n};
    }
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};
    longs[n + 1] = (struct option){"help-all", no_argument, NULL, 'H'};

    optind = 0; /* glibc: forget the last table */
    opterr = 0;
    for (;;) {
        int got = getopt_long(argc, argv, ":h", longs, NULL);
        if (got == -1) break;
        if (got == 'h' || got == 'H') {
            print_help(c, got == 'H');
            return STOP_HELP;
        }
        if (got == ':' || (got == '?' && optopt >= FIRST_VAL)) {
            const struct field *o = &c->opts[optopt - FIRST_VAL];
            if (got == ':')
                opt_usage(c->name, "--%s needs a value: --%s %s", o->name, o->name,
                          o->arg);
            else
                opt_usage(c->name, "--%s takes no value", o->name);
            return STOP_USAGE;
        }
        if (got == '?') {
            char letter[] = {'-', (char)optopt, '\0'};
            return unknown_option(c, optopt ? letter : argv[optind - 1]);
        }

        struct err e = {0};
        int k = got - FIRST_VAL;
        if (field_read(&c->opts[k], optarg, met[k], &e)) {
            opt_usage(c->name, "--%s: %s", e.field, e.detail);
            return STOP_USAGE;
        }
        met[k] = true;
    }
    int rc = check_count(c, argc - optind, argv[optind]);
    if (!rc) rc = check_outputs(c);
    return rc ? rc : optind;
}
