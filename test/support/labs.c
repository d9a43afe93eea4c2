#include "support/labs.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool progress(void *ctx, double share, const char *note)
{
    struct labs_run *r = ctx;
    ck_assert_msg(share >= r->share && share <= 1 && note[0], "%g after %g: '%s'", share,
                  r->share, note);
    r->share = share;
    return ++r->asked == r->stop_at;
}

static void say(void *ctx, const char *line)
{
    struct labs_run *r = ctx;
    r->lines++;
    snprintf(r->last, sizeof r->last, "%s", line);
}

static int find(void *ctx, char out[LAB_PATH], const char *rel, struct err *e)
{
    const struct labs_run *r = ctx;
    if (!r->dir) return err_set(e, ERR_ABSENT, "no files");
    snprintf(out, LAB_PATH, "%s/%s", r->dir, strrchr(rel, '/') + 1);
    return access(out, R_OK) ? err_set(e, ERR_ABSENT, "not there") : 0;
}

void labs_start(struct labs_run *r, const struct lab *lab)
{
    *r = (struct labs_run){0};
    for (int i = 0; lab->options[i].name; i++) {
        const struct lab_option *o = &lab->options[i];
        ck_assert_int_lt(i, LABS_OPTIONS);
        r->value[i] = (struct lab_value){.number = o->quick,
                                         .text = o->quick_text ? o->quick_text : o->text};
    }
    r->task = (struct lab_task){.lab = lab,
                                .value = r->value,
                                .report = report_new(lab->name, lab->title, NULL),
                                .version = "test",
                                .quick = true,
                                .threads = 1,
                                .seed = 1,
                                .progress = progress,
                                .say = say,
                                .find = find,
                                .ctx = r};
    ck_assert_ptr_nonnull(r->task.report);
}

void labs_end(struct labs_run *r)
{
    report_free(r->task.report);
}

const struct lab_option *labs_option(const struct lab *lab, const char *name)
{
    const struct lab_option *o = lab->options;
    while (o->name && strcmp(o->name, name) != 0)
        o++;
    ck_assert_msg(o->name, "lab %s has no option %s", lab->name, name);
    return o;
}

static struct lab_value *option(struct labs_run *r, const char *name)
{
    return &r->value[labs_option(r->task.lab, name) - r->task.lab->options];
}

void labs_set(struct labs_run *r, const char *name, double number)
{
    option(r, name)->number = number;
}

void labs_set_text(struct labs_run *r, const char *name, const char *text)
{
    option(r, name)->text = text;
}

void labs_go(struct labs_run *r, int rc)
{
    int got = r->task.lab->run(&r->task, &r->e);
    ck_assert_msg(got == rc, "%d, not %d: %s %s", got, rc, r->e.field, r->e.detail);
}

/* The same checks with the same values, to the bit. */
static void same(const struct report *a, const struct report *b)
{
    int n = report_checks(a);
    ck_assert_int_gt(n, 0);
    ck_assert_int_eq(report_checks(b), n);
    for (int i = 0; i < n; i++) {
        struct report_check one = report_check_at(a, i), two = report_check_at(b, i);
        ck_assert_str_eq(one.name, two.name);
        ck_assert_msg(one.value == two.value ||
                          (one.value != one.value && two.value != two.value),
                      "%s: %g and %g", one.name, one.value, two.value);
    }
}

void labs_go_twice(struct labs_run run[2])
{
    for (int i = 0; i < 2; i++) {
        run[i].task.threads = 1 + i;
        labs_go(&run[i], 0);
    }
    same(run[0].task.report, run[1].task.report);
    labs_end(&run[1]);
}

void labs_stops(struct labs_run *r, int n)
{
    r->stop_at = n;
    labs_go(r, LAB_STOPPED);
    ck_assert_int_eq(r->asked, n);
    ck_assert_int_eq(report_checks(r->task.report), 0);
    labs_end(r);
}

void labs_pass(const struct report *r, int n)
{
    ck_assert_int_eq(report_checks(r), n);
    for (int i = 0; i < n; i++) {
        struct report_check c = report_check_at(r, i);
        ck_assert_msg(c.pass, "%s: %g", c.name, c.value);
    }
}

void labs_names(const struct report *r, int n, int from, const char *word)
{
    ck_assert_int_eq(report_checks(r), n);
    for (int i = from; i < n; i++) {
        const char *name = report_check_at(r, i).name;
        ck_assert_msg(strncmp(name, word, strlen(word)) == 0, "%s", name);
    }
}

struct report_check labs_check(const struct report *r, const char *part)
{
    for (int i = 0; i < report_checks(r); i++)
        if (strstr(report_check_at(r, i).name, part)) return report_check_at(r, i);
    ck_abort_msg("no check '%s'", part);
}

const char *labs_cell(char buf[64], const struct report *r, int table, int row,
                      const char *column)
{
    for (int k = 0; report_column(r, table, k); k++)
        if (!strcmp(report_column(r, table, k), column))
            return report_shown(buf, r, table, row, k);
    ck_abort_msg("no column '%s' in table %d", column, table);
}
