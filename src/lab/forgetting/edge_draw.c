#include "edge_priv.h"

#include <math.h>
#include <stdio.h>

static int edge_draw_column(const struct edge_plan *p, enum edge_series s, int point)
{
    return (int)s * p->points + point;
}

static void edge_draw_curve(const struct edge_plan *p, const struct edge_arm *a,
                            enum edge_series s, enum report_kind kind, const char *name)
{
    reps_draw(p->task->report, name, kind, p->grid, p->points, a->series,
              (int)s * p->points);
}

static void edge_draw_panel(const struct edge_plan *p, const char *title, const char *y)
{
    report_panel(p->task->report, &(struct report_panel){.title = title,
                                                         .x = {.label = "slot t"},
                                                         .y = {.label = y}});
}

static const char *edge_draw_named(char name[32], const struct edge_arm *a)
{
    snprintf(name, 32, "M = %d", a->cfg.router.experts);
    return name;
}

/* ---- the slides' figure */

static void sizes_panel(const struct edge_plan *p, enum edge_rule rule)
{
    char name[32];
    edge_draw_panel(p, edge_sim_rule((enum edge_rule)rule), "generalisation error G_t");
    for (int i = 0; i < EDGE_SIZES; i++)
        edge_draw_curve(p, &p->arm[rule][i], EDGE_ERROR, REPORT_LINE,
                        edge_draw_named(name, &p->arm[rule][i]));
}

static void main_figures(const struct edge_plan *p)
{
    struct report *r = p->task->report;
    char name[32];
    report_heading(r, "Four rules, four sizes");
    report_figure(
        r, "error", "Generalisation error by rule",
        "Means over repetitions with 95 % bands. All rules meet the same tasks, servers "
        "and delays.");
    for (int rule = 0; rule < EDGE_RULES; rule++)
        sizes_panel(p, (enum edge_rule)rule);

    report_figure(
        r, "rules", "The same by size",
        "Proposition 9 with its factor (1 - 1/L) is for data without the signal.");
    for (int i = 0; i < EDGE_SIZES; i++) {
        edge_draw_panel(p, edge_draw_named(name, &p->arm[0][i]),
                        "generalisation error G_t");
        for (int rule = 0; rule < EDGE_RULES; rule++)
            edge_draw_curve(p, &p->arm[rule][i], EDGE_ERROR, REPORT_LINE,
                            edge_sim_rule((enum edge_rule)rule));
        edge_draw_curve(p, &p->arm[EDGE_NEAREST][i], EDGE_EXACT, REPORT_DASHED,
                        "Proposition 9, corrected, nearest");
    }
}

/* ---- the propositions */

static void share_bars(const struct edge_plan *p, enum edge_series s, const char *name)
{
    double y[EDGE_SIZES], lo[EDGE_SIZES], hi[EDGE_SIZES];
    for (int i = 0; i < EDGE_SIZES; i++) {
        struct stats_interval v =
            reps_mean(p->arm[EDGE_STOP][i].series, edge_draw_column(p, s, p->points - 1));
        y[i] = v.mean;
        lo[i] = v.lo;
        hi[i] = v.hi;
    }
    report_series(p->task->report, &(struct report_series){.name = name,
                                                           .kind = REPORT_BARS,
                                                           .n = EDGE_SIZES,
                                                           .y = y,
                                                           .lo = lo,
                                                           .hi = hi});
}

static void ready_figure(const struct edge_plan *p)
{
    static const char *const sizes[] = {"5", "10", "30", "60"};
    struct report *r = p->task->report;
    struct edge_sim_cfg c = edge_sim_default(5, EDGE_STOP);
    char caption[256];
    snprintf(caption, sizeof caption,
             "After convergence (the last part of the run): M_th = min(d_u, "
             "log_N(1/delta)) = %.0f, "
             "so N M_th ln(1/delta) = %.0f experts should do.",
             edge_sim_mth(&c), edge_sim_need(&c));
    report_figure(r, "ready", "Is an expert of the task's set idle? (Proposition 6)",
                  caption);
    report_panel(r, &(struct report_panel){.x = {.label = "experts M"},
                                           .y = {.label = "share of tasks", .hi = 1},
                                           .category = sizes,
                                           .categories = EDGE_SIZES});
    share_bars(p, EDGE_READY, "one of the set was idle");
    share_bars(p, EDGE_HOME, "went to one of the set");
    report_rule(r, 'y', 1 - c.delta, "1 - delta");
}

static void over_sizes(const struct edge_plan *p, const char *axis,
                       void (*draw)(const struct edge_plan *p, int size))
{
    char name[32];
    for (int i = 0; i < EDGE_SIZES; i++) {
        edge_draw_panel(p, edge_draw_named(name, &p->arm[EDGE_STOP][i]), axis);
        draw(p, i);
        report_rule(p->task->report, 'x', edge_sim_t1(&p->arm[EDGE_STOP][i].cfg), "T1");
    }
}

static void draw_gaps(const struct edge_plan *p, int i)
{
    edge_draw_curve(p, &p->arm[EDGE_STOP][i], EDGE_INSIDE, REPORT_LINE,
                    "inside, gate that stops");
    edge_draw_curve(p, &p->arm[EDGE_STOP][i], EDGE_ACROSS, REPORT_LINE,
                    "between, gate that stops");
    edge_draw_curve(p, &p->arm[EDGE_ON][i], EDGE_INSIDE, REPORT_DASHED,
                    "inside, gate that goes on");
    edge_draw_curve(p, &p->arm[EDGE_ON][i], EDGE_ACROSS, REPORT_DASHED,
                    "between, gate that goes on");
}

static void draw_drift(const struct edge_plan *p, int i)
{
    double sigma = p->arm[EDGE_STOP][i].cfg.task.sigma0;
    edge_draw_curve(p, &p->arm[EDGE_STOP][i], EDGE_DRIFT, REPORT_LINE, "gate that stops");
    edge_draw_curve(p, &p->arm[EDGE_ON][i], EDGE_DRIFT, REPORT_DASHED,
                    "gate that goes on");
    report_rule(p->task->report, 'y', sigma * sigma, "sigma0^2");
}

static void draw_theorem(const struct edge_plan *p, int i)
{
    edge_draw_curve(p, &p->arm[EDGE_STOP][i], EDGE_ERROR, REPORT_LINE,
                    "measured, gate that stops");
    edge_draw_curve(p, &p->arm[EDGE_STOP][i], EDGE_THEOREM, REPORT_DASHED, "Theorem 2");
}

static void proposition_figures(const struct edge_plan *p)
{
    struct report *r = p->task->report;
    ready_figure(p);
    report_figure(
        r, "theorem2", "Theorem 2 beside the measurement",
        "Its O(sigma0^2) taken as the mean distance of two tasks of one cluster. It "
        "supposes that behind T1 every task meets its own set.");
    over_sizes(p, "generalisation error G_t", draw_theorem);
    report_figure(
        r, "gaps", "Gate gaps inside and between expert sets (Proposition 7)",
        "Mean |h_m - h_m'| over pairs of experts on the data of the last task.");
    over_sizes(p, "gate gap", draw_gaps);
    report_figure(
        r, "drift", "Do the models stay? (Proposition 8)",
        "Mean over experts of the largest change of an element since T2; the proposition "
        "says O(sigma0^2).");
    over_sizes(p, "||w_t - w_T2||_inf", draw_drift);
}

/* ---- tables */

static void rule_row(const struct edge_plan *p, const struct edge_arm *a)
{
    struct report *r = p->task->report;
    struct stats_interval g = reps_mean(a->end, EDGE_LAST);
    report_row(r);
    report_int(r, "M", a->cfg.router.experts);
    report_cell(r, "rule", "%s", edge_sim_rule(a->cfg.rule));
    report_interval(r, "G_T", g.mean, g.lo, g.hi, 2);
    report_real(r, "off Prop. 9, %",
                100 * (g.mean / reps_mean(a->end, EDGE_LAST_FORM).mean - 1), 1);
    report_real(r, "waited, %", 100 * reps_mean(a->end, EDGE_QUEUED).mean, 1);
    report_real(r, "wait, slots", reps_mean(a->end, EDGE_WAIT).mean, 2);
    report_real(r, "delay, slots", reps_mean(a->end, EDGE_DELAY).mean, 2);
    if (a->cfg.rule == EDGE_STOP) {
        report_int(r, "T1", edge_sim_t1(&a->cfg));
        report_int(r, "T2", edge_sim_t2(&a->cfg));
    }
}

static double edge_draw_last(const struct edge_plan *p, enum edge_rule rule, int i,
                             enum edge_series s)
{
    return reps_mean(p->arm[rule][i].series, edge_draw_column(p, s, p->points - 1)).mean;
}

static void edge_draw_claim(struct report *r, const char *what, const char *paper,
                            enum report_verdict v)
{
    report_row(r);
    report_cell(r, "claim", "%s", what);
    report_cell(r, "paper", "%s", paper);
    report_verdict(r, "verdict", v);
}

static void edge_draw_claims(const struct edge_plan *p)
{
    struct report *r = p->task->report;
    report_table(r, "Claims of the paper, gate that stops");
    for (int i = 2; i < EDGE_SIZES; i++) {
        char what[64];
        double ready = edge_draw_last(p, EDGE_STOP, i, EDGE_READY);
        snprintf(what, sizeof what, "own set idle (Prop. 6), M = %d",
                 p->arm[EDGE_STOP][i].cfg.router.experts);
        edge_draw_claim(r, what, "probability 1 - o(1)",
                        ready >= .9 ? REPORT_PASS : REPORT_SHORT);
        report_cell(r, "ours", "%.2f", ready);
    }
    double in = edge_draw_last(p, EDGE_STOP, 2, EDGE_INSIDE),
           out = edge_draw_last(p, EDGE_STOP, 2, EDGE_ACROSS);
    edge_draw_claim(r, "gate gaps (Prop. 7), M = 30", "inside below between",
                    in < .5 * out ? REPORT_PASS
                    : in < out    ? REPORT_SHORT
                                  : REPORT_DIFFERS);
    report_cell(r, "ours", "%.2f inside, %.2f between", in, out);

    double home = edge_draw_last(p, EDGE_STOP, 2, EDGE_HOME);
    edge_draw_claim(r, "a task goes to its set (Prop. 7), M = 30", "probability 1 - o(1)",
                    home >= .9 ? REPORT_PASS : REPORT_SHORT);
    report_cell(r, "ours", "%.2f", home);

    double drift = edge_draw_last(p, EDGE_STOP, 2, EDGE_DRIFT),
           on = edge_draw_last(p, EDGE_ON, 2, EDGE_DRIFT);
    edge_draw_claim(r, "models stay behind T2 (Prop. 8), M = 30", "O(sigma0^2) = O(.36)",
                    drift < .36  ? REPORT_PASS
                    : drift < on ? REPORT_SHORT
                                 : REPORT_DIFFERS);
    report_cell(r, "ours", "%.2f; %.2f when the gate goes on", drift, on);

    double g = edge_draw_last(p, EDGE_STOP, 2, EDGE_ERROR),
           bound = edge_draw_last(p, EDGE_STOP, 2, EDGE_THEOREM);
    double blind = edge_draw_last(p, EDGE_NEAREST, 2, EDGE_ERROR);
    edge_draw_claim(r, "error at T (Theorem 2), M = 30", "below the bound",
                    g < bound   ? REPORT_PASS
                    : g < blind ? REPORT_SHORT
                                : REPORT_DIFFERS);
    report_cell(r, "ours", "%.2f; bound %.2f; nearest idle %.2f", g, bound, blind);
}

/* ---- what must hold */

static void check_rules(const struct edge_plan *p, int i)
{
    for (int rule = 1; rule < EDGE_RULES; rule++) {
        struct stats_interval gap =
            reps_gap(p->arm[EDGE_STOP][i].end, EDGE_LAST, p->arm[rule][i].end, EDGE_LAST);
        char name[112];
        snprintf(name, sizeof name,
                 "G at T, M = %d: gate that stops minus %s, upper 95 %%",
                 p->arm[rule][i].cfg.router.experts, edge_sim_rule((enum edge_rule)rule));
        report_check(p->task->report, name, gap.hi, -INFINITY, 0);
    }
}

static void edge_draw_checks(const struct edge_plan *p)
{
    struct report *r = p->task->report;
    const struct edge_arm *enough = &p->arm[EDGE_STOP][2], *many = &p->arm[EDGE_STOP][3];
    check_rules(p, 2);
    check_rules(p, 3);
    int end = edge_draw_column(p, EDGE_READY, p->points - 1);
    struct stats_interval more =
        reps_gap(many->series, end, p->arm[EDGE_STOP][1].series, end);
    report_check(r, "share of tasks with their set idle: M = 60 minus M = 10, lower 95 %",
                 more.lo, 0, 1);

    /* when the larger one has just converged, the smaller one is further */
    int at = edge_draw_column(p, EDGE_ERROR,
                              reps_point(p->grid, p->points, edge_sim_t2(&many->cfg)));
    struct stats_interval gap = reps_gap(many->series, at, enough->series, at);
    report_check(r, "G at T2 of M = 60: M = 60 minus M = 30, lower 95 %", gap.lo, 0,
                 INFINITY);
}

void edge_draw(const struct edge_plan *p)
{
    main_figures(p);
    report_table(p->task->report,
                 "After the last task: error, its excess over Proposition 9 (corrected, "
                 "without signal), waiting and delay");
    for (int i = 0; i < EDGE_SIZES; i++)
        for (int rule = 0; rule < EDGE_RULES; rule++)
            rule_row(p, &p->arm[rule][i]);
    proposition_figures(p);
    edge_draw_claims(p);
    edge_draw_checks(p);
}
