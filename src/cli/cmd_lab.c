/* abrd lab: reproductions of papers, each with a report. */
#include "lab/forgetting/edge.h"
#include "lab/forgetting/forgetting.h"
#include "lab/gates/gates.h"
#include "lab/shift/shift.h"
#include "lab/lab.h"
#include "lab/merge/merge.h"
#include "lab/scale.h"
#include "lab/tracking/tracking.h"
#include "lab/trials/trials.h"

#include "base/clock.h"
#include "base/pool.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/home.h"
#include "cli/interrupt.h"
#include "cli/man.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/page.h"
#include "cli/progress.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One line per lab. */
static const struct lab *const all_labs[] = {
    &edge_lab,  &forgetting_lab, &gates_lab,  &merge_lab, &scale_lab,
    &shift_lab, &tracking_lab,   &trials_lab, NULL,
};

enum { OPTIONS = FIELD_TABLE_MAX - 10, HELP = 160 };

_Static_assert(LAB_PATH == HOME_PATH, "lab_find hands its buffer to home_find");

/* The parsed value of an option, in the member of its kind. */
struct target {
    bool flag;
    int64_t i64;
    double real;
    const char *text;
};

struct work {
    const struct lab *lab;
    char name[80]; /* "lab shift" */
    const char *out;
    struct out_cfg rows;
    bool quick, quiet;
    int threads;
    uint64_t seed;
    struct target target[OPTIONS];
    char help[OPTIONS][HELP];
    struct lab_value value[OPTIONS];
    char runs_dir[LAB_PATH];
    struct report_assets assets;
    struct progress progress;
    struct progress_cpu cpu;
};

/* ---- options ---- */

static int options_of(const struct lab *lab)
{
    int n = 0;
    while (lab->options && lab->options[n].name)
        n++;
    assert(n < OPTIONS);
    return n;
}

static const char *text_default(const struct lab_option *o, bool quick)
{
    return quick && o->quick_text ? o->quick_text : o->text;
}

/* The help also has the value with --quick. */
static void lab_describe(char out[HELP], const struct lab_option *o)
{
    const char *full = o->text ? o->text : "", *quick = text_default(o, true);
    if (o->kind == LAB_TEXT && strcmp(full, quick ? quick : "") != 0)
        snprintf(out, HELP, "%s; %s with --quick", o->help, quick);
    else if (o->kind == LAB_FLAG && o->quick != o->value)
        snprintf(out, HELP, "%s; implied by --quick", o->help);
    else if (o->kind != LAB_TEXT && o->quick != o->value)
        snprintf(out, HELP, "%s; %.10g with --quick", o->help, o->quick);
    else
        snprintf(out, HELP, "%s", o->help);
}

static void set_defaults(struct work *w, bool quick)
{
    for (int i = 0; i < options_of(w->lab); i++) {
        const struct lab_option *o = &w->lab->options[i];
        double v = quick ? o->quick : o->value;
        w->target[i] = (struct target){
            .flag = v != 0, .i64 = (int64_t)v, .real = v, .text = text_default(o, quick)};
    }
}

static void put_option(struct field *out, struct work *w, int i)
{
    const struct lab_option *o = &w->lab->options[i];
    struct target *t = &w->target[i];
    lab_describe(w->help[i], o);
    switch (o->kind) {
    case LAB_FLAG:
        *out = (struct field){FIELD_TO(t->flag)};
        break;
    case LAB_INT:
        *out = (struct field){FIELD_TO(t->i64)};
        break;
    case LAB_REAL:
        *out = (struct field){FIELD_TO(t->real)};
        break;
    case LAB_TEXT:
        *out = (struct field){FIELD_TO(t->text)};
        break;
    }
    out->name = o->name;
    out->arg = o->arg;
    out->help = w->help[i];
    out->lo = o->lo;
    out->hi = o->hi;
}

static void keep_values(struct work *w)
{
    for (int i = 0; i < options_of(w->lab); i++) {
        const struct target *t = &w->target[i];
        struct lab_value *v = &w->value[i];
        switch (w->lab->options[i].kind) {
        case LAB_FLAG:
            v->number = t->flag;
            break;
        case LAB_INT:
            v->number = (double)t->i64;
            break;
        case LAB_REAL:
            v->number = t->real;
            break;
        case LAB_TEXT:
            v->text = t->text;
            break;
        }
    }
}

/* Exit code, or -1 to go on. */
static int parse(struct work *w, int argc, char **argv)
{
    const struct field of_runs[] = {
        {"quick", NULL, "run a smaller version, which takes seconds", FIELD_TO(w->quick)},
        {"seed", "N", "seed of all random numbers", FIELD_TO(w->seed)},
        {"threads", "N", "runs that are computed at the same time", FIELD_TO(w->threads),
         .lo = 1, .hi = POOL_THREADS, .shown = "one per processor"},
    };
    enum { OF_RUNS = sizeof of_runs / sizeof *of_runs };
    const struct field common[] = {
        {"out", "DIR",
         "folder for the report, its CSV and JSON, and finished runs (default: none)",
         FIELD_TO(w->out)},
        OPT_QUIET(w->quiet),
        OUT_OPTIONS(w->rows),
    };
    enum { COMMON = sizeof common / sizeof *common };
    struct field opts[FIELD_TABLE_MAX + 1] = {{0}};
    int n = options_of(w->lab);
    for (int i = 0; i < n; i++)
        put_option(&opts[i], w, i);
    if (!w->lab->exact) {
        memcpy(opts + n, of_runs, sizeof of_runs);
        n += OF_RUNS;
    }
    memcpy(opts + n, common, sizeof common);

    char about[512], example[128];
    snprintf(about, sizeof about, "%s.\n%s", w->lab->about, w->lab->source);
    snprintf(example, sizeof example, "abrd lab %s%s --out DIR", w->lab->name,
             w->lab->exact ? "" : " --quick");
    const struct opt_cmd cmd = {
        .name = w->name, .about = about, .opts = opts, .example = example};

    /* with --quick once more, so that it changes only what was not given */
    set_defaults(w, false);
    int first = opt_parse(&cmd, argc, argv);
    if (first >= 0 && w->quick) {
        set_defaults(w, true);
        first = opt_parse(&cmd, argc, argv);
    }
    if (first < 0) return opt_status(first);
    keep_values(w);
    return -1;
}

/* ---- the folder and the assets of the page ---- */

static int make_folder(const char *dir, struct err *e)
{
    char path[LAB_PATH];
    if (snprintf(path, sizeof path, "%s", dir) >= (int)sizeof path)
        return err_field(e, ERR_RANGE, "--out", "the path is too long");
    for (char *c = path + 1;; c++) {
        if (*c && *c != '/') continue;
        char was = *c;
        *c = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            return err_field(e, ERR_IO, path, "cannot be created: %s", strerror(errno));
        *c = was;
        if (!was) return 0;
    }
}

/* Finds everything that can go wrong with --out before hours of work. */
static int prepare(struct work *w, struct err *e)
{
    if (!w->out) return 0;
    int rc = page_assets(&w->assets, e);
    if (rc) return rc;
    if (snprintf(w->runs_dir, sizeof w->runs_dir, "%s/runs/%s", w->out, w->lab->name) >=
        (int)sizeof w->runs_dir)
        return err_field(e, ERR_RANGE, "--out", "the path is too long");
    return make_folder(w->runs_dir, e);
}

/* ---- running ---- */

static bool lab_show_progress(void *ctx, double share, const char *note)
{
    struct work *w = ctx;
    progress_show(&w->progress, share, note);
    progress_cpu_note(&w->cpu, clock_cpu(), note);
    return interrupt_seen();
}

static void lab_say(void *ctx, const char *line)
{
    struct work *w = ctx;
    progress_end(&w->progress);
    fprintf(stderr, "%s: %s\n", w->lab->name, line);
}

static int find_file(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    (void)ctx;
    return home_find(out, rel, e);
}

/* The parameters of the figures, and the shortest command that repeats them. */
static void put_params(struct report *r, const struct work *w)
{
    char command[1024], one[256];
    size_t at = (size_t)snprintf(command, sizeof command, "abrd lab %s", w->lab->name);
    if (!w->lab->exact)
        at += (size_t)snprintf(command + at, sizeof command - at, "%s --seed %" PRIu64,
                               w->quick ? " --quick" : "", w->seed);
    for (int i = 0; i < options_of(w->lab); i++) {
        const struct lab_option *o = &w->lab->options[i];
        const struct lab_value *v = &w->value[i];
        const char *otherwise = text_default(o, w->quick);
        if (o->kind == LAB_TEXT) {
            if (!v->text || (otherwise && strcmp(otherwise, v->text) == 0)) continue;
            snprintf(one, sizeof one, " --%s '%s'", o->name, v->text);
        } else {
            if (v->number == (w->quick ? o->quick : o->value)) continue;
            if (o->kind == LAB_FLAG)
                snprintf(one, sizeof one, " --%s", o->name);
            else
                snprintf(one, sizeof one, " --%s %.12g", o->name, v->number);
        }
        int n = snprintf(command + at, sizeof command - at, "%s", one);
        if (at + (size_t)n < sizeof command) at += (size_t)n;
    }
    report_param(r, "command", "%s", command);
    report_param(r, "version", "%s", CMD_VERSION);
    report_param(r, "source", "%s", w->lab->source);
    if (!w->lab->exact) report_param(r, "seed", "%" PRIu64, w->seed);
    for (int i = 0; i < options_of(w->lab); i++) {
        const struct lab_option *o = &w->lab->options[i];
        const struct lab_value *v = &w->value[i];
        switch (o->kind) {
        case LAB_FLAG:
            report_param(r, o->name, "%s", v->number != 0 ? "yes" : "no");
            break;
        case LAB_INT:
            report_param_int(r, o->name, (int64_t)v->number);
            break;
        case LAB_REAL:
            report_param_real(r, o->name, v->number);
            break;
        case LAB_TEXT:
            report_param(r, o->name, "%s", v->text ? v->text : "-");
            break;
        }
    }
}

static int stopped(const struct work *w)
{
    fprintf(stderr, "abrd %s: stopped; %s\n", w->name,
            w->out ? "the same command resumes it"
                   : "nothing was saved; --out DIR saves finished runs");
    return OPT_EXIT_FAILED;
}

/* ---- what is printed ---- */

static int print_table(const struct report *r, int table, struct err *e)
{
    struct out *o = out_new(&(struct out_cfg){0}, e);
    if (!o) return ERR_MEMORY;
    const char *column, *shown;
    char buf[64];
    for (int row = 0; row < report_rows(r, table); row++) {
        out_row(o);
        for (int k = 0; (column = report_column(r, table, k)); k++)
            out_text(o, column,
                     (shown = report_shown(buf, r, table, row, k)) ? shown : "");
    }
    int rc = out_finish(o, e);
    out_free(o);
    if (report_rows(r, table)) putchar('\n');
    return rc;
}

static int put_checks(struct out *o, const struct report *r, struct err *e)
{
    for (int i = 0; i < report_checks(r); i++) {
        struct report_check c = report_check_at(r, i);
        out_row(o);
        out_text(o, "check", c.name);
        out_real(o, "value", c.value, OUT_SHORT);
        out_real(o, "low", c.low, OUT_SHORT);
        out_real(o, "high", c.high, OUT_SHORT);
        out_text(o, "result", c.pass ? "pass" : "FAILS");
    }
    return out_finish(o, e);
}

/* The first table and the checks; all tables if there is no report. Standard output for a program gets
 * only the checks. */
static int print(const struct work *w, struct out *o, const struct report *r,
                 struct err *e)
{
    int tables = report_tables(r), rc = 0;
    if (w->out && tables > 1) tables = 1;
    if (out_takes_stdout(o)) tables = 0;
    for (int t = 0; t < tables && !rc; t++)
        rc = print_table(r, t, e);
    if (!rc) rc = put_checks(o, r, e);
    if (rc) return rc;
    char words[REPORT_CLAIMS_WORDS];
    struct report_claims claims = report_claims(r);
    out_say(o, "our checks: %d of %d pass", report_checks(r) - report_checks_failed(r),
            report_checks(r));
    if (report_claims_say(words, &claims)) out_say(o, "%s", words);
    if (w->out)
        out_say(o, "report: %s/%s.html", w->out, w->lab->name);
    else
        out_say(
            o,
            "no report was written; --out DIR writes one with figures and all numbers");
    return 0;
}

static void print_spent(const struct work *w)
{
    char line[512];
    progress_cpu_line(line, sizeof line, &w->cpu, clock_cpu());
    fprintf(stderr, "%s: %s\n", w->lab->name, line);
}

static int lab_run(struct work *w)
{
    struct err e = {0};
    if (prepare(w, &e)) return cmd_fail(w->name, &e);
    struct out *o = out_new(&w->rows, &e);
    struct report *r = o ? report_new(w->lab->name, w->lab->title, &e) : NULL;
    if (!r) {
        out_free(o);
        return cmd_fail(w->name, &e);
    }
    put_params(r, w);

    struct lab_task task = {.lab = w->lab,
                            .value = w->value,
                            .report = r,
                            .runs_dir = w->out ? w->runs_dir : NULL,
                            .version = CMD_VERSION,
                            .quick = w->quick,
                            .threads = w->threads,
                            .seed = w->seed,
                            .progress = lab_show_progress,
                            .say = lab_say,
                            .find = find_file,
                            .ctx = w};
    interrupt_catch();
    progress_init(&w->progress, w->lab->name, w->quiet);
    int rc = w->lab->run(&task, &e);
    progress_end(&w->progress);

    if (!rc && w->out) rc = report_write(r, w->out, &w->assets, &e);
    if (!rc) rc = print(w, o, r, &e);
    if (!rc) print_spent(w);
    int code = rc == LAB_STOPPED         ? stopped(w)
               : rc                      ? cmd_fail(w->name, &e)
               : report_checks_failed(r) ? OPT_EXIT_FAILED
                                         : OPT_EXIT_DONE;
    report_free(r);
    out_free(o);
    return code;
}

/* ---- which lab ---- */

static void print_labs(FILE *f, const struct lab *const *table)
{
    const struct lab *const *first = table;
    fputs(
        "Reproduces experiments of papers, and computes the cost of a cluster. Each lab\n"
        "computes figures, checks them, and writes a report for the browser (--out "
        "DIR).\n"
        "\n"
        "usage: abrd lab NAME [options]\n"
        "\n"
        "labs:\n",
        f);
    for (; *table; table++)
        fprintf(f, "  %-10s  %s\n", (*table)->name, (*table)->about);
    fprintf(f, "\nexample:\n  abrd lab %s --out DIR\n", (*first)->name);
    fputs("\n"
          "abrd lab NAME --help lists the options of a lab. Exit codes: 0 all checks "
          "pass,\n"
          "1 a check or the run failed, 2 wrong usage.\n",
          f);
}

static void print_names(const struct lab *const *table)
{
    for (; *table; table++)
        puts((*table)->name);
}

static int print_page(const struct lab *const *table)
{
    man_group(
        "lab NAME",
        "Reproduces experiments of papers, and computes the cost of a cluster. Each lab\n"
        "computes figures, checks them, and writes a report for the browser (--out "
        "DIR).\n"
        "After an interruption the same command continues. Exits with 1 if a check "
        "fails.",
        "LABS");
    int code = OPT_EXIT_DONE;
    for (int i = 0; table[i] && code == OPT_EXIT_DONE; i++) {
        char lab[] = "lab", name[64], ask[] = OPT_MAN;
        snprintf(name, sizeof name, "%s", table[i]->name);
        char *asked[] = {lab, name, ask, NULL};
        code = cmd_lab_of(table, 3, asked);
    }
    return code;
}

int cmd_lab_of(const struct lab *const *table, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        print_labs(stderr, table);
        return OPT_EXIT_USAGE;
    }
    if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
        print_labs(stdout, table);
        return OPT_EXIT_DONE;
    }
    if (!strcmp(name, OPT_MAN)) return print_page(table);
    if (!strcmp(name, OPT_WORDS)) {
        print_names(table);
        return OPT_EXIT_DONE;
    }
    while (*table && strcmp((*table)->name, name) != 0)
        table++;
    if (!*table) return opt_usage("lab", "there is no lab '%s'", name);

    struct work *w = calloc(1, sizeof *w);
    if (!w) {
        fputs("abrd lab: out of memory\n", stderr);
        return OPT_EXIT_FAILED;
    }
    *w = (struct work){.lab = *table, .seed = 1, .threads = pool_cpus()};
    snprintf(w->name, sizeof w->name, "lab %s", name);
    int code = parse(w, argc - 1, argv + 1);
    if (code < 0) {
        code = cmd_blas(w->name, w->threads);
        if (!code) code = lab_run(w);
    }
    page_assets_free(&w->assets);
    free(w);
    return code;
}

int cmd_lab(int argc, char **argv)
{
    return cmd_lab_of(all_labs, argc, argv);
}
