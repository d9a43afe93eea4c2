#include "edge_priv.h"

#include <math.h>
#include <stdio.h>

enum {
    EXPERTS = 10,
    SHORT = 300,
    POOL = 1000003 /* apart from the repetitions' pools */
};

struct trial {
    struct lab_task *task;
    struct task_pool pool;
    int reps;
};

/* one line of the table; with a signal the difference is only reported */
static int line(struct trial *t, enum edge_rule rule, int slots, bool signal,
                struct err *e)
{
    struct edge_arm arm = {.cfg = edge_sim_default(EXPERTS, rule)};
    arm.cfg.task.signal = signal;
    arm.cfg.slots = slots;
    int rc = edge_repeat(&arm, &t->pool, t->reps, NULL, 0, t->task, e);
    if (!rc) {
        struct report *r = t->task->report;
        double exact = reps_z(arm.end, EDGE_LAST_EXACT, 0);
        double printed = reps_z(arm.end, EDGE_LAST_PRINTED, 0);
        struct stats_interval g = reps_mean(arm.end, EDGE_LAST);
        double form = reps_mean(arm.end, EDGE_LAST_FORM).mean;
        report_row(r);
        report_cell(r, "rule", "%s", edge_sim_rule(rule));
        report_int(r, "T", slots);
        report_cell(r, "signal", signal ? "yes" : "no");
        report_interval(r, "G_T", g.mean, g.lo, g.hi, 3);
        report_real(r, "corrected", form, 3);
        report_real(r, "printed", g.mean - reps_mean(arm.end, EDGE_LAST_PRINTED).mean, 3);
        report_real(r, "off corrected, %", 100 * (g.mean / form - 1), 2);
        report_real(r, "off corrected, s.e.", exact, 1);
        report_real(r, "off printed, s.e.", printed, 1);

        char name[96];
        snprintf(name, sizeof name,
                 "Proposition 9 corrected, %s, T = %d: standard errors off",
                 edge_sim_rule(rule), slots);
        if (!signal) report_check(r, name, fabs(exact), 0, 4);
        snprintf(name, sizeof name,
                 "Proposition 9 as printed, %s, T = %d: standard errors off",
                 edge_sim_rule(rule), slots);
        if (!signal && slots == SHORT) report_check(r, name, fabs(printed), 4, INFINITY);
    }
    edge_drop(&arm);
    return rc;
}

int edge_exact(struct lab_task *task, struct err *e)
{
    struct trial t = {.task = task, .reps = (int)lab_int(task, "exact-reps")};
    int slots[] = {SHORT, (int)lab_int(task, "exact-slots")}, rc = 0;
    struct edge_sim_cfg c = edge_sim_default(EXPERTS, EDGE_NEAREST);
    edge_sim_pool(&t.pool, &c, task->seed, POOL);

    struct report *r = task->report;
    report_heading(r, "Offloading that is blind to the task: Proposition 9");
    report_text(
        r,
        "When routing does not depend on the tasks, an expert that learned L of them is "
        "at an expected distance r^L A + (1 - r^L)(1 - 1/L) B from each, A = E||w||^2, "
        "B = E||w - w'||^2, r = 1 - s/p. Proposition 9 as printed lacks the factor "
        "(1 - 1/L): one of the L tasks is the task itself, at distance 0. That holds for "
        "an isotropic X; a feature signal among the samples makes each update remember "
        "its own task's direction in full, and the error comes out higher.");
    report_param_int(r, "repetitions for Proposition 9", t.reps);
    report_table(r, "Proposition 9, M = 10, one pool of tasks");
    for (int k = 0; k < 8 && !rc; k++) {
        enum edge_rule rule = k & 1 ? EDGE_POWERFUL : EDGE_NEAREST;
        bool signal = k >= 4, longer = k >> 1 & 1;
        if (longer && slots[1] == SHORT) continue;
        if (lab_progress(task, .035 * k, "Proposition 9")) return LAB_STOPPED;
        rc = line(&t, rule, slots[longer], signal, e);
    }
    return rc;
}
