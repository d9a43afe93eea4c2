#include "lab/forgetting/edge.h"

#include "base/pool.h"
#include "edge_priv.h"
#include "lab/forgetting/servers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const int EXPERTS[EDGE_SIZES] = {5, 10, 30, 60};

/* ---- repetitions over threads */

struct crew {
    struct edge_arm *arm;
    const struct task_pool *pool;
    const int *grid;
    int points;
    uint64_t seed;
};

static int edge_repeat_one(void *ctx, int i, struct err *e)
{
    struct crew *c = ctx;
    struct edge_sim_end end;
    double *series = c->points ? reps_row(c->arm->series, i) : NULL;
    int rc =
        edge_sim_run(series, &end, &c->arm->cfg, c->pool, c->grid, c->points, c->seed, i);
    if (rc) return err_set(e, rc, "no memory for a repetition");

    double *row = reps_row(c->arm->end, i);
    row[EDGE_LAST] = end.error;
    row[EDGE_LAST_PRINTED] = end.error - end.printed;
    row[EDGE_LAST_EXACT] = end.error - end.exact;
    row[EDGE_LAST_FORM] = end.exact;
    row[EDGE_QUEUED] = (double)end.waited / c->arm->cfg.slots;
    row[EDGE_WAIT] = end.wait;
    row[EDGE_DELAY] = end.delay;
    return 0;
}

int edge_repeat(struct edge_arm *arm, const struct task_pool *pool, int reps,
                const int *grid, int points, const struct lab_task *t, struct err *e)
{
    arm->end = reps_new(reps, EDGE_ENDS, e);
    if (!arm->end) return ERR_MEMORY;
    if (points) arm->series = reps_new(reps, EDGE_SERIES * points, e);
    if (points && !arm->series) return ERR_MEMORY;
    struct crew c = {arm, pool, grid, points, t->seed};
    return pool_try(reps, t->threads, edge_repeat_one, &c, e);
}

void edge_drop(struct edge_arm *arm)
{
    reps_free(arm->series);
    reps_free(arm->end);
    arm->series = arm->end = NULL;
}

/* ---- the lab */

static void edge_opening(const struct lab_task *t)
{
    struct report *r = t->report;
    struct edge_sim_cfg c = edge_sim_default(5, EDGE_STOP);
    report_param_int(r, "repetitions", lab_int(t, "reps"));
    report_param_int(r, "slots T", lab_int(t, "slots"));
    report_param(r, "tasks", "N = %d clusters, p = %d, s = %d", c.task.clusters, c.task.d,
                 c.task.s);
    report_param(r, "data",
                 "sigma0 %g, sigma_t %g, v = %g w, beta in (0, 1], own part %g sigma0^2",
                 c.task.sigma0, c.task.sigma_t, c.task.scale, c.task.within);
    report_param(r, "gate",
                 "eta %g, noise up to %g, delta %g, T1 = d_u + ceil(M ln(M / delta))",
                 c.router.eta, c.router.noise, c.delta);
    report_param(r, "delays",
                 "transmission 1 to 5 by distance, execution 1 to 5 by server, "
                 "d_u = %d",
                 SERVERS_DELAY);
    report_text(
        r,
        "In each slot a user asks for one learning task near one of M edge servers. The "
        "task goes to an idle server, which is busy for a random time, then has learned "
        "it with the least change of its model. The generalisation error G_t is the mean "
        "distance of the tasks so far from the models that learned them. A gate that "
        "looks at the data may send like tasks to one server; offloading to the nearest "
        "or the most powerful idle server mixes them all.");
}

static int edge_run_arm(struct edge_plan *p, enum edge_rule rule, int size, struct err *e)
{
    struct edge_arm *arm = &p->arm[rule][size];
    char note[64];
    snprintf(note, sizeof note, "M = %d, %s", EXPERTS[size], edge_sim_rule(rule));
    double share = .3 + .3 * (size * EDGE_RULES + (int)rule) / (EDGE_SIZES * EDGE_RULES);
    if (lab_progress(p->task, share, note)) return LAB_STOPPED;
    arm->cfg = edge_sim_default(EXPERTS[size], rule);
    arm->cfg.slots = p->grid[p->points - 1];
    return edge_repeat(arm, NULL, p->reps, p->grid, p->points, p->task, e);
}

static int rules(struct lab_task *t, struct err *e)
{
    struct edge_plan p = {.task = t, .reps = (int)lab_int(t, "reps")};
    p.points = reps_grid(p.grid, 10, (int)lab_int(t, "slots"));
    int rc = 0;
    for (int i = 0; i < EDGE_SIZES && !rc; i++)
        for (int rule = 0; rule < EDGE_RULES && !rc; rule++)
            rc = edge_run_arm(&p, (enum edge_rule)rule, i, e);
    if (!rc) edge_draw(&p);
    for (int i = 0; i < EDGE_SIZES; i++)
        for (int rule = 0; rule < EDGE_RULES; rule++)
            edge_drop(&p.arm[rule][i]);
    return rc;
}

static int edge_run(struct lab_task *t, struct err *e)
{
    edge_opening(t);
    int rc = edge_exact(t, e);
    if (!rc) rc = rules(t, e);
    if (!rc) rc = edge_mnist(t, e);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    {"reps", "N", "repetitions of each rule", LAB_INT, .value = 100, .quick = 5, .lo = 2,
     .hi = 100000},
    {"slots", "T", "slots in which a task arrives", LAB_INT, .value = 3000, .quick = 3000,
     .lo = 1000, .hi = 100000},
    {"exact-reps", "N", "repetitions that are held against Proposition 9", LAB_INT,
     .value = 1000, .quick = 500, .lo = 100, .hi = 1000000},
    {"exact-slots", "T",
     "slots of the longer of the two tests of Proposition 9; 300: only the short one",
     LAB_INT, .value = 3000, .quick = 300, .lo = 300, .hi = 100000},
    {"image-reps", "N", "repetitions of each rule on MNIST", LAB_INT, .value = 12,
     .quick = 4, .lo = 2, .hi = 10000},
    {"image-slots", "T", "slots in which a task arrives, on MNIST", LAB_INT, .value = 900,
     .quick = 250, .lo = 50, .hi = 100000},
    {0},
};

const struct lab edge_lab = {
    .name = "edge",
    .about = "specialised experts among busy edge servers",
    .title = "Mixture of experts in mobile edge computing",
    .source = "Li and Duan, Theory on Mixture-of-Experts in Mobile Edge Computing, "
              "INFOCOM 2025",
    .options = OPTIONS,
    .run = edge_run,
};
