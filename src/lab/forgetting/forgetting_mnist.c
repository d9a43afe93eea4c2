#include "base/pool.h"
#include "lab/forgetting/forgetting_images.h"

#include "forgetting_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZES = 3, NAMES = 2, STOPS = 2 };
static const int EXPERTS[SIZES] = {1, 4, 7};

/* how a repetition ended, beside its series */
enum column { STOPPED, SETTLE, SIGMA, ENDS };

struct arm {
    struct forgetting_images_cfg cfg;
    struct reps *series; /* FORGETTING_IMAGES_SERIES * points columns */
    struct reps *end;    /* ENDS columns */
};

struct plan {
    struct lab_task *task;
    struct digits_set *set;
    int reps, points, grid[REPS_POINTS];
    /* own names, common names; with, without termination */
    struct arm arm[NAMES][STOPS][SIZES];
};

/* With --quick one mixture on the tasks that contradict each other, else all. */
static bool wanted(const struct plan *p, int names, int size)
{
    return !p->task->quick || (names == 0 && size != 1);
}

/* ---- repetitions over threads */

struct crew {
    const struct plan *plan;
    struct arm *arm;
};

static int forgetting_mnist_repeat(void *ctx, int i, struct err *e)
{
    struct crew *c = ctx;
    const struct plan *p = c->plan;
    struct forgetting_images_end end;
    int rc = forgetting_images_run(reps_row(c->arm->series, i), &end, &c->arm->cfg,
                                   p->set, p->grid, p->points, p->task->seed, i, e);
    if (rc) return rc;
    double *row = reps_row(c->arm->end, i);
    row[STOPPED] = end.stopped ? end.stopped : (double)NAN;
    row[SETTLE] = end.settle;
    row[SIGMA] = end.sigma0;
    return 0;
}

static int forgetting_mnist_run_arm(const struct plan *p, struct arm *arm, struct err *e)
{
    arm->series = reps_new(p->reps, FORGETTING_IMAGES_SERIES * p->points, e);
    arm->end = arm->series ? reps_new(p->reps, ENDS, e) : NULL;
    if (!arm->end) return ERR_MEMORY;
    return pool_try(p->reps, p->task->threads, forgetting_mnist_repeat,
                    &(struct crew){p, arm}, e);
}

static int forgetting_mnist_run_all(struct plan *p, struct err *e)
{
    for (int k = 0; k < NAMES * STOPS * SIZES; k++) {
        int names = k / (STOPS * SIZES), on = k / SIZES % STOPS, size = k % SIZES;
        struct arm *arm = &p->arm[names][on][size];
        arm->cfg = (struct forgetting_images_cfg){.digits = digits_cfg_default(),
                                                  .experts = EXPERTS[size],
                                                  .rounds = p->grid[p->points - 1],
                                                  .terminate = !on};
        arm->cfg.digits.own_names = !names;
        if (on && size == 0) continue; /* one expert has no gate to stop */
        if (!wanted(p, names, size)) continue;
        char note[64];
        snprintf(note, sizeof note, "MNIST, M = %d, %s termination", EXPERTS[size],
                 on ? "without" : "with");
        if (lab_progress(p->task, .6 + .4 * k / (NAMES * STOPS * SIZES), note))
            return LAB_STOPPED;
        int rc = forgetting_mnist_run_arm(p, arm, e);
        if (rc) return rc;
    }
    return 0;
}

/* ---- figures */

static int forgetting_mnist_column(const struct plan *p, enum forgetting_images_series s,
                                   int point)
{
    return (int)s * p->points + point;
}

static struct stats_interval forgetting_mnist_last(const struct plan *p,
                                                   const struct arm *a,
                                                   enum forgetting_images_series s)
{
    return reps_mean(a->series, forgetting_mnist_column(p, s, p->points - 1));
}

static const char *forgetting_mnist_named(char name[32], const struct arm *a)
{
    snprintf(name, 32, "M = %d", a->cfg.experts);
    return name;
}

static void forgetting_mnist_panel(const struct plan *p, int names, int on,
                                   enum forgetting_images_series s, const char *axis)
{
    struct report *r = p->task->report;
    char name[32];
    report_panel(r, &(struct report_panel){.title = on ? "without termination"
                                                       : "with termination",
                                           .x = {.label = "round t"},
                                           .y = {.label = axis}});
    for (int i = 0; i < SIZES; i++) {
        if (!wanted(p, names, i)) continue;
        /* one expert is the same in both panels */
        const struct arm *a = &p->arm[names][i ? on : 0][i];
        reps_draw(r, forgetting_mnist_named(name, a), REPORT_LINE, p->grid, p->points,
                  a->series, (int)s * p->points);
    }
}

static void pair(const struct plan *p, int names, enum forgetting_images_series s,
                 const char *axis)
{
    forgetting_mnist_panel(p, names, 0, s, axis);
    forgetting_mnist_panel(p, names, 1, s, axis);
}

static void gate_panel(const struct plan *p, enum forgetting_images_series s,
                       struct report_axis y)
{
    struct report *r = p->task->report;
    report_panel(
        r, &(struct report_panel){.title = "M = 7", .x = {.label = "round t"}, .y = y});
    reps_draw(r, "with termination", REPORT_LINE, p->grid, p->points,
              p->arm[0][0][2].series, (int)s * p->points);
    reps_draw(r, "without termination", REPORT_DASHED, p->grid, p->points,
              p->arm[0][1][2].series, (int)s * p->points);
}

static void figures(const struct plan *p)
{
    struct report *r = p->task->report;
    const char *f = "forgetting F_t (share of test images)";
    const char *g = "generalisation error G_t (share wrong)";
    report_figure(
        r, "mnist-forgetting", "MNIST: forgetting",
        "Means over repetitions, each with its own digits and names, 95 % bands.");
    pair(p, 0, FORGETTING_IMAGES_FORGOT, f);
    report_figure(r, "mnist-error", "MNIST: generalisation error", NULL);
    pair(p, 0, FORGETTING_IMAGES_ERROR, g);
    report_figure(r, "mnist-gate", "MNIST: what the gate does",
                  "Share of the rounds whose chosen expert has learned their task most "
                  "often, and how "
                  "far a round still moves the expert that learns it.");
    gate_panel(
        p, FORGETTING_IMAGES_SPECIAL,
        (struct report_axis){.label = "share of rounds that met a specialist", .hi = 1});
    gate_panel(p, FORGETTING_IMAGES_MOVED,
               (struct report_axis){.label = "||w_t - w_(t-1)||"});
    if (!p->arm[1][0][0].series) return;
    report_figure(
        r, "mnist-common", "MNIST, when all tasks use the same names",
        "Nothing contradicts here: one network can learn all tasks, and it sees every "
        "round, while each of M experts sees a part of them.");
    pair(p, 1, FORGETTING_IMAGES_ERROR, g);
}

/* ---- table and checks */

static void forgetting_mnist_row(const struct plan *p, const struct arm *a)
{
    struct report *r = p->task->report;
    struct stats_interval f = forgetting_mnist_last(p, a, FORGETTING_IMAGES_FORGOT);
    struct stats_interval g = forgetting_mnist_last(p, a, FORGETTING_IMAGES_ERROR);
    report_row(r);
    report_cell(r, "names", "%s", a->cfg.digits.own_names ? "own" : "common");
    report_int(r, "M", a->cfg.experts);
    report_cell(r, "termination", a->cfg.terminate ? "yes" : "no");
    report_interval(r, "F_T", f.mean, f.lo, f.hi, 3);
    report_interval(r, "G_T", g.mean, g.lo, g.hi, 3);
    report_real(r, "T1", reps_mean(a->end, SETTLE).mean, 1);
    report_real(r, "gate stopped, round", reps_mean(a->end, STOPPED).mean, 1);
    report_real(r, "set met", forgetting_mnist_last(p, a, FORGETTING_IMAGES_HOME).mean,
                2);
    report_real(r, "specialist met",
                forgetting_mnist_last(p, a, FORGETTING_IMAGES_SPECIAL).mean, 2);
    report_real(r, "sigma0", reps_mean(a->end, SIGMA).mean, 4);
}

static void below(const struct plan *p, const struct arm *a, const struct arm *b,
                  enum forgetting_images_series s, const char *what, const char *than)
{
    char name[112];
    int at = forgetting_mnist_column(p, s, p->points - 1);
    struct stats_interval gap = reps_gap(a->series, at, b->series, at);
    snprintf(name, sizeof name,
             "MNIST, %s at T: M = %d with termination minus %s, upper 95 %%", what,
             a->cfg.experts, than);
    report_check(p->task->report, name, gap.hi, -INFINITY, 0);
}

static void forgetting_mnist_checks(const struct plan *p)
{
    const struct arm *one = &p->arm[0][0][0];
    for (int i = 1; i < SIZES; i++) {
        if (!wanted(p, 0, i)) continue;
        const struct arm *stop = &p->arm[0][0][i], *on = &p->arm[0][1][i];
        char name[96];
        below(p, stop, one, FORGETTING_IMAGES_FORGOT, "F", "M = 1");
        below(p, stop, one, FORGETTING_IMAGES_ERROR, "G", "M = 1");
        below(p, stop, on, FORGETTING_IMAGES_ERROR, "G", "without");
        snprintf(name, sizeof name, "MNIST, share of gates still learning at T, M = %d",
                 stop->cfg.experts);
        report_check(p->task->report, name,
                     forgetting_mnist_last(p, stop, FORGETTING_IMAGES_RUNNING).mean, 0,
                     0);
    }
}

static void forgetting_mnist_opening(const struct plan *p)
{
    struct report *r = p->task->report;
    struct digits_cfg c = digits_cfg_default();
    report_heading(r, "Real images: MNIST");
    report_text(
        r,
        "N = %d tasks, each of which names the images of %d digits, drawn anew in every "
        "repetition. A round brings s = %d training images of one task; the gate sees "
        "their "
        "average without the mean of all images, scaled to length 1. An expert is a "
        "network "
        "of %d hidden units that descends on the round's images until it knows them. The "
        "slides do not say what a task is. Here every task has names of its own for its "
        "digits, so that no single network can serve all, as in the linear model; errors "
        "are "
        "shares of test images named wrongly. The gate's constants follow sigma0 of the "
        "inputs by the orders of Algorithm 1: eta = alpha = sigma0^.5, lambda = Gamma = "
        "sigma0^1.25.",
        c.tasks, c.each, c.s, c.hidden);
    report_param_int(r, "repetitions on MNIST", p->reps);
    report_param_int(r, "rounds on MNIST", p->grid[p->points - 1]);
}

static void forgetting_mnist_draw(const struct plan *p)
{
    forgetting_mnist_opening(p);
    figures(p);
    report_table(p->task->report, "MNIST after the last round");
    for (int k = 0; k < NAMES * STOPS * SIZES; k++) {
        const struct arm *a = &p->arm[k / (STOPS * SIZES)][k / SIZES % STOPS][k % SIZES];
        if (a->series) forgetting_mnist_row(p, a);
    }
    forgetting_mnist_checks(p);
}

/* ---- */

int forgetting_mnist(struct lab_task *t, struct err *e)
{
    struct plan *p = calloc(1, sizeof *p);
    if (!p) return err_set(e, ERR_MEMORY, "no memory for the mixtures on images");
    p->task = t;
    p->reps = (int)lab_int(t, "image-reps");
    p->points = reps_grid(p->grid, 2, (int)lab_int(t, "image-rounds"));
    int rc = digits_set_find(&p->set, t, e);
    if (!rc && p->set) rc = forgetting_mnist_run_all(p, e);
    if (!rc && p->set) forgetting_mnist_draw(p);
    for (int k = 0; k < NAMES * STOPS * SIZES; k++) {
        struct arm *a = &p->arm[k / (STOPS * SIZES)][k / SIZES % STOPS][k % SIZES];
        reps_free(a->series);
        reps_free(a->end);
    }
    digits_set_free(p->set);
    free(p);
    return rc;
}
