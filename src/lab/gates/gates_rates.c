#include "gates_priv.h"

#include "base/pool.h"
#include "lab/gates/fit.h"
#include "lab/reps.h"

#include <math.h>
#include <stdio.h>

enum { EXPERTS = 3, GATES = RESIDUAL_KINDS, POINTS = 7 };

static const char *const EXPERT[EXPERTS] = {"a'x + b", "(a'x + b)^2", "GELU(a'x + b)"};
static const double FEWEST = 3, MOST = 6; /* decades of n */

enum measured { L1, L2, ERROR, MEASURED };

/* columns of an arm's table: a block of points per measured value (log10), then its slope */
struct arm {
    struct fit_cfg cfg;
    struct reps *reps;
};

struct plan {
    struct lab_task *task;
    int reps, points;
    double decade[POINTS];
    struct arm arm[EXPERTS][GATES];
};

static int gates_rates_column(const struct plan *p, enum measured m, int point)
{
    return (int)m * p->points + point;
}

static int slope_column(const struct plan *p, enum measured m)
{
    return MEASURED * p->points + (int)m;
}

/* of the least squares line through (x, y) */
static double slope(const double *x, const double *y, int n)
{
    double mx = 0, my = 0, up = 0, down = 0;
    for (int i = 0; i < n; i++) {
        mx += x[i] / n;
        my += y[i] / n;
    }
    for (int i = 0; i < n; i++) {
        up += (x[i] - mx) * (y[i] - my);
        down += (x[i] - mx) * (x[i] - mx);
    }
    return up / down;
}

/* ---- repetitions */

struct crew {
    const struct plan *p;
    struct arm *arm;
};

/* all arms meet the same samples' places and noise */
static void gates_rates_repeat(void *ctx, int i)
{
    const struct crew *c = ctx;
    const struct plan *p = c->p;
    double *row = reps_row(c->arm->reps, i);
    for (int k = 0; k < p->points; k++) {
        struct rng r;
        struct fit fit;
        rng_init(&r, p->task->seed, (uint64_t)i * POINTS + (uint64_t)k);
        fit_run(&fit, &c->arm->cfg, llround(pow(10, p->decade[k])), &r);
        row[gates_rates_column(p, L1, k)] = log10(fit.l1);
        row[gates_rates_column(p, L2, k)] = log10(fit.l2);
        row[gates_rates_column(p, ERROR, k)] = log10(fit.error);
    }
    for (int m = 0; m < MEASURED; m++)
        row[slope_column(p, (enum measured)m)] =
            slope(p->decade, &row[gates_rates_column(p, (enum measured)m, 0)], p->points);
}

static int gates_rates_run_arm(struct plan *p, int expert, int gate, struct err *e)
{
    struct arm *a = &p->arm[expert][gate];
    char note[80];
    snprintf(note, sizeof note, "regression: %s gate, experts %s",
             residual_word((enum residual_kind)gate), EXPERT[expert]);
    double share = (expert * GATES + gate) / (double)(EXPERTS * GATES);
    if (lab_progress(p->task, share, note)) return LAB_STOPPED;
    a->cfg = fit_default((enum residual_kind)gate,
                         expert == 2 ? PREFIX_MOE_GELU : PREFIX_MOE_POWER, expert + 1);
    a->cfg.starts = (int)lab_int(p->task, "starts");
    a->reps = reps_new(p->reps, MEASURED * (p->points + 1), e);
    if (!a->reps) return ERR_MEMORY;
    pool_run(p->reps, p->task->threads, gates_rates_repeat, &(struct crew){p, a});
    return 0;
}

/* ---- figures and tables */

static void gates_rates_curve(const struct plan *p, int expert, int gate, enum measured m)
{
    double n[POINTS], y[POINTS], lo[POINTS], hi[POINTS];
    reps_band(y, lo, hi, p->arm[expert][gate].reps, gates_rates_column(p, m, 0),
              p->points);
    for (int k = 0; k < p->points; k++) {
        n[k] = pow(10, p->decade[k]);
        y[k] = pow(10, y[k]);
        lo[k] = pow(10, lo[k]);
        hi[k] = pow(10, hi[k]);
    }
    report_series(p->task->report,
                  &(struct report_series){.name = residual_word((enum residual_kind)gate),
                                          .n = p->points,
                                          .x = n,
                                          .y = y,
                                          .lo = lo,
                                          .hi = hi});
}

static void gates_rates_figure(const struct plan *p, enum measured m, const char *id,
                               const char *title, const char *caption, const char *y)
{
    struct report *r = p->task->report;
    report_figure(r, id, title, caption);
    for (int e = 0; e < EXPERTS; e++) {
        report_panel(r, &(struct report_panel){.title = EXPERT[e],
                                               .x = {.label = "samples n", .log = true},
                                               .y = {.label = y, .log = true}});
        for (int g = 0; g < GATES; g++)
            gates_rates_curve(p, e, g, m);
    }
}

static struct stats_interval slope_of(const struct plan *p, int expert, int gate,
                                      enum measured m)
{
    return reps_mean(p->arm[expert][gate].reps, slope_column(p, m));
}

static void slope_cell(const struct plan *p, int expert, int gate, enum measured m,
                       const char *name)
{
    struct stats_interval s = slope_of(p, expert, gate, m);
    report_interval(p->task->report, name, s.mean, s.lo, s.hi, 2);
}

/* the linear gate's slope of L1 minus the other's; above 0: the linear gate is slower */
static struct stats_interval slower(const struct plan *p, int expert, int gate)
{
    return reps_gap(p->arm[expert][RESIDUAL_LINEAR].reps, slope_column(p, L1),
                    p->arm[expert][gate].reps, slope_column(p, L1));
}

static void gates_rates_table(const struct plan *p)
{
    struct report *r = p->task->report;
    report_table(r, "Rates: slopes of log loss over log n");
    for (int e = 0; e < EXPERTS; e++)
        for (int g = 0; g < GATES; g++) {
            report_row(r);
            report_cell(r, "experts", "%s", EXPERT[e]);
            report_cell(r, "gate", "%s", residual_word((enum residual_kind)g));
            slope_cell(p, e, g, L1, "L1 (Eq. 20)");
            slope_cell(p, e, g, L2, "L2,2 (Eq. 26)");
            slope_cell(p, e, g, ERROR, "||g^ - g*||");
            report_real(r, "L1 at the largest n",
                        pow(10, reps_mean(p->arm[e][g].reps,
                                          gates_rates_column(p, L1, p->points - 1))
                                    .mean),
                        3);
            if (g == RESIDUAL_LINEAR) continue;
            struct stats_interval s = slower(p, e, g);
            report_interval(r, "linear slower by", s.mean, s.lo, s.hi, 2);
        }
}

static void gates_rates_claim(struct report *r, const char *what, const char *ours,
                              enum report_verdict v)
{
    report_row(r);
    report_cell(r, "claim", "%s", what);
    report_cell(r, "ours", "%s", ours);
    report_verdict(r, "verdict", v);
}

/* in how many of the non-linear arms of an expert the linear gate is slower, at 95 % */
static int arms_slower(const struct plan *p, int expert)
{
    int n = 0;
    for (int g = 0; g < GATES; g++)
        n += g != RESIDUAL_LINEAR && slower(p, expert, g).lo > 0;
    return n;
}

static void gates_rates_claims(const struct plan *p)
{
    struct report *r = p->task->report;
    char ours[160];
    report_table(r, "Claims on the rates");
    double least = 0, most = -9;
    for (int e = 0; e < EXPERTS; e++)
        for (int g = 0; g < GATES; g++) {
            double s = slope_of(p, e, g, ERROR).mean;
            least = fmin(least, s);
            most = fmax(most, s);
        }
    snprintf(ours, sizeof ours, "slopes %.2f to %.2f, all gates and experts", least,
             most);
    gates_rates_claim(r, "regression error falls as n^-1/2 up to a log (Theorem 4.1)",
                      ours, least > -.6 && most < -.4 ? REPORT_PASS : REPORT_DIFFERS);

    struct stats_interval s = slope_of(p, 2, RESIDUAL_TANH, L1);
    snprintf(ours, sizeof ours, "tanh gate, GELU experts: slope %.2f (%.2f .. %.2f)",
             s.mean, s.lo, s.hi);
    gates_rates_claim(r,
                      "L1 falls as n^-1/2 with a non-linear residual gate (Theorem 4.3)",
                      ours, s.mean <= -.5 + .1 ? REPORT_PASS : REPORT_SHORT);

    for (int e = 0; e < EXPERTS; e++) {
        char what[120];
        int n = arms_slower(p, e);
        snprintf(what, sizeof what, "the linear gate is slower, experts %s (Theorem A.1)",
                 EXPERT[e]);
        snprintf(ours, sizeof ours, "slower than %d of %d non-linear gates, at 95 %%", n,
                 GATES - 1);
        gates_rates_claim(r, what, ours,
                          n == GATES - 1 ? REPORT_PASS
                          : n            ? REPORT_SHORT
                                         : REPORT_DIFFERS);
    }
}

static void gates_rates_explain(const struct plan *p)
{
    const struct fit_cfg *c = &p->arm[0][0].cfg;
    struct report *r = p->task->report;
    report_heading(r, "How fast are prefix experts found? (Section 4.2, Appendix A)");
    report_text(
        r,
        "One frozen and L = %d unknown experts, L' = %d fitted by least squares, from "
        "%d starts by Levenberg-Marquardt, half of them near the truth; noise %g, X "
        "uniform on %d x %d points, so that the fit needs no more than the means there.",
        c->truth.n, c->atoms, c->starts, c->noise, c->side, c->side);
    report_text(
        r,
        "The paper sets the gates apart by Theorems 4.3 and A.1, both for experts "
        "(a'x + b)^p. The sequence that proves A.1 moves b of two halves of one atom "
        "that keep the same gate, so it leaves g as it is for any gate, the non-linear "
        "ones too; and since h(x, c eta) = c^p h(x, eta), halves of different length do "
        "the same for any p. By Euler's relation such experts are not algebraically "
        "independent (Definition 4.2), though they are the paper's example: with them "
        "neither gate has a unique fit, and where a fit ends depends on where it "
        "began. GELU experts are not homogeneous, and there the theorem applies.");
}

static void gates_rates_checks(const struct plan *p)
{
    for (int e = 0; e < EXPERTS; e++)
        for (int g = 0; g < GATES; g++) {
            char name[120];
            snprintf(name, sizeof name, "slope of ||g^ - g*||, %s gate, experts %s",
                     residual_word((enum residual_kind)g), EXPERT[e]);
            report_check(p->task->report, name, slope_of(p, e, g, ERROR).mean, -.6, -.4);
        }
}

static void gates_rates_draw(const struct plan *p)
{
    gates_rates_explain(p);
    gates_rates_claims(p);
    gates_rates_table(p);
    gates_split(p->task->report);
    gates_rates_figure(
        p, L1, "voronoi", "Voronoi loss over the number of samples",
        "L1 of Eq. 20 for both kinds of gate; geometric means over repetitions with 95 % "
        "bands.",
        "Voronoi loss L1");
    gates_rates_figure(p, ERROR, "regression", "Error of the regression function",
                       "Theorem 4.1 says sqrt(log(n) / n), whatever the gate.",
                       "||g^ - g*||");
    gates_rates_checks(p);
}

int gates_rates(struct lab_task *t, struct err *e)
{
    struct plan p = {.task = t,
                     .reps = (int)lab_int(t, "reps"),
                     .points = t->quick ? POINTS / 2 + 1 : POINTS};
    for (int k = 0; k < p.points; k++)
        p.decade[k] = FEWEST + (MOST - FEWEST) * k / (p.points - 1);
    int rc = 0;
    lab_part(t, 0, .2);
    for (int x = 0; x < EXPERTS && !rc; x++)
        for (int g = 0; g < GATES && !rc; g++)
            rc = gates_rates_run_arm(&p, x, g, e);
    if (!rc) gates_rates_draw(&p);
    for (int x = 0; x < EXPERTS; x++)
        for (int g = 0; g < GATES; g++)
            reps_free(p.arm[x][g].reps);
    return rc;
}
