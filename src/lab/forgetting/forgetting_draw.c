#include "forgetting_priv.h"

#include <math.h>
#include <stdio.h>

static int forgetting_draw_column(const struct forgetting_plan *p,
                                  enum forgetting_series s, int point)
{
    return (int)s * p->points + point;
}

static struct stats_interval forgetting_draw_last(const struct forgetting_plan *p,
                                                  const struct forgetting_arm *a,
                                                  enum forgetting_series s)
{
    return reps_mean(a->series, forgetting_draw_column(p, s, p->points - 1));
}

static void forgetting_draw_curve(const struct forgetting_plan *p,
                                  const struct forgetting_arm *a,
                                  enum forgetting_series s, enum report_kind kind,
                                  const char *name)
{
    reps_draw(p->task->report, name, kind, p->grid, p->points, a->series,
              (int)s * p->points);
}

static void forgetting_draw_panel(const struct forgetting_plan *p, const char *title,
                                  const char *y)
{
    report_panel(p->task->report, &(struct report_panel){.title = title,
                                                         .x = {.label = "round t"},
                                                         .y = {.label = y}});
}

static const char *forgetting_draw_named(char name[32], const struct forgetting_arm *a)
{
    snprintf(name, 32, "M = %d", a->cfg.router.experts);
    return name;
}

/* ---- the slides' figure: F_t and G_T, with and without termination */

static void all_sizes(const struct forgetting_plan *p, const struct forgetting_arm *arm,
                      enum forgetting_series s, const char *title, const char *axis)
{
    char name[32];
    forgetting_draw_panel(p, title, axis);
    for (int i = 0; i < FORGETTING_SIZES; i++)
        forgetting_draw_curve(p, &arm[i], s, REPORT_LINE,
                              forgetting_draw_named(name, &arm[i]));
}

static void main_figures(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    const char *f = "forgetting F_t", *g = "generalisation error G_t";
    report_heading(r, "Mixtures: with and without termination");
    report_figure(
        r, "forgetting", "Forgetting",
        "Means over repetitions, each with its own pool of tasks, 95 % bands. All "
        "curves see the same tasks and data.");
    all_sizes(p, p->stop, FORGETTING_FORGOT, "with termination", f);
    all_sizes(p, p->on, FORGETTING_FORGOT, "without termination", f);
    report_figure(r, "error", "Generalisation error", NULL);
    all_sizes(p, p->stop, FORGETTING_ERROR, "with termination", g);
    all_sizes(p, p->on, FORGETTING_ERROR, "without termination", g);
}

/* ---- Theorem 1 and Proposition 4 */

static void theorem_panel(const struct forgetting_plan *p, int i, bool forgetting)
{
    const struct forgetting_arm *a = &p->stop[i];
    bool one = a->cfg.router.experts == 1;
    char name[32];
    forgetting_draw_panel(p, forgetting_draw_named(name, a),
                          forgetting ? "forgetting F_t" : "generalisation error G_t");
    forgetting_draw_curve(p, a, forgetting ? FORGETTING_FORGOT : FORGETTING_ERROR,
                          REPORT_LINE, "measured");
    forgetting_draw_curve(p, a, forgetting ? FORGETTING_BOUND_F : FORGETTING_BOUND_G,
                          REPORT_DASHED, "bound as printed");
    if (!one) report_rule(p->task->report, 'x', a->cfg.settle, "T1");
}

static void theorem_figures(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    report_figure(
        r, "theorem1-forgetting", "Theorem 1 beside the measurement: forgetting",
        "With termination. For M = 1 the printed form is that of Proposition 4.");
    for (int i = 0; i < FORGETTING_SIZES; i++)
        theorem_panel(p, i, true);
    report_figure(r, "theorem1-error", "Theorem 1 beside the measurement: error", NULL);
    for (int i = 0; i < FORGETTING_SIZES; i++)
        theorem_panel(p, i, false);
}

/* ---- gates and expert sets */

static int prop2_round(const struct forgetting_arm *a, double power)
{
    double sigma = a->cfg.task.sigma0;
    return (int)ceil(pow(sigma, -power) * a->cfg.router.experts / a->cfg.router.eta);
}

static void gap_figure(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    char name[32];
    report_figure(
        r, "gaps", "Gate gaps inside and between expert sets (Propositions 1 and 2)",
        "Mean |h_m - h_m'| over pairs of experts on the data of the round. Proposition "
        "2, without termination: at t1 O(sigma0^1.75) = .20 inside a set and about "
        "sigma0^.75 = .50 between sets, at t2 all alike.");
    for (int i = 1; i < FORGETTING_SIZES; i++) {
        forgetting_draw_panel(p, forgetting_draw_named(name, &p->on[i]), "gate gap");
        forgetting_draw_curve(p, &p->on[i], FORGETTING_INSIDE, REPORT_LINE,
                              "inside, without termination");
        forgetting_draw_curve(p, &p->on[i], FORGETTING_ACROSS, REPORT_LINE,
                              "between, without termination");
        forgetting_draw_curve(p, &p->stop[i], FORGETTING_INSIDE, REPORT_DASHED,
                              "inside, with termination");
        forgetting_draw_curve(p, &p->stop[i], FORGETTING_ACROSS, REPORT_DASHED,
                              "between, with termination");
        report_rule(r, 'x', prop2_round(&p->on[i], .25), "t1");
        report_rule(r, 'x', prop2_round(&p->on[i], .75), "t2");
    }
}

static void pair(const struct forgetting_plan *p, int i, enum forgetting_series s)
{
    forgetting_draw_curve(p, &p->stop[i], s, REPORT_LINE, "with termination");
    forgetting_draw_curve(p, &p->on[i], s, REPORT_DASHED, "without termination");
}

/* y: the cluster of expert m's set, a little apart from the other experts' */
static void one_expert(const struct forgetting_plan *p, const int *set, int m,
                       int experts)
{
    double x[REPS_POINTS], y[REPS_POINTS];
    char name[32];
    for (int i = 0; i < p->points; i++) {
        x[i] = p->grid[i];
        y[i] = 1 + set[i * experts + m] + .08 * (m - (experts - 1) / 2.0);
    }
    snprintf(name, sizeof name, "expert %d", m + 1);
    report_series(p->task->report,
                  &(struct report_series){.name = name, .n = p->points, .x = x, .y = y});
}

static void members_panel(const struct forgetting_plan *p, const struct forgetting_arm *a,
                          const char *title)
{
    static const struct report_axis y = {.label = "set of cluster", .lo = .5, .hi = 3.5};
    int set[REPS_POINTS * RECALL_EXPERTS], experts = a->cfg.router.experts;
    forgetting_sim_sets(set, &a->cfg, p->grid, p->points, p->task->seed, 0);
    report_panel(p->task->report, &(struct report_panel){
                                      .title = title, .x = {.label = "round t"}, .y = y});
    for (int m = 0; m < experts; m++)
        one_expert(p, set, m, experts);
}

static void member_figures(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    char name[32];
    report_figure(r, "members", "The expert sets M_n of one repetition, M = 5",
                  "The cluster whose signal an expert's gate likes best.");
    members_panel(p, &p->stop[1], "with termination");
    members_panel(p, &p->on[1], "without termination");
    report_figure(
        r, "sizes", "How large the expert sets are",
        "Shares of the experts in the largest and in the smallest of the three sets, "
        "means over repetitions.");
    for (int i = 1; i < FORGETTING_SIZES; i++) {
        forgetting_draw_panel(p, forgetting_draw_named(name, &p->stop[i]),
                              "share of experts");
        forgetting_draw_curve(p, &p->stop[i], FORGETTING_LARGEST, REPORT_LINE,
                              "largest, with termination");
        forgetting_draw_curve(p, &p->stop[i], FORGETTING_SMALLEST, REPORT_LINE,
                              "smallest, with termination");
        forgetting_draw_curve(p, &p->on[i], FORGETTING_LARGEST, REPORT_DASHED,
                              "largest, without termination");
        forgetting_draw_curve(p, &p->on[i], FORGETTING_SMALLEST, REPORT_DASHED,
                              "smallest, without termination");
    }
}

static void set_figures(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    char name[32];
    report_figure(
        r, "sets", "Expert sets that settle (Proposition 1)",
        "Share of experts whose specialty went to another cluster since the point "
        "before (a twentieth of the time back).");
    for (int i = 1; i < FORGETTING_SIZES; i++) {
        forgetting_draw_panel(p, forgetting_draw_named(name, &p->stop[i]),
                              "share that changed its set");
        pair(p, i, FORGETTING_MOVED);
    }
    report_figure(
        r, "travel", "How far the experts still move",
        "Mean distance ||w_t - w|| from the point before. Proposition 1 says 0 after T1 "
        "with termination.");
    for (int i = 1; i < FORGETTING_SIZES; i++) {
        forgetting_draw_panel(p, forgetting_draw_named(name, &p->stop[i]),
                              "distance since the last point");
        pair(p, i, FORGETTING_TRAVEL);
    }
}

static void share_bars(const struct forgetting_plan *p, const char *name,
                       const struct forgetting_arm *arm, enum forgetting_column c)
{
    enum { N = FORGETTING_SIZES - 1 };
    double y[N], lo[N], hi[N];
    for (int i = 0; i < N; i++) {
        struct stats_interval s = reps_mean(arm[i + 1].end, (int)c);
        y[i] = s.mean;
        lo[i] = s.lo;
        hi[i] = s.hi;
    }
    report_series(
        p->task->report,
        &(struct report_series){
            .name = name, .kind = REPORT_BARS, .n = N, .y = y, .lo = lo, .hi = hi});
}

static void share_panel(const struct forgetting_plan *p, const char *title,
                        enum forgetting_column c)
{
    static const char *const sizes[] = {"M = 5", "M = 10", "M = 20"};
    report_panel(p->task->report, &(struct report_panel){.title = title,
                                                         .x = {.label = "experts"},
                                                         .y = {.label = "share", .hi = 1},
                                                         .category = sizes,
                                                         .categories = 3});
    share_bars(p, "with termination", p->stop, c);
    share_bars(p, "without termination", p->on, c);
}

static void share_figure(const struct forgetting_plan *p)
{
    report_figure(
        p->task->report, "shares", "Selection after the stop (Proposition 3)",
        "Second half of the run. Left: how evenly a cluster's tasks spread over its "
        "expert set, exp(entropy of the shares) / |M_n|, 1 when each has 1/|M_n|. "
        "Right: share of the tasks that went to an expert of their own set at all.");
    share_panel(p, "evenness inside the set", FORGETTING_EVEN);
    share_panel(p, "tasks that met their set", FORGETTING_HOME);
}

/* ---- tables */

static void forgetting_draw_interval(struct report *r, const char *name,
                                     struct stats_interval s)
{
    report_interval(r, name, s.mean, s.lo, s.hi, 3);
}

static void end_row(const struct forgetting_plan *p, const struct forgetting_arm *a)
{
    struct report *r = p->task->report;
    report_row(r);
    report_int(r, "M", a->cfg.router.experts);
    report_cell(r, "termination", a->cfg.terminate ? "yes" : "no");
    forgetting_draw_interval(r, "F_T", forgetting_draw_last(p, a, FORGETTING_FORGOT));
    forgetting_draw_interval(r, "G_T", forgetting_draw_last(p, a, FORGETTING_ERROR));
    report_real(r, "gate stopped, round", reps_mean(a->end, FORGETTING_STOPPED).mean, 1);
    report_real(r, "set met", reps_mean(a->end, FORGETTING_HOME).mean, 2);
    report_real(r, "evenness", reps_mean(a->end, FORGETTING_EVEN).mean, 2);
    report_real(r, "clusters with experts", reps_mean(a->end, FORGETTING_SERVED).mean, 2);
}

static void end_table(const struct forgetting_plan *p)
{
    report_table(p->task->report, "After the last round");
    for (int i = 0; i < FORGETTING_SIZES; i++) {
        end_row(p, &p->stop[i]);
        if (i > 0) end_row(p, &p->on[i]); /* one expert has no gate to stop */
    }
}

static void forgetting_draw_claim(struct report *r, const char *what, const char *paper,
                                  enum report_verdict v)
{
    report_row(r);
    report_cell(r, "claim", "%s", what);
    report_cell(r, "paper", "%s", paper);
    report_verdict(r, "verdict", v);
}

/* Proposition 2 at its round for M = 10, without termination */
static void claim_gaps(const struct forgetting_plan *p, double power, const char *what,
                       const char *paper, bool alike)
{
    const struct forgetting_arm *a = &p->on[2];
    int at = reps_point(p->grid, p->points, prop2_round(a, power));
    double in =
        reps_mean(a->series, forgetting_draw_column(p, FORGETTING_INSIDE, at)).mean;
    double out =
        reps_mean(a->series, forgetting_draw_column(p, FORGETTING_ACROSS, at)).mean;
    enum report_verdict v = alike ? (out < 1.1 * in ? REPORT_PASS : REPORT_DIFFERS)
                            : in < .5 * out ? REPORT_PASS
                            : in < out      ? REPORT_SHORT
                                            : REPORT_DIFFERS;
    forgetting_draw_claim(p->task->report, what, paper, v);
    report_cell(p->task->report, "ours", "%.2f inside, %.2f between", in, out);
}

static void claims_gate(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    const struct forgetting_arm *stop = &p->stop[2], *on = &p->on[2];
    double moved = forgetting_draw_last(p, stop, FORGETTING_MOVED).mean;
    forgetting_draw_claim(r, "sets stay after the stop (Prop. 1), M = 10",
                          "no expert changes its set",
                          moved == 0 ? REPORT_PASS : REPORT_DIFFERS);
    report_cell(r, "ours", "%.0f %% change; %.0f %% without termination", 100 * moved,
                100 * forgetting_draw_last(p, on, FORGETTING_MOVED).mean);

    double travel = forgetting_draw_last(p, stop, FORGETTING_TRAVEL).mean;
    double free_travel = forgetting_draw_last(p, on, FORGETTING_TRAVEL).mean;
    forgetting_draw_claim(r, "models stay after T1 (Prop. 1), M = 10",
                          "w does not change",
                          travel == 0            ? REPORT_PASS
                          : travel < free_travel ? REPORT_SHORT
                                                 : REPORT_DIFFERS);
    report_cell(r, "ours", "moves %.2f from point to point; %.2f without", travel,
                free_travel);

    claim_gaps(p, .25, "gaps at t1 (Prop. 2), M = 10", "O(.20) inside, about .50 between",
               false);
    claim_gaps(p, .75, "gaps at t2 (Prop. 2), M = 10", "all about .20", true);

    double even = reps_mean(stop->end, FORGETTING_EVEN).mean;
    forgetting_draw_claim(r, "experts of a set chosen alike (Prop. 3), M = 10",
                          "evenness 1", even >= .95 ? REPORT_PASS : REPORT_SHORT);
    report_cell(r, "ours", "%.2f", even);
}

static void claim_theorem(const struct forgetting_plan *p, enum forgetting_series s,
                          enum forgetting_series bound, const char *what)
{
    const struct forgetting_arm *a = &p->stop[2];
    int above = 0;
    for (int i = 0; i < p->points; i++)
        above += reps_mean(a->series, forgetting_draw_column(p, s, i)).mean >
                 reps_mean(a->series, forgetting_draw_column(p, bound, i)).mean;
    forgetting_draw_claim(p->task->report, what, "below the bound at every t",
                          above == 0          ? REPORT_PASS
                          : above < p->points ? REPORT_SHORT
                                              : REPORT_DIFFERS);
    report_cell(p->task->report, "ours", "above it at %d of %d points", above, p->points);
}

/* ---- what must hold */

/* The point behind T1 where the mean error is lowest. */
static int lowest(const struct forgetting_plan *p, const struct forgetting_arm *a)
{
    int best = -1;
    double low = INFINITY;
    for (int i = 0; i < p->points; i++) {
        double mean =
            reps_mean(a->series, forgetting_draw_column(p, FORGETTING_ERROR, i)).mean;
        if (p->grid[i] <= a->cfg.settle || mean >= low) continue;
        best = i;
        low = mean;
    }
    return best < 0 ? p->points - 1 : best;
}

static void check_below_one(const struct forgetting_plan *p, int i,
                            enum forgetting_series s, const char *what)
{
    char name[96];
    int at = forgetting_draw_column(p, s, p->points - 1);
    struct stats_interval gap = reps_gap(p->stop[i].series, at, p->stop[0].series, at);
    snprintf(name, sizeof name,
             "%s at T: M = %d with termination minus M = 1, upper 95 %%", what,
             p->stop[i].cfg.router.experts);
    report_check(p->task->report, name, gap.hi, -INFINITY, 0);
}

static void checks_of(const struct forgetting_plan *p, int i)
{
    struct report *r = p->task->report;
    const struct forgetting_arm *stop = &p->stop[i], *on = &p->on[i];
    int experts = stop->cfg.router.experts,
        end = forgetting_draw_column(p, FORGETTING_ERROR, p->points - 1);
    char name[96];
    check_below_one(p, i, FORGETTING_FORGOT, "F");
    check_below_one(p, i, FORGETTING_ERROR, "G");

    int low = lowest(p, on);
    struct stats_interval rise = reps_gap(
        on->series, end, on->series, forgetting_draw_column(p, FORGETTING_ERROR, low));
    snprintf(name, sizeof name,
             "G without termination, M = %d: rise since round %d, lower 95 %%", experts,
             p->grid[low]);
    report_check(r, name, rise.lo, 0, INFINITY);

    struct stats_interval gap = reps_gap(stop->series, end, on->series, end);
    snprintf(name, sizeof name,
             "G at T, M = %d: with minus without termination, upper 95 %%", experts);
    report_check(r, name, gap.hi, -INFINITY, 0);

    snprintf(name, sizeof name, "share of gates still learning at T, M = %d", experts);
    report_check(r, name, forgetting_draw_last(p, stop, FORGETTING_RUNNING).mean, 0, 0);
}

void forgetting_draw(const struct forgetting_plan *p)
{
    struct report *r = p->task->report;
    main_figures(p);
    end_table(p);
    theorem_figures(p);
    gap_figure(p);
    member_figures(p);
    set_figures(p);
    share_figure(p);

    report_table(r, "Claims of the paper");
    claims_gate(p);
    claim_theorem(p, FORGETTING_FORGOT, FORGETTING_BOUND_F,
                  "Theorem 1, forgetting, M = 10");
    claim_theorem(p, FORGETTING_ERROR, FORGETTING_BOUND_G, "Theorem 1, error, M = 10");
    for (int i = 2; i < FORGETTING_SIZES; i++) /* M = 10, 20 > N = 6 */
        checks_of(p, i);
}
