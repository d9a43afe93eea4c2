/* labs.h - a lab run in small, and what its report says, for the tests of labs.
 *
 *   struct labs_run a;
 *   labs_start(&a, &edge_lab);
 *   labs_set(&a, "reps", 4);
 *   labs_go(&a, 0);
 *   labs_pass(a.task.report, 12);
 *   labs_end(&a);
 *
 * Anything may be changed in a.task before it runs, but its ctx. */
#ifndef TEST_LABS_H
#define TEST_LABS_H

#include "lab/lab.h"

#define LABS_OPTIONS 32

struct labs_run {
    struct lab_value value[LABS_OPTIONS];
    struct lab_task task; /* looks into this struct: not to be copied */
    struct err e;
    const char *dir; /* where it finds files, any "folder/x" as x; NULL: there are none */

    int stop_at; /* at which question for progress it is to stop; 0: never */
    int asked;   /* such questions so far; shares must not fall */
    double share;
    int lines; /* said so far */
    char last[512];
};

/* Every option as with --quick; one thread, seed 1, a report of its own. */
void labs_start(struct labs_run *r, const struct lab *lab);
void labs_end(struct labs_run *r);

/* An option, which the lab must have. */
const struct lab_option *labs_option(const struct lab *lab, const char *name);
void labs_set(struct labs_run *r, const char *option, double number);
void labs_set_text(struct labs_run *r, const char *option, const char *text);

/* Runs it; the result must be rc. */
void labs_go(struct labs_run *r, int rc);

/* Runs it, which stops it at the nth question for progress and not later. */
void labs_stops(struct labs_run *r, int n);

/* Two runs that were set alike, on one thread and on two: both end well and report the same. The
 * second has ended then. */
void labs_go_twice(struct labs_run run[2]);

/* The report has n checks and they pass. */
void labs_pass(const struct report *r, int n);
/* The report has n checks, and the names of those after the first `from` begin with `word`. */
void labs_names(const struct report *r, int n, int from, const char *word);

/* The first check whose name holds `part`; there must be one. */
struct report_check labs_check(const struct report *r, const char *part);
/* What the table shows in the column of that name, which it must have; NULL for an empty cell. */
const char *labs_cell(char buf[64], const struct report *r, int table, int row,
                      const char *column);

#endif
