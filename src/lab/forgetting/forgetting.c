#include "lab/forgetting/forgetting.h"

#include "base/pool.h"
#include "forgetting_priv.h"

#include <math.h>
#include <stdio.h>

static const int EXPERTS[FORGETTING_SIZES] = {1, 5, 10, 20};

/* ---- repetitions over threads */

struct crew {
    struct forgetting_arm *arm;
    const struct task_pool *pool;
    const int *grid;
    int points;
    uint64_t seed;
};

static void forgetting_repeat_one(void *ctx, int i)
{
    struct crew *c = ctx;
    const struct forgetting_sim_cfg *cfg = &c->arm->cfg;
    struct forgetting_sim_end end;
    forgetting_sim_run(reps_row(c->arm->series, i), &end, cfg, c->pool, c->grid,
                       c->points, c->seed, i);

    struct forgetting_sim_spread s =
        forgetting_sim_spread(&end, cfg->router.experts, cfg->task.clusters);
    double *row = reps_row(c->arm->end, i);
    row[FORGETTING_STOPPED] = end.stopped ? end.stopped : (double)NAN;
    row[FORGETTING_HOME] = s.home;
    row[FORGETTING_EVEN] = s.even;
    row[FORGETTING_SERVED] = s.served;
}

int forgetting_repeat(struct forgetting_arm *arm, const struct task_pool *pool, int reps,
                      const int *grid, int points, const struct lab_task *t,
                      struct err *e)
{
    arm->series = reps_new(reps, FORGETTING_SERIES * points, e);
    arm->end = arm->series ? reps_new(reps, FORGETTING_ENDS, e) : NULL;
    if (!arm->end) return ERR_MEMORY;
    struct crew c = {arm, pool, grid, points, t->seed};
    pool_run(reps, t->threads, forgetting_repeat_one, &c);
    return 0;
}

void forgetting_drop(struct forgetting_arm *arm)
{
    reps_free(arm->series);
    reps_free(arm->end);
    arm->series = arm->end = NULL;
}

/* ---- the lab */

static void forgetting_opening(const struct lab_task *t)
{
    struct report *r = t->report;
    struct forgetting_sim_cfg c = forgetting_sim_default(1, true);
    report_param_int(r, "repetitions", lab_int(t, "reps"));
    report_param_int(r, "rounds T", lab_int(t, "rounds"));
    report_param(r, "tasks", "N = %d in K = %d clusters, d = %d, s = %d", c.task.tasks,
                 c.task.clusters, c.task.d, c.task.s);
    report_param(r, "data", "sigma0 %g, sigma_t %g, v = %g w, beta in (0, 1]",
                 c.task.sigma0, c.task.sigma_t, c.task.scale);
    report_param(r, "gate", "eta %g, alpha %g, lambda %g, Gamma %.3g, T1 = ceil(M / eta)",
                 c.router.eta, c.router.alpha, c.router.noise, c.router.gamma);
    report_text(
        r,
        "Tasks of a linear model arrive one by one in random order. A gate sends each to "
        "one of M experts, which learns it with the least change of its weights and so "
        "forgets some of what it knew. Forgetting F_t is what was lost of the tasks "
        "since each was learned, G_T the mean error on all of them at the end. The "
        "gate learns to send tasks where little has to change (locality loss) and to "
        "use all experts (auxiliary loss). With termination it stops learning once "
        "all experts have been within Gamma of the chosen one.");
}

static int forgetting_run_arm(struct forgetting_plan *p, struct forgetting_arm *arm,
                              int experts, bool terminate, double share, struct err *e)
{
    char note[64];
    snprintf(note, sizeof note, "M = %d, %s termination", experts,
             terminate ? "with" : "without");
    if (lab_progress(p->task, share, note)) return LAB_STOPPED;
    arm->cfg = forgetting_sim_default(experts, terminate);
    arm->cfg.rounds = p->grid[p->points - 1];
    return forgetting_repeat(arm, NULL, p->reps, p->grid, p->points, p->task, e);
}

static int mixtures(struct lab_task *t, struct err *e)
{
    struct forgetting_plan p = {.task = t, .reps = (int)lab_int(t, "reps")};
    p.points = reps_grid(p.grid, 2, (int)lab_int(t, "rounds"));
    int rc = 0;
    for (int i = 0; i < FORGETTING_SIZES && !rc; i++) {
        double share = .3 + .3 * i / FORGETTING_SIZES;
        rc = forgetting_run_arm(&p, &p.stop[i], EXPERTS[i], true, share, e);
        if (!rc) rc = forgetting_run_arm(&p, &p.on[i], EXPERTS[i], false, share + .03, e);
    }
    if (!rc) forgetting_draw(&p);
    for (int i = 0; i < FORGETTING_SIZES; i++) {
        forgetting_drop(&p.stop[i]);
        forgetting_drop(&p.on[i]);
    }
    return rc;
}

static int forgetting_run(struct lab_task *t, struct err *e)
{
    forgetting_opening(t);
    int rc = forgetting_exact(t, e);
    if (!rc) rc = mixtures(t, e);
    if (!rc) rc = forgetting_mnist(t, e);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    {"reps", "N", "repetitions of each mixture", LAB_INT, .value = 400, .quick = 50,
     .lo = 50, .hi = 100000},
    {"rounds", "T", "rounds of each mixture", LAB_INT, .value = 1000, .quick = 1000,
     .lo = 100, .hi = 100000},
    {"exact-reps", "N", "repetitions that are held against the closed forms", LAB_INT,
     .value = 20000, .quick = 2000, .lo = 2000, .hi = 1000000},
    {"image-reps", "N", "repetitions of each mixture on MNIST", LAB_INT, .value = 30,
     .quick = 8, .lo = 2, .hi = 10000},
    {"image-rounds", "T", "rounds of each mixture on MNIST", LAB_INT, .value = 600,
     .quick = 250, .lo = 20, .hi = 100000},
    {0},
};

const struct lab forgetting_lab = {
    .name = "forgetting",
    .about = "experts forget less once their router stops learning",
    .title = "Mixture of experts in continual learning",
    .source = "Li et al., Theory on Mixture-of-Experts in Continual Learning, "
              "arXiv 2406.16437",
    .options = OPTIONS,
    .run = forgetting_run,
};
