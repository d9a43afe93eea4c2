/* The regression of Section 4.2 and Appendix A: how fast prefix experts are found, and measures that
 * no sample tells from the truth. */
#include "gates_priv.h"

#include "base/pool.h"
#include "lab/gates/fit.h"

#include <math.h>
#include <stdio.h>

enum { EXPERTS = 3, GATES = RESIDUAL_KINDS, ARMS = GATES * EXPERTS, POINTS = 7 };

static const char *const EXPERT[EXPERTS] = {"a'x + b", "(a'x + b)^2", "GELU(a'x + b)"};
static const double FEWEST = 3, MOST = 6; /* decades of n */

/* Columns of an arm: the slope of each measured value over n, then its log10 at each n. */
enum { L1, L2, ERROR, MEASURED, COLUMNS = MEASURED * (1 + POINTS) };

static int rates_column(int measured, int point)
{
    return MEASURED + measured * POINTS + point;
}

/* Arm gate * EXPERTS + expert. */
struct rates {
    struct lab_task *task;
    int repeats, points;
    double decade[POINTS];
    struct fit_cfg cfg[ARMS];
    struct reps *reps[ARMS];
};

/* The slope of the least squares line through (x, y). */
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

/* ---- repetitions ---- */

struct crew {
    const struct rates *p;
    int arm;
};

/* All arms get the same places and noise of the samples. */
static void rates_repeat(void *ctx, int i)
{
    const struct crew *c = ctx;
    const struct rates *p = c->p;
    double *row = reps_row(p->reps[c->arm], i);
    for (int k = 0; k < p->points; k++) {
        struct rng r;
        struct fit fit;
        rng_init(&r, p->task->seed, (uint64_t)i * POINTS + (uint64_t)k);
        fit_run(&fit, &p->cfg[c->arm], llround(pow(10, p->decade[k])), &r);
        row[rates_column(L1, k)] = log10(fit.l1);
        row[rates_column(L2, k)] = log10(fit.l2);
        row[rates_column(ERROR, k)] = log10(fit.error);
    }
    for (int m = 0; m < MEASURED; m++)
        row[m] = slope(p->decade, &row[rates_column(m, 0)], p->points);
}

static int rates_run_arm(struct rates *p, int expert, int gate, struct err *e)
{
    int arm = gate * EXPERTS + expert;
    char note[80];
    snprintf(note, sizeof note, "regression: %s gate, experts %s",
             residual_word((enum residual_kind)gate), EXPERT[expert]);
    if (lab_progress(p->task, (expert * GATES + gate) / (double)ARMS, note))
        return LAB_STOPPED;
    p->cfg[arm] =
        fit_default((enum residual_kind)gate,
                    expert == 2 ? PREFIX_MOE_GELU : PREFIX_MOE_POWER, expert + 1);
    p->cfg[arm].starts = (int)lab_int(p->task, "starts");
    p->reps[arm] = reps_new(p->repeats, COLUMNS, e);
    if (!p->reps[arm]) return ERR_MEMORY;
    pool_run(p->repeats, p->task->threads, rates_repeat, &(struct crew){p, arm});
    return 0;
}

/* ---- tables and figures ---- */

static const struct {
    const char *id, *title, *caption, *y;
    int measured;
} FIGURES[] = {
    {"voronoi", "Voronoi loss over the number of samples",
     "L1 of Eq. 20 for both kinds of gate; geometric means over repetitions with 95 % "
     "bands.",
     "Voronoi loss L1", L1},
    {"regression", "Error of the regression function",
     "Theorem 4.1 says sqrt(log(n) / n), whatever the gate.", "||g^ - g*||", ERROR},
};

static void rates_curve(const struct rates *p, int arm, int measured)
{
    struct stats_interval y[POINTS];
    double n[POINTS];
    for (int k = 0; k < p->points; k++) {
        struct stats_interval s = reps_mean(p->reps[arm], rates_column(measured, k));
        n[k] = pow(10, p->decade[k]);
        y[k] = (struct stats_interval){pow(10, s.mean), pow(10, s.lo), pow(10, s.hi)};
    }
    claims_points(p->task->report, residual_word((enum residual_kind)(arm / EXPERTS)),
                  REPORT_LINE, n, y, p->points);
}

static void rates_figures(const struct rates *p)
{
    struct report *r = p->task->report;
    for (size_t i = 0; i < sizeof FIGURES / sizeof *FIGURES; i++) {
        report_figure(r, FIGURES[i].id, FIGURES[i].title, FIGURES[i].caption);
        for (int e = 0; e < EXPERTS; e++) {
            report_panel(
                r, &(struct report_panel){.title = EXPERT[e],
                                          .x = {.label = "samples n", .log = true},
                                          .y = {.label = FIGURES[i].y, .log = true}});
            for (int g = 0; g < GATES; g++)
                rates_curve(p, g * EXPERTS + e, FIGURES[i].measured);
        }
    }
}

static struct stats_interval slope_of(const struct rates *p, int expert, int gate, int m)
{
    return reps_mean(p->reps[gate * EXPERTS + expert], m);
}

/* The slope of L1 with the linear gate minus that with the other; above 0: linear is slower. */
static struct stats_interval slower(const struct rates *p, int expert, int gate)
{
    return reps_gap(p->reps[RESIDUAL_LINEAR * EXPERTS + expert], L1,
                    p->reps[gate * EXPERTS + expert], L1);
}

static void rates_table(const struct rates *p)
{
    struct report *r = p->task->report;
    report_table(r, "Rates: slopes of log loss over log n");
    for (int e = 0; e < EXPERTS; e++)
        for (int g = 0; g < GATES; g++) {
            int last = rates_column(L1, p->points - 1);
            report_row(r);
            report_cell(r, "experts", "%s", EXPERT[e]);
            report_cell(r, "gate", "%s", residual_word((enum residual_kind)g));
            claims_cell(r, "L1 (Eq. 20)", slope_of(p, e, g, L1), 2);
            claims_cell(r, "L2,2 (Eq. 26)", slope_of(p, e, g, L2), 2);
            claims_cell(r, "||g^ - g*||", slope_of(p, e, g, ERROR), 2);
            report_real(r, "L1 at the largest n", pow(10, slope_of(p, e, g, last).mean),
                        3);
            if (g != RESIDUAL_LINEAR)
                claims_cell(r, "linear slower by", slower(p, e, g), 2);
        }
}

static void rates_claim(struct report *r, const char *what, const char *ours,
                        enum report_verdict v)
{
    report_row(r);
    report_cell(r, "claim", "%s", what);
    report_cell(r, "ours", "%s", ours);
    report_verdict(r, "verdict", v);
}

static void rates_claims(const struct rates *p)
{
    struct report *r = p->task->report;
    char what[120], ours[160];
    report_table(r, "Claims on the rates");
    double least = 0, most = -9;
    for (int i = 0; i < ARMS; i++) {
        double s = reps_mean(p->reps[i], ERROR).mean;
        least = fmin(least, s);
        most = fmax(most, s);
    }
    snprintf(ours, sizeof ours, "slopes %.2f to %.2f, all gates and experts", least,
             most);
    rates_claim(r, "regression error falls as n^-1/2 up to a log (Theorem 4.1)", ours,
                least > -0.6 && most < -0.4 ? REPORT_PASS : REPORT_DIFFERS);

    struct stats_interval s = slope_of(p, 2, RESIDUAL_TANH, L1);
    snprintf(ours, sizeof ours, "tanh gate, GELU experts: slope %.2f (%.2f .. %.2f)",
             s.mean, s.lo, s.hi);
    rates_claim(r, "L1 falls as n^-1/2 with a non-linear residual gate (Theorem 4.3)",
                ours, s.mean <= -0.5 + 0.1 ? REPORT_PASS : REPORT_SHORT);

    for (int e = 0; e < EXPERTS; e++) {
        int n = 0;
        for (int g = 0; g < GATES; g++)
            n += g != RESIDUAL_LINEAR && slower(p, e, g).lo > 0;
        snprintf(what, sizeof what, "the linear gate is slower, experts %s (Theorem A.1)",
                 EXPERT[e]);
        snprintf(ours, sizeof ours, "slower than %d of %d non-linear gates, at 95 %%", n,
                 GATES - 1);
        rates_claim(r, what, ours,
                    n == GATES - 1 ? REPORT_PASS
                    : n            ? REPORT_SHORT
                                   : REPORT_DIFFERS);
    }
}

static void rates_explain(const struct rates *p)
{
    const struct fit_cfg *c = &p->cfg[0];
    struct report *r = p->task->report;
    report_heading(r, "How fast are prefix experts found? (Section 4.2, Appendix A)");
    report_text(
        r,
        "One frozen and L = %d unknown experts. Least squares fits L' = %d experts by "
        "Levenberg-Marquardt from %d starts, half of them near the truth. The noise is "
        "%g. X is uniform on %d x %d points, so a fit needs only the means there.",
        c->truth.n, c->atoms, c->starts, c->noise, c->side, c->side);
    report_text(
        r,
        "The paper sets the gates apart by Theorems 4.3 and A.1, both for experts "
        "(a'x + b)^p. The proof of A.1 uses a sequence that moves b of two halves of one "
        "atom with the same gate. That leaves g as it is for any gate, the non-linear "
        "ones too. Halves of different length do the same for any p, because "
        "h(x, c eta) = c^p h(x, eta). By Euler's relation such experts are not "
        "algebraically independent (Definition 4.2), though they are the paper's "
        "example. With them neither gate has a unique fit: where a fit ends depends on "
        "where it began. GELU experts are not homogeneous, and there the theorem "
        "applies.");
}

static void rates_checks(const struct rates *p)
{
    for (int e = 0; e < EXPERTS; e++)
        for (int g = 0; g < GATES; g++) {
            char name[120];
            snprintf(name, sizeof name, "slope of ||g^ - g*||, %s gate, experts %s",
                     residual_word((enum residual_kind)g), EXPERT[e]);
            report_check(p->task->report, name, slope_of(p, e, g, ERROR).mean, -0.6,
                         -0.4);
        }
}

/* ---- measures that no sample tells from the truth (Appendix A's sequence) ---- */

static const struct split {
    const char *how;
    enum prefix_moe_expert expert;
    int power;
} SPLITS[] = {
    {"a'x + b, b + t and b - t (Appendix A's sequence)", PREFIX_MOE_POWER, 1},
    {"(a'x + b)^2, (1 + t) eta and c eta with c^2 = 2 - (1 + t)^2", PREFIX_MOE_POWER, 2},
    {"GELU(a'x + b), b + t and b - t", PREFIX_MOE_GELU, 0},
};

/* Half of the first atom moves by t; the other half makes up for it. */
static struct prefix_moe_measure split_by(const struct fit_cfg *c, double t)
{
    struct prefix_moe_measure g = c->truth;
    g.n = 3;
    g.atom[2] = g.atom[1];
    g.atom[0].beta0 -= log(2);
    g.atom[1] = g.atom[0];
    if (c->model.expert == PREFIX_MOE_GELU || c->model.power == 1) {
        g.atom[0].b += t;
        g.atom[1].b -= t;
        return g;
    }
    double up = 1 + t, down = pow(2 - pow(up, c->model.power), 1.0 / c->model.power);
    for (int k = 0; k < PREFIX_MOE_DIM; k++) {
        g.atom[0].a[k] *= up;
        g.atom[1].a[k] *= down;
    }
    g.atom[0].b *= up;
    g.atom[1].b *= down;
    return g;
}

/* Largest change of g over mu's support, and L1, when an atom is split by t. */
static double split_change(double *l1, const struct fit_cfg *c, double t)
{
    struct prefix_moe_measure g = split_by(c, t);
    double worst = 0;
    for (int i = 0; i < c->side; i++)
        for (int j = 0; j < c->side; j++) {
            const double x[2] = {2.0 * i / (c->side - 1) - 1,
                                 2.0 * j / (c->side - 1) - 1};
            worst = fmax(worst, fabs(prefix_moe_value(&c->model, &g, x, NULL) -
                                     prefix_moe_value(&c->model, &c->truth, x, NULL)));
        }
    *l1 = prefix_moe_l1(&g, &c->truth);
    return worst;
}

static void split_row(struct report *r, const struct split *s, const struct fit_cfg *c)
{
    static const struct {
        double by;
        const char *column;
    } moves[] = {{0.3, "moved by .3"}, {0.1, "by .1"}, {0.03, "by .03"}};
    report_row(r);
    report_cell(r, "halves of an atom", "%s", s->how);
    report_cell(r, "gate", "%s", residual_word(c->model.gate.kind));
    for (int i = 0; i < 3; i++) {
        double l1, change = split_change(&l1, c, moves[i].by);
        report_cell(r, moves[i].column, "%.1e / %.1e", change, l1);
    }
}

static void rates_splits(struct report *r)
{
    static const enum residual_kind gate[2] = {RESIDUAL_LINEAR, RESIDUAL_TANH};
    double most = 0, least = INFINITY; /* ratio of the change of g to L1: powers, GELU */
    report_table(r, "Measures that no sample tells apart: largest change of g / L1");
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 3; i++) {
            struct fit_cfg c = fit_default(gate[k], SPLITS[i].expert, SPLITS[i].power);
            split_row(r, &SPLITS[i], &c);
            for (double l1, t = 0.3; t > 1e-2; t /= 2) {
                double change = split_change(&l1, &c, t);
                if (SPLITS[i].expert == PREFIX_MOE_GELU)
                    least = fmin(least, change / l1);
                else
                    most = fmax(most, change / l1);
            }
        }
    report_check(r, "experts (a'x + b)^p: a split changes g / L1 by, either gate, most",
                 most, 0, 1e-9);
    report_check(r,
                 "experts GELU(a'x + b): a split changes g / L1 by, either gate, least",
                 least, 1e-3, INFINITY);
}

/* ---- all of it ---- */

int gates_rates(struct lab_task *t, struct err *e)
{
    struct rates p = {.task = t,
                      .repeats = (int)lab_int(t, "reps"),
                      .points = t->quick ? POINTS / 2 + 1 : POINTS};
    for (int k = 0; k < p.points; k++)
        p.decade[k] = FEWEST + (MOST - FEWEST) * k / (p.points - 1);
    int rc = 0;
    lab_part(t, 0, 0.2);
    for (int x = 0; x < EXPERTS && !rc; x++)
        for (int g = 0; g < GATES && !rc; g++)
            rc = rates_run_arm(&p, x, g, e);
    if (!rc) {
        rates_explain(&p);
        rates_claims(&p);
        rates_table(&p);
        rates_splits(t->report);
        rates_figures(&p);
        rates_checks(&p);
    }
    for (int i = 0; i < ARMS; i++)
        reps_free(p.reps[i]);
    return rc;
}
