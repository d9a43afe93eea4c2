/* abrd lab with labs of the test's own; the page's parts come from a folder of its own too. */
#include "lab/lab.h"

#include "base/text.h"
#include "cli/cmd.h"
#include "cli/opt.h"
#include "support/capture.h"
#include "support/program.h"
#include "support/page_home.h"
#include "support/suites.h"
#include "support/tmpdir.h"

#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RUNS = 4 };

static const struct lab_option options[] = {
    {"seeds", "N", "runs", LAB_INT, .value = RUNS, .quick = 2, .lo = 1, .hi = RUNS},
    {"low", "X", "what the check wants", LAB_REAL, .value = 0, .quick = 0},
    {"broken", NULL, "fail", .kind = LAB_FLAG},
    {"stop", NULL, "as if Ctrl-C came", .kind = LAB_FLAG},
    {"preset", "NAME", "which", LAB_TEXT, .text = "paper", .quick_text = "small"},
    {0},
};

static int one(void *ctx, int i, struct sweep_job *job, struct err *e)
{
    const struct lab_task *t = ctx;
    double v = i + (double)t->seed;
    if (lab_flag(t, "broken") && i == 1)
        return err_set(e, ERR_NUMERIC, "loss is not finite");
    if (lab_flag(t, "stop") && i == 1) raise(SIGINT);
    if (sweep_tick(job, .5)) return SWEEP_STOPPED;
    sweep_put(job, &v, sizeof v);
    return 0;
}

/* The mean over runs of i + seed. */
static int run(struct lab_task *t, struct err *e)
{
    static const struct sweep_run list[RUNS] = {
        {"a", "0"}, {"b", "1"}, {"c", "2"}, {"d", "3"}};
    int n = (int)lab_int(t, "seeds");
    struct sweep *s;
    int rc = lab_sweep(&s, t, list, n, one, t, e);
    if (rc) return rc;
    double sum = 0, y[RUNS];
    for (int i = 0; i < n; i++)
        sum += y[i] = *(const double *)sweep_result(s, i, NULL);
    sweep_free(s);

    report_table(t->report, "Means");
    report_row(t->report);
    report_cell(t->report, "preset", "%s", lab_text(t, "preset"));
    report_real(t->report, "mean", sum / n, 3);
    report_figure(t->report, "runs", "Runs", NULL);
    report_panel(t->report,
                 &(struct report_panel){.x = {.label = "run"}, .y = {.label = "value"}});
    report_series(t->report, &(struct report_series){.name = "value", .n = n, .y = y});
    report_check(t->report, "mean", sum / n, lab_real(t, "low"), INFINITY);
    return 0;
}

static const struct lab toy = {.name = "toy",
                               .about = "the mean of some numbers",
                               .title = "Means & more",
                               .source = "Nobody, On numbers, 1999",
                               .options = options,
                               .run = run};
static const struct lab *const table[] = {&toy, NULL};

/* Runs "lab ARGS", split at blanks; *text (owned) is what it printed on that descriptor, the
 * other one is silent. */
static int lab_run(const char *args, int fd, char **text)
{
    char line[1024], *argv[32], *rest;
    snprintf(line, sizeof line, "lab %s", args);
    int argc = 0;
    for (char *w = strtok_r(line, " ", &rest); w; w = strtok_r(NULL, " ", &rest))
        argv[argc++] = w;
    argv[argc] = NULL;
    int other = fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO, kept = dup(other);
    ck_assert(freopen("/dev/null", "w", other == STDOUT_FILENO ? stdout : stderr) !=
              NULL);
    capture_begin(fd);
    int code = cmd_lab_of(table, argc, argv);
    *text = capture_end();
    fflush(NULL);
    dup2(kept, other);
    close(kept);
    return code;
}

static void expect(const char *args, int code, int fd, const char *part)
{
    char *text;
    int is = lab_run(args, fd, &text);
    ck_assert_msg(is == code, "%s: exit %d, not %d\n%s", args, is, code, text);
    ck_assert_msg(strstr(text, part) != NULL, "%s: no \"%s\" in\n%s", args, part, text);
    free(text);
}

TEST(labs_are_listed)
{
    expect("--help", OPT_EXIT_DONE, STDOUT_FILENO,
           "toy         the mean of some numbers");
    expect("", OPT_EXIT_USAGE, STDERR_FILENO, "usage: abrd lab NAME");
    expect("toys", OPT_EXIT_USAGE, STDERR_FILENO, "there is no lab 'toys'");
    expect("toy --sedes 1", OPT_EXIT_USAGE, STDERR_FILENO, "did you mean --seeds?");
    expect("toy --seeds 5", OPT_EXIT_USAGE, STDERR_FILENO, "--seeds");
    expect("toy --help", OPT_EXIT_DONE, STDOUT_FILENO,
           "runs; 2 with --quick (default 4)");
    expect("toy --help", OPT_EXIT_DONE, STDOUT_FILENO,
           "which; small with --quick (default paper)");
    expect("toy --help", OPT_EXIT_DONE, STDOUT_FILENO, "On numbers, 1999");
}

/* 1 + (0 + 1 + 2 + 3) / 4 */
TEST(checks_decide_the_exit_code)
{
    expect("toy --quiet --low 2.5", OPT_EXIT_DONE, STDOUT_FILENO,
           "our checks: 1 of 1 pass");
    expect("toy --quiet --low 2.51", OPT_EXIT_FAILED, STDOUT_FILENO,
           "our checks: 0 of 1 pass");
    expect("toy --quiet --low 2.51", OPT_EXIT_FAILED, STDOUT_FILENO, "FAILS");
    expect("toy --quiet --seed 7", OPT_EXIT_DONE, STDOUT_FILENO, "paper   8.500");
    expect("toy --quiet", OPT_EXIT_DONE, STDOUT_FILENO, "no report was written");
}

TEST(checks_are_rows_for_programs)
{
    char *text;
    int code = lab_run("toy --quiet --low 1.25 --json -", STDOUT_FILENO, &text);
    ck_assert_int_eq(code, OPT_EXIT_DONE);
    json_t *all = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
    ck_assert_msg(all != NULL, "%s", text);
    json_t *row = json_array_get(json_object_get(all, "rows"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(row, "check")), "mean");
    ck_assert_str_eq(json_string_value(json_object_get(row, "result")), "pass");
    ck_assert_double_eq(json_real_value(json_object_get(row, "value")), 2.5);
    ck_assert_double_eq(json_real_value(json_object_get(row, "low")), 1.25);
    ck_assert(json_is_null(json_object_get(row, "high")));
    json_decref(all);
    free(text);
    expect("toy --quiet --low 1.25 --json -", OPT_EXIT_DONE, STDERR_FILENO,
           "our checks: 1 of 1 pass");
    expect("toy --quiet --csv /no/such/file", OPT_EXIT_FAILED, STDERR_FILENO,
           "/no/such/file: cannot be written");
}

/* --quick changes only what was not given, also when that is the default of a full run */
TEST(quick_takes_the_other_defaults)
{
    expect("toy --quiet --quick", OPT_EXIT_DONE, STDOUT_FILENO, "small   1.500");
    expect("toy --quiet --seeds 4 --quick", OPT_EXIT_DONE, STDOUT_FILENO,
           "small   2.500");
    expect("toy --quiet --quick --preset code", OPT_EXIT_DONE, STDOUT_FILENO,
           "code    1.500");
}

static json_t *load(const char *dir, const char *file)
{
    json_t *v = json_load_file(tmpdir_path(dir, file), 0, NULL);
    ck_assert_ptr_nonnull(v);
    return v;
}

TEST(a_report_is_written)
{
    const char *home = page_home_new();
    char args[600];
    snprintf(args, sizeof args, "toy --quiet --seeds 3 --low 1.25 --out %s/new/lab",
             home);
    expect(args, OPT_EXIT_DONE, STDOUT_FILENO, "/new/lab/toy.html");
    static const char *const file[] = {"toy.html", "toy.csv", "index.html",
                                       "runs/toy/a.run"};
    char path[700];
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/new/lab/%s", home, file[i]);
        ck_assert_msg(access(path, R_OK) == 0, "%s", path);
    }
    json_t *v = load(home, "new/lab/toy.json"), *p = json_object_get(v, "parameters");
    ck_assert_str_eq(json_string_value(json_object_get(p, "command")),
                     "abrd lab toy --seed 1 --seeds 3 --low 1.25");
    ck_assert_int_eq(json_integer_value(json_object_get(p, "seeds")), 3);
    ck_assert_str_eq(json_string_value(json_object_get(p, "stop")), "no");
    json_decref(v);
}

TEST(threads_change_nothing)
{
    const char *home = page_home_new();
    static const char *const file[] = {"toy.html", "toy.csv", "toy.json"};
    char args[600], path[700], *text[2];
    for (int threads = 1; threads <= 2; threads++) {
        snprintf(args, sizeof args, "toy --quiet --threads %d --out %s/%d", threads, home,
                 threads);
        expect(args, OPT_EXIT_DONE, STDOUT_FILENO, "our checks: ");
    }
    for (int f = 0; f < 3; f++) {
        for (int k = 0; k < 2; k++) {
            struct err e = {0};
            snprintf(path, sizeof path, "%s/%d/%s", home, k + 1, file[f]);
            text[k] = text_read_file(path, 1 << 20, NULL, &e);
            ck_assert_ptr_nonnull(text[k]);
        }
        ck_assert_str_eq(text[0], text[1]);
        free(text[0]);
        free(text[1]);
    }
}

TEST(a_stopped_lab_goes_on)
{
    const char *home = page_home_new();
    char args[600];
    snprintf(args, sizeof args, "toy --quiet --threads 1 --stop --out %s/lab", home);
    expect(args, OPT_EXIT_FAILED, STDERR_FILENO, "the same command resumes it");
    snprintf(args, sizeof args, "toy --quiet --out %s/lab", home);
    expect(args, OPT_EXIT_DONE, STDERR_FILENO, "1 of 4 runs was done before");
    expect("toy --quiet --threads 1 --stop", OPT_EXIT_FAILED, STDERR_FILENO,
           "nothing was saved");

    /* what a crash of something else left */
    snprintf(args, sizeof args, "%s/lab/runs/toy/c.run", home);
    struct err e = {0};
    ck_assert_int_eq(text_write_file(args, "abrd run", 8, &e), 0);
    snprintf(args, sizeof args, "toy --quiet --out %s/lab", home);
    expect(args, OPT_EXIT_DONE, STDERR_FILENO, "1 run is done again: c.run");
}

TEST(failures_are_told)
{
    const char *home = page_home_new();
    char args[600];
    expect("toy --quiet --broken", OPT_EXIT_FAILED, STDERR_FILENO,
           "abrd lab toy: b: loss is not finite");
    snprintf(args, sizeof args, "toy --out %s/web/report/report.js/lab", home);
    expect(args, OPT_EXIT_FAILED, STDERR_FILENO, "cannot be created");
    ck_assert_int_eq(unlink(tmpdir_path(home, "web/vendor/uPlot.min.css")), 0);
    snprintf(args, sizeof args, "toy --out %s/lab", home);
    expect(args, OPT_EXIT_FAILED, STDERR_FILENO, "run 'make web'");
    ck_assert_int_ne(access(tmpdir_path(home, "lab"), F_OK),
                     0); /* before anything was done */
}

/* the program's own table, from outside */
TEST(the_program_has_labs)
{
    program_expect("lab --help", OPT_EXIT_DONE, "  tracking    ");
    program_expect("lab tracking --quick --quiet", OPT_EXIT_DONE, "our checks: ");
    program_expect("lab tracking --steps none", OPT_EXIT_USAGE, "--steps");
}

SUITE(cli_cmd_lab, labs_are_listed, checks_decide_the_exit_code,
      checks_are_rows_for_programs, quick_takes_the_other_defaults, a_report_is_written,
      threads_change_nothing, a_stopped_lab_goes_on, failures_are_told,
      the_program_has_labs);
