#include "lab/forgetting/exact.h"

#include "forgetting_priv.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 200, STREAM = 1000003 /* apart from the repetitions' streams */ };

/* expectations at the points of the grid */
struct forms {
    double f[REPS_POINTS], g[REPS_POINTS];
};

struct trial {
    int points, grid[REPS_POINTS];
    struct task_pool pool;
    struct exact_norms norms;
    double r;
    struct forms exact, printed;
};

static void closed(struct trial *t)
{
    for (int p = 0; p < t->points; p++) {
        int at = t->grid[p];
        t->exact.f[p] = exact_f(t->norms, t->r, at);
        t->exact.g[p] = exact_g(t->norms, t->r, at);
        t->printed.f[p] = exact_printed_f(t->norms, t->r, at);
        t->printed.g[p] = exact_printed_g(t->norms, t->r, at);
    }
}

/* the recursion of second moments, at the grid's points */
static void recursion(struct forms *out, const struct trial *t, const struct task_cfg *c)
{
    double f[ROUNDS], g[ROUNDS];
    exact_moments(f, g, ROUNDS, &t->pool, c);
    for (int p = 0; p < t->points; p++) {
        out->f[p] = f[t->grid[p] - 1];
        out->g[p] = g[t->grid[p] - 1];
    }
}

static double farthest(const double *a, const double *b, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* the largest distance in standard errors over the points */
static double worst(const struct reps *series, int from, const double *expected,
                    int points)
{
    double most = 0;
    for (int p = 0; p < points; p++)
        most = fmax(most, fabs(reps_z(series, from + p, expected[p])));
    return most;
}

static void forgetting_exact_panel(struct report *r, const struct trial *t,
                                   const struct reps *series,
                                   enum forgetting_series which, const char *title,
                                   const char *axis, const double *exact,
                                   const double *printed)
{
    double x[REPS_POINTS];
    for (int p = 0; p < t->points; p++)
        x[p] = t->grid[p];
    report_panel(r, &(struct report_panel){
                        .title = title, .x = {.label = "round t"}, .y = {.label = axis}});
    reps_draw(r, "simulated", REPORT_POINTS, t->grid, t->points, series,
              (int)which * t->points);
    report_series(
        r, &(struct report_series){.name = "exact", .n = t->points, .x = x, .y = exact});
    report_series(r, &(struct report_series){.name = "Proposition 4 as printed",
                                             .kind = REPORT_DASHED,
                                             .n = t->points,
                                             .x = x,
                                             .y = printed});
}

static void both(struct report *r, const struct trial *t, const struct reps *series,
                 const struct forms *exact, const char *f_title, const char *g_title)
{
    forgetting_exact_panel(r, t, series, FORGETTING_FORGOT, f_title, "forgetting E[F_t]",
                           exact->f, t->printed.f);
    forgetting_exact_panel(r, t, series, FORGETTING_ERROR, g_title,
                           "generalisation error E[G_t]", exact->g, t->printed.g);
}

static void compare(struct report *r, const struct trial *t, const struct reps *off,
                    const struct reps *on, const struct forms *signal,
                    const struct forms *no_signal)
{
    int n = t->points, f = FORGETTING_FORGOT * n, g = FORGETTING_ERROR * n;
    report_check(r, "E[F], no signal: most standard errors from the exact form",
                 worst(off, f, t->exact.f, n), 0, 4);
    report_check(r, "E[G], no signal: most standard errors from the exact form",
                 worst(off, g, t->exact.g, n), 0, 4);
    report_check(r, "E[F], no signal: most standard errors from the printed form",
                 worst(off, f, t->printed.f, n), 4, INFINITY);
    report_check(r, "E[G], no signal: most standard errors from the printed form",
                 worst(off, g, t->printed.g, n), 4, INFINITY);
    report_check(r, "E[F], signal: most standard errors from the recursion",
                 worst(on, f, signal->f, n), 0, 4);
    report_check(r, "E[G], signal: most standard errors from the recursion",
                 worst(on, g, signal->g, n), 0, 4);
    report_check(r, "no signal: recursion minus closed forms, largest",
                 fmax(farthest(no_signal->f, t->exact.f, n),
                      farthest(no_signal->g, t->exact.g, n)),
                 0, 1e-10);
}

static int simulate(struct forgetting_arm *arm, const struct trial *t, bool signal,
                    int reps, const struct lab_task *task, struct err *e)
{
    arm->cfg = forgetting_sim_default(1, true);
    arm->cfg.task.signal = signal;
    arm->cfg.rounds = ROUNDS;
    return forgetting_repeat(arm, &t->pool, reps, t->grid, t->points, task, e);
}

static void forgetting_exact_prepare(struct trial *t, const struct task_cfg *c,
                                     uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed, STREAM);
    task_pool_draw(&t->pool, c, &rng);
    t->norms = exact_norms(&t->pool, c->tasks, c->d);
    t->r = 1 - (double)c->s / c->d;
    t->points = reps_grid(t->grid, 2, ROUNDS);
    closed(t);
}

static void forgetting_exact_words(struct report *r, int reps)
{
    report_heading(r, "One expert: is the model right?");
    report_text(
        r,
        "Proposition 4 gives the expected forgetting and error of one expert. As printed "
        "it counts a task as not yet learned in the very round that learns it. Exact, "
        "for an isotropic Gaussian X, with A = mean ||w_n||^2, B = mean ||w_n - "
        "w_n'||^2 and r = 1 - s/d: E[F_t] = 1/(t-1) sum_{tau<t} {(r^t - r^tau)(A - B) "
        "+ (1-r)(1 - r^(t-tau)) B}, E[G_T] = r^T A + (1 - r^T)(1 - 1/T) B. With the "
        "feature signal among the samples the norms alone no longer close; there the "
        "exact values come from a recursion of first and second moments.");
    report_figure(
        r, "exact", "One expert on a fixed pool",
        "Means of the repetitions with 95 % intervals, mostly smaller than the dots.");
    report_param_int(r, "repetitions against the closed forms", reps);
}

int forgetting_exact(struct lab_task *t, struct err *e)
{
    struct trial *trial = calloc(1, sizeof *trial);
    if (!trial) return err_set(e, ERR_MEMORY, "no memory for the closed forms");
    struct forgetting_arm off = {0}, on = {0};
    struct task_cfg with = forgetting_sim_default(1, true).task, without = with;
    without.signal = false;
    int reps = (int)lab_int(t, "exact-reps");
    struct forms signal, no_signal;

    int rc = LAB_STOPPED;
    if (lab_progress(t, 0, "one expert, no signal")) goto out;
    forgetting_exact_prepare(trial, &with, t->seed);
    recursion(&signal, trial, &with);
    recursion(&no_signal, trial, &without);
    rc = simulate(&off, trial, false, reps, t, e);
    if (rc) goto out;
    rc = LAB_STOPPED;
    if (lab_progress(t, .15, "one expert, with its signal")) goto out;
    rc = simulate(&on, trial, true, reps, t, e);
    if (rc) goto out;

    forgetting_exact_words(t->report, reps);
    both(t->report, trial, off.series, &trial->exact, "no signal: forgetting",
         "no signal: error");
    both(t->report, trial, on.series, &signal, "with signal: forgetting",
         "with signal: error");
    compare(t->report, trial, off.series, on.series, &signal, &no_signal);
out:
    forgetting_drop(&off);
    forgetting_drop(&on);
    free(trial);
    return rc;
}
