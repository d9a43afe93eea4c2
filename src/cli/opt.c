#include "cli/opt.h"

#include "base/text.h"
#include "cli/man.h"

#include <assert.h>
#include <float.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
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
    fprintf(stderr, "abrd %s: ", name);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\ntry 'abrd %s --help'\n", name);
    va_end(ap);
    return OPT_EXIT_USAGE;
}

/* ---- help ---- */

const struct opt opt_help = {.name = "help", .help = "this text"};

void opt_default(char *buf, size_t n, const struct opt *o)
{
    *buf = '\0';
    if (o->shown) {
        snprintf(buf, n, "%s", o->shown);
    } else if (o->i) {
        snprintf(buf, n, "%d", *o->i);
    } else if (o->i64) {
        snprintf(buf, n, "%lld", (long long)*o->i64);
    } else if (o->u64) {
        snprintf(buf, n, "%llu", (unsigned long long)*o->u64);
    } else if (o->d) {
        if (isfinite(*o->d)) snprintf(buf, n, "%g", *o->d);
    } else if (o->text) {
        if (*o->text) snprintf(buf, n, "%s", *o->text);
    } else if (o->list) {
        size_t at = 0;
        for (int i = 0; i < o->list->n && at < n; i++)
            at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? "," : "",
                                   o->list->item[i]);
    }
}

static int left_column(char *buf, size_t n, const struct opt *o)
{
    return snprintf(buf, n, "--%s%s%s", o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

/* the help text may have several lines: all but the first are indented */
static void print_option(const struct opt *o, int width)
{
    char left[128];
    left_column(left, sizeof left, o);
    printf("  %-*s  ", width, left);
    for (const char *p = o->help; *p; p++) {
        putchar(*p);
        if (*p == '\n') printf("  %-*s  ", width, "");
    }
    char value[OPT_DEFAULT];
    opt_default(value, sizeof value, o);
    if (*value) printf(" [%s]", value);
    putchar('\n');
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

static void print_help(const struct opt_cmd *c)
{
    char left[128];
    int width = left_column(left, sizeof left, &opt_help);
    for (const struct opt *o = c->opts; o->name; o++) {
        int w = left_column(left, sizeof left, o);
        if (w > width) width = w;
    }

    printf("usage: abrd %s [options]%s%s\n\n%s\n\noptions:\n", c->name,
           c->args ? " " : "", c->args ? c->args : "", c->about);
    for (const struct opt *o = c->opts; o->name; o++)
        print_option(o, width);
    print_option(&opt_help, width);
    if (c->example) {
        printf("\nexample:\n");
        print_indented(c->example);
    }
    printf("\nexit codes: %d done, %d failed, %d wrong usage\n", OPT_EXIT_DONE,
           OPT_EXIT_FAILED, OPT_EXIT_USAGE);
}

/* ---- values ---- */

static int set_list(struct opt_list *l, char *value, bool whole, const char *what,
                    struct err *e)
{
    char *rest = NULL;
    if (whole && *value && l->n < OPT_LIST_MAX) {
        l->item[l->n++] = value;
        return 0;
    }
    for (char *item = strtok_r(value, ",", &rest); item;
         item = strtok_r(NULL, ",", &rest)) {
        if (l->n == OPT_LIST_MAX)
            return err_field(e, ERR_RANGE, what, "more than %d items", OPT_LIST_MAX);
        l->item[l->n++] = item;
    }
    if (!l->n) return err_field(e, ERR_INVALID, what, "an empty list");
    return 0;
}

/* `again`: the option was met before, so a list grows instead of losing its default */
static int set_value(const struct opt *o, char *value, bool again, struct err *e)
{
    char what[80];
    snprintf(what, sizeof what, "--%s", o->name);
    bool any = o->lo == 0 && o->hi == 0;

    if (o->flag) {
        *o->flag = true;
        return 0;
    }
    if (o->text) {
        *o->text = value;
        return 0;
    }
    if (o->list) {
        if (!again) o->list->n = 0;
        return set_list(o->list, value, o->whole, what, e);
    }
    if (o->u64) return text_u64(o->u64, value, what, e);
    if (o->d) {
        double least = any ? -DBL_MAX : o->lo, most = any ? DBL_MAX : o->hi;
        return text_double(o->d, value, least, most, what, e);
    }
    int64_t *wide = o->i64, v = 0;
    int64_t least = wide ? INT64_MIN : INT_MIN, most = wide ? INT64_MAX : INT_MAX;
    int rc = text_int(&v, value, any ? least : (int64_t)o->lo,
                      any ? most : (int64_t)o->hi, what, e);
    if (rc) return rc;
    if (wide)
        *wide = v;
    else
        *o->i = (int)v;
    return 0;
}

/* ---- names ---- */

/* how many options begin with this text */
static int beginnings(const struct opt_cmd *c, const char *text)
{
    int n = 0;
    for (const struct opt *o = c->opts; o->name; o++)
        n += strncmp(o->name, text, strlen(text)) == 0;
    return n;
}

static const char *nearest(const struct opt_cmd *c, const char *text)
{
    const char *found = NULL;
    int best = 3; /* farther than two typing mistakes is another word */
    for (const struct opt *o = c->opts; o->name; o++) {
        int d = text_distance(text, o->name);
        if (d < best) {
            best = d;
            found = o->name;
        }
    }
    return found;
}

static int unknown_option(const struct opt_cmd *c, const char *given)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(given, "="), given);
    const char *plain = name + strspn(name, "-");

    const char *meant = nearest(c, plain);
    if (beginnings(c, plain) > 1)
        opt_usage(c->name, "%s may be more than one option; write it out", name);
    else if (meant)
        opt_usage(c->name, "unknown option %s; did you mean --%s?", name, meant);
    else
        opt_usage(c->name, "unknown option %s", name);
    return STOP_USAGE;
}

static int check_count(const struct opt_cmd *c, int n, const char *first)
{
    if (n && !c->args) {
        opt_usage(c->name, "what is '%s'? this command takes options only", first);
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

/* Two that write to standard output would write into each other. */
static int check_outputs(const struct opt_cmd *c)
{
    const struct opt *first = NULL;
    for (const struct opt *o = c->opts; o->name; o++) {
        if (!o->output || !*o->text || strcmp(*o->text, "-") != 0) continue;
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
    for (const struct opt *o = c->opts; o->name; o++)
        printf("--%s\n", o->name);
    puts("--help");
    return STOP_HELP;
}

int opt_parse(const struct opt_cmd *c, int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], OPT_WORDS)) return print_words(c);
    if (argc == 2 && !strcmp(argv[1], OPT_MAN)) {
        man_command(c);
        return STOP_HELP;
    }
    struct option longs[OPT_TABLE_MAX + 2] = {{0}};
    bool met[OPT_TABLE_MAX] = {false};
    int n = 0;
    for (const struct opt *o = c->opts; o->name; o++, n++) {
        assert(n < OPT_TABLE_MAX);
        longs[n] = (struct option){o->name, o->flag ? no_argument : required_argument,
                                   NULL, FIRST_VAL + n};
    }
    longs[n] = (struct option){"help", no_argument, NULL, 'h'};

    optind = 0; /* glibc: forget the last table */
    opterr = 0;
    for (;;) {
        int got = getopt_long(argc, argv, ":h", longs, NULL);
        if (got == -1) break;
        if (got == 'h') {
            print_help(c);
            return STOP_HELP;
        }
        if (got == ':' || (got == '?' && optopt >= FIRST_VAL)) {
            const struct opt *o = &c->opts[optopt - FIRST_VAL];
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
        if (set_value(&c->opts[k], optarg, met[k], &e)) {
            opt_usage(c->name, "%s: %s", e.field, e.detail);
            return STOP_USAGE;
        }
        met[k] = true;
    }
    int rc = check_count(c, argc - optind, argv[optind]);
    if (!rc) rc = check_outputs(c);
    return rc ? rc : optind;
}
