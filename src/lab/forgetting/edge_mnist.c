#include "base/pool.h"
#include "lab/forgetting/edge_images.h"

#include "edge_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 3 };
static const int EXPERTS[SIZES] = {5, 15, 30};

/* how a repetition ended, beside its series */
enum column { LAST, QUEUED, WAIT, DELAY, SIGMA, ENDS };

struct arm {
    struct edge_images_cfg cfg;
    struct reps *series; /* EDGE_IMAGES_SERIES * points columns */
    struct reps *end;    /* ENDS columns */
};

struct plan {
    struct lab_task *task;
    struct digits_set *set;
    int reps, points, grid[REPS_POINTS];
    struct arm arm[EDGE_RULES][SIZES];
};

/* ---- repetitions over threads */

struct crew {
    const struct plan *plan;
    struct arm *arm;
};

static int edge_mnist_repeat(void *ctx, int i, struct err *e)
{
    struct crew *c = ctx;
    const struct plan *p = c->plan;
    struct edge_images_end end;
    int rc = edge_images_run(reps_row(c->arm->series, i), &end, &c->arm->cfg, p->set,
                             p->grid, p->points, p->task->seed, i, e);
    if (rc) return rc;
    double *row = reps_row(c->arm->end, i);
    row[LAST] = end.error;
    row[QUEUED] = (double)end.waited / c->arm->cfg.slots;
    row[WAIT] = end.wait;
    row[DELAY] = end.delay;
    row[SIGMA] = end.sigma0;
    return 0;
}

static int edge_mnist_run_arm(const struct plan *p, struct arm *arm, struct err *e)
{
    arm->series = reps_new(p->reps, EDGE_IMAGES_SERIES * p->points, e);
    arm->end = arm->series ? reps_new(p->reps, ENDS, e) : NULL;
    if (!arm->end) return ERR_MEMORY;
    return pool_try(p->reps, p->task->threads, edge_mnist_repeat, &(struct crew){p, arm},
                    e);
}

/* With --quick only the size that Proposition 6 asks for. */
static bool wanted(const struct plan *p, int size)
{
    return !p->task->quick || size == 1;
}

static int edge_mnist_run_all(struct plan *p, struct err *e)
{
    for (int k = 0; k < EDGE_RULES * SIZES; k++) {
        int rule = k % EDGE_RULES, size = k / EDGE_RULES;
        if (!wanted(p, size)) continue;
        struct arm *arm = &p->arm[rule][size];
        arm->cfg = (struct edge_images_cfg){.digits = digits_cfg_default(),
                                            .experts = EXPERTS[size],
                                            .slots = p->grid[p->points - 1],
                                            .rule = (enum edge_rule)rule};
        char note[64];
        snprintf(note, sizeof note, "MNIST, M = %d, %s", EXPERTS[size],
                 edge_sim_rule((enum edge_rule)rule));
        if (lab_progress(p->task, .6 + .4 * k / (EDGE_RULES * SIZES), note))
            return LAB_STOPPED;
        int rc = edge_mnist_run_arm(p, arm, e);
        if (rc) return rc;
    }
    return 0;
}

/* ---- figures */

static void edge_mnist_figure(const struct plan *p, enum edge_images_series s,
                              struct report_axis y)
{
    struct report *r = p->task->report;
    for (int i = 0; i < SIZES; i++) {
        if (!wanted(p, i)) continue;
        char name[32];
        snprintf(name, sizeof name, "M = %d", EXPERTS[i]);
        report_panel(
            r, &(struct report_panel){.title = name, .x = {.label = "slot t"}, .y = y});
        for (int rule = 0; rule < EDGE_RULES; rule++)
            reps_draw(r, edge_sim_rule((enum edge_rule)rule), REPORT_LINE, p->grid,
                      p->points, p->arm[rule][i].series, (int)s * p->points);
        struct edge_sim_cfg c = edge_images_theory(&p->arm[0][i].cfg);
        report_rule(r, 'x', edge_sim_t1(&c), "T1");
    }
}

static void edge_mnist_opening(const struct plan *p)
{
    struct report *r = p->task->report;
    struct digits_cfg d = digits_cfg_default();
    struct edge_sim_cfg c = edge_images_theory(&p->arm[0][1].cfg);
    report_heading(r, "Real images: MNIST");
    report_text(
        r,
        "The same servers, delays and rules; a task is one of N = %d kinds and brings s "
        "= %d "
        "images, an expert is a network of %d hidden units. The slides say no more than "
        "\"DNNs in MNIST datasets\". Here each kind names the images of %d digits its "
        "own "
        "way, so that no single network can serve all, and errors are shares of test "
        "images "
        "named wrongly. The gate has the locality loss alone, eta = sigma0^.5, and stops "
        "at "
        "T1. For N = %d Proposition 6 asks for %.1f experts.",
        d.tasks, d.s, d.hidden, d.each, d.tasks, edge_sim_need(&c));
    report_param_int(r, "repetitions on MNIST", p->reps);
    report_param_int(r, "slots on MNIST", p->grid[p->points - 1]);
}

/* ---- table and checks */

static double edge_mnist_last(const struct plan *p, const struct arm *a,
                              enum edge_images_series s)
{
    return reps_mean(a->series, (int)s * p->points + p->points - 1).mean;
}

static void edge_mnist_row(const struct plan *p, const struct arm *a)
{
    struct report *r = p->task->report;
    struct stats_interval g = reps_mean(a->end, LAST);
    report_row(r);
    report_int(r, "M", a->cfg.experts);
    report_cell(r, "rule", "%s", edge_sim_rule(a->cfg.rule));
    report_interval(r, "G_T", g.mean, g.lo, g.hi, 3);
    report_real(r, "specialist met", edge_mnist_last(p, a, EDGE_IMAGES_SPECIAL), 2);
    report_real(r, "own set idle", edge_mnist_last(p, a, EDGE_IMAGES_READY), 2);
    report_real(r, "waited, %", 100 * reps_mean(a->end, QUEUED).mean, 1);
    report_real(r, "delay, slots", reps_mean(a->end, DELAY).mean, 2);
    report_real(r, "sigma0", reps_mean(a->end, SIGMA).mean, 4);
    if (a->cfg.rule != EDGE_STOP) return;
    struct edge_sim_cfg c = edge_images_theory(&a->cfg);
    report_int(r, "T1", edge_sim_t1(&c));
    report_int(r, "T2", edge_sim_t2(&c));
}

static void edge_mnist_checks(const struct plan *p)
{
    for (int i = 1; i < SIZES; i++) /* as many as Proposition 6 asks for */
        for (int rule = 1; rule < EDGE_RULES && wanted(p, i); rule++) {
            struct stats_interval gap =
                reps_gap(p->arm[EDGE_STOP][i].end, LAST, p->arm[rule][i].end, LAST);
            char name[112];
            snprintf(name, sizeof name,
                     "MNIST, G at T, M = %d: gate that stops minus %s, upper 95 %%",
                     EXPERTS[i], edge_sim_rule((enum edge_rule)rule));
            report_check(p->task->report, name, gap.hi, -INFINITY, 0);
        }
}

static void edge_mnist_draw(const struct plan *p)
{
    struct report *r = p->task->report;
    edge_mnist_opening(p);
    report_figure(
        r, "mnist-error", "MNIST: generalisation error by rule",
        "Means over repetitions, each with its own digits, names and servers, 95 % "
        "bands. All rules meet the same tasks.");
    edge_mnist_figure(
        p, EDGE_IMAGES_ERROR,
        (struct report_axis){.label = "generalisation error G_t (share wrong)"});
    report_figure(r, "mnist-special", "MNIST: who meets a specialist",
                  "Share of the tasks whose expert has learned their kind most often.");
    edge_mnist_figure(p, EDGE_IMAGES_SPECIAL,
                      (struct report_axis){.label = "share of tasks", .hi = 1});
    report_table(r, "MNIST after the last task");
    for (int i = 0; i < SIZES; i++)
        for (int rule = 0; rule < EDGE_RULES && wanted(p, i); rule++)
            edge_mnist_row(p, &p->arm[rule][i]);
    edge_mnist_checks(p);
}

/* ---- */

int edge_mnist(struct lab_task *t, struct err *e)
{
    struct plan *p = calloc(1, sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for the rules on images");
    p->task = t;
    p->reps = (int)lab_int(t, "image-reps");
    p->points = reps_grid(p->grid, 10, (int)lab_int(t, "image-slots"));
    int rc = digits_set_find(&p->set, t, e);
    if (!rc && p->set) rc = edge_mnist_run_all(p, e);
    if (!rc && p->set) edge_mnist_draw(p);
    for (int k = 0; k < EDGE_RULES * SIZES; k++) {
        reps_free(p->arm[k % EDGE_RULES][k / EDGE_RULES].series);
        reps_free(p->arm[k % EDGE_RULES][k / EDGE_RULES].end);
    }
    digits_set_free(p->set);
    free(p);
    return rc;
}
