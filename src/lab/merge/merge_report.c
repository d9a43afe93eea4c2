/* What the lab merge shows: claims, tables, figures, checks. */
#include "merge_priv.h"

#include <math.h>
#include <stdio.h>

enum { V = MERGE_TASKS };

static const char *const MIX_SAYS[MERGE_MIXES] = {"fixed mix", "drifting mix"};

static struct stats_interval of(const struct merge_found *f, const struct merge_arm *a,
                                enum merge_column c)
{
    return reps_mean(a->reps, f->points + (int)c);
}

/* Tanbr minus a method, paired over seeds. */
static struct stats_interval merge_report_gap(const struct merge_found *f, int mix,
                                              enum merge_method m, enum merge_column c)
{
    int column = f->points + (int)c;
    return reps_gap(f->arm[mix][MERGE_TANBR].reps, column, f->arm[mix][m].reps, column);
}

static void merge_report_cell(struct report *r, const char *column,
                              struct stats_interval i, int digits)
{
    report_interval(r, column, i.mean, i.lo, i.hi, digits);
}

/* ---- what is done ---- */

static void merge_report_explain(struct merge_found *f)
{
    struct report *r = f->task->report;
    report_param_int(r, "sessions", f->world->sessions);
    report_text(
        r,
        "Viewers who do not say what they value are served by one merged expert per "
        "slot, theta = sum_k x_k theta_k, of four that were tuned per profile from one "
        "start. Tanbr chooses x: leaves of a partition tree are the candidates, a small "
        "network with upper confidence bounds rates them, and the rewards of a slot's "
        "viewers, known afterwards, teach it.");
    report_text(
        r,
        "Scores per profile are 0 for the lowest level and 1 for the oracle, %d "
        "sessions of 48 chunks; a slot's score is its viewers' mean. Policies were "
        "played once at every point of a grid over the weights (1 / %d); between them "
        "scores are interpolated (mean error %.3f, where scores are above 0). Regret "
        "is against the grid's best weights for each slot's true mix.",
        f->world->sessions, f->merged->steps, f->off);
    report_text(
        r,
        "Best single expert and best fixed weights are chosen in hindsight, per seed; "
        "no method knows them beforehand. There are %d contents; a share of %.2f of a "
        "profile's viewers choose among its own %d. What a viewer is, is guessed from "
        "the content's viewers so far and from an observation after %d chunks, by the "
        "classifier that the daemon has, taught by all viewers of the slots before. The "
        "router sends each viewer to the specialist of the likeliest profile. Hints go "
        "to the shipped policy: the likeliest profile's weights, or means over the "
        "posterior or over the mix, each profile over its range of scores, as scores "
        "count them; the plain mean does not divide.",
        MERGE_CONTENTS, f->arm[0][0].cfg.loyalty, MERGE_CONTENTS / V, MERGE_LOOK);
    report_text(
        r,
        "Tanbr and the second NUCB begin with a prior: the mean scores at the points of "
        "a coarser grid (1 / %d) on %d generated links that are none of those below. "
        "A misleading prior comes from "
        "high-4g links alone. The bandits' settings were chosen on other generated "
        "links again (seeds 9100 and 9200); nothing was chosen on the links below. With "
        "a prior regret is small from the first slot and grows evenly, so that its "
        "log-log slope is near 1; without one it falls off as something is learned.",
        f->prior.steps, (int)lab_int(f->task, "prior-links") * 6);
}

/* ---- tables ---- */

static void merge_report_claim(struct report *r, const char *what, bool holds)
{
    report_row(r);
    report_cell(r, "claim", "%s", what);
    report_verdict(r, "verdict", holds ? REPORT_PASS : REPORT_DIFFERS);
}

static void claim_below(struct merge_found *f, int mix, enum merge_method m)
{
    struct report *r = f->task->report;
    struct stats_interval g = merge_report_gap(f, mix, m, MERGE_REGRET);
    char what[128];
    snprintf(what, sizeof what, "less regret than %s (%s)",
             merge_method_word((enum merge_method)m), MIX_SAYS[mix]);
    merge_report_claim(r, what, g.mean < 0);
    if (g.lo <= 0 && g.hi >= 0) report_verdict(r, "verdict", REPORT_UNTESTED);
    merge_report_cell(r, "regret, difference", g, 2);
    merge_report_cell(r, "per slot at the end",
                      merge_report_gap(f, mix, m, MERGE_REGRET_LATE), 4);
}

static void table_claims(struct merge_found *f)
{
    struct report *r = f->task->report;
    static const enum merge_method against[] = {
        MERGE_UNIFORM, MERGE_NUCB,         MERGE_NUCB_PRIOR,  MERGE_BEST_SINGLE,
        MERGE_FISHER,  MERGE_REGMEAN,      MERGE_PRIOR,       MERGE_TANBR_BARE,
        MERGE_ROUTER,  MERGE_HINT_GUESSED, MERGE_HINT_LIKELY, MERGE_HINT_MEAN};
    report_table(r, "Claims: Tanbr, 95 % intervals of differences over seeds");
    for (int d = 0; d < MERGE_MIXES; d++)
        for (size_t i = 0; i < sizeof against / sizeof *against; i++)
            claim_below(f, d, against[i]);
}

static void table_methods(struct merge_found *f, int mix)
{
    struct report *r = f->task->report;
    char title[96];
    snprintf(title, sizeof title, "Who serves, %s, %d slots, %d seeds", MIX_SAYS[mix],
             f->slots, f->seeds);
    report_table(r, title);
    for (int m = 0; m < MERGE_METHODS; m++) {
        const struct merge_arm *a = &f->arm[mix][m];
        if (!a->reps) continue;
        report_row(r);
        report_cell(r, "method", "%s", merge_method_word((enum merge_method)m));
        merge_report_cell(r, "regret", of(f, a, MERGE_REGRET), 1);
        merge_report_cell(r, "against best fixed", of(f, a, MERGE_FIXED), 1);
        merge_report_cell(r, "per slot, last fifth", of(f, a, MERGE_REGRET_LATE), 4);
        merge_report_cell(r, "share of best fixed, last fifth", of(f, a, MERGE_SHARE), 3);
        merge_report_cell(r, "log-log slope", of(f, a, MERGE_SLOPE), 2);
        if (isfinite(of(f, a, MERGE_ACCURACY).mean))
            report_real(r, "guesses right", of(f, a, MERGE_ACCURACY).mean, 2);
        if (m > MERGE_PRIOR) continue;
        report_real(r, "leaves", of(f, a, MERGE_LEAVES).mean, 1);
        report_real(r, "depth", of(f, a, MERGE_DEPTH).mean, 1);
    }
}

static void table_covariance(struct merge_found *f)
{
    struct report *r = f->task->report;
    if (!f->arm[0][MERGE_TANBR_FULL].reps) return;
    report_table(r, "All of Z against its diagonal: a twin with the diagonal is taught "
                    "the same and asked what it would choose");
    for (int d = 0; d < MERGE_MIXES; d++) {
        const struct merge_arm *full = &f->arm[d][MERGE_TANBR_FULL];
        report_row(r);
        report_cell(r, "mix", "%s", MIX_SAYS[d]);
        report_int(r, "seeds", full->seeds);
        merge_report_cell(r, "equal choices", of(f, full, MERGE_EQUAL), 3);
        merge_report_cell(r, "apart, |x - x'| / 2", of(f, full, MERGE_APART), 3);
        merge_report_cell(r, "the diagonal's worth less per slot",
                          of(f, full, MERGE_LOST), 4);
        merge_report_cell(r, "regret with all of Z", of(f, full, MERGE_REGRET), 1);
        merge_report_cell(r, "regret with the diagonal",
                          of(f, &f->arm[d][MERGE_TANBR], MERGE_REGRET), 1);
    }
}

static void table_experts(struct merge_found *f)
{
    struct report *r = f->task->report;
    report_table(r, "Mean scores of each expert, and of the uniform average");
    for (int k = 0; k <= V; k++) {
        float x[V] = {0};
        for (int i = 0; i < V; i++)
            x[i] = k < V ? (i == k ? 1.0f : 0.0f) : 1.0f / V;
        double mean[V];
        struct lattice_mix m = lattice_mix(x, f->merged->dim, f->merged->steps);
        merge_grid_mean(mean, f->merged, &m);
        report_row(r);
        report_cell(r, "expert", "%s", k < V ? qoe_profiles[k].name : "uniform");
        for (int v = 0; v < V; v++)
            report_real(r, qoe_profiles[v].name, mean[v], 3);
    }
}

static void table_sizes(struct merge_found *f)
{
    struct report *r = f->task->report;
    report_table(r, "Slots until there are 20 candidates, equal rewards (choosing takes: "
                    "make bench BENCH_ONLY=merge)");
    for (int i = 0; i < MERGE_SIZES; i++) {
        report_row(r);
        report_int(r, "experts", merge_experts[i]);
        report_int(r, "ours", f->steps[0][i]);
        if (f->steps[1][i] > 0)
            report_int(r, "random sides, C 1, nu1 1, rho .9", f->steps[1][i]);
        else
            report_cell(r, "random sides, C 1, nu1 1, rho .9", "more than 3000");
    }
}

/* ---- figures ---- */

static void figure_regret(struct merge_found *f)
{
    static const enum merge_method shown[] = {
        MERGE_TANBR,  MERGE_TANBR_BARE,  MERGE_NUCB,     MERGE_UNIFORM,
        MERGE_FISHER, MERGE_BEST_SINGLE, MERGE_HINT_MEAN};
    struct report *r = f->task->report;
    report_figure(r, "regret", "Cumulative regret",
                  "Against the best weights for each slot's true mix. Means over seeds, "
                  "95 % bands.");
    for (int d = 0; d < MERGE_MIXES; d++) {
        report_panel(r, &(struct report_panel){.title = MIX_SAYS[d],
                                               .x = {.label = "slot"},
                                               .y = {.label = "cumulative regret"}});
        for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
            reps_draw(r, merge_method_word((enum merge_method)(shown[i])),
                      shown[i] == MERGE_BEST_SINGLE ? REPORT_DASHED : REPORT_LINE, f->at,
                      f->points, f->arm[d][shown[i]].reps, 0);
    }
}

static void figure_lines(struct merge_found *f)
{
    struct report *r = f->task->report;
    double x[MERGE_LINE], y[MERGE_LINE];
    report_figure(
        r, "lines", "Between two experts",
        "Mean scores of the merged expert on the line from one specialist (0) to "
        "another (1).");
    int pair = 0;
    for (int a = 0; a < V; a++)
        for (int b = a + 1; b < V; b++, pair++) {
            char title[64];
            snprintf(title, sizeof title, "%s to %s", qoe_profiles[a].name,
                     qoe_profiles[b].name);
            report_panel(
                r, &(struct report_panel){.title = title,
                                          .x = {.label = "share of the second"},
                                          .y = {.label = "score", .lo = -.5, .hi = 1.1}});
            for (int v = 0; v < V; v++) {
                for (int i = 0; i < MERGE_LINE; i++) {
                    x[i] = (double)i / (MERGE_LINE - 1);
                    y[i] = f->line[pair][i][v] >= -.5 ? f->line[pair][i][v] : (double)NAN;
                }
                report_series(r, &(struct report_series){.name = qoe_profiles[v].name,
                                                         .n = MERGE_LINE,
                                                         .x = x,
                                                         .y = y});
            }
        }
}

static void figure_sweep(struct merge_found *f)
{
    struct report *r = f->task->report;
    report_figure(r, "sweep", "Learning rate and smoothness",
                  "Regret of Tanbr on the drifting mix (Fig. 7 of the paper).");
    report_panel(r, &(struct report_panel){.x = {.label = "eta", .log = true},
                                           .y = {.label = "regret"}});
    for (int i = 0; i < MERGE_RHOS; i++) {
        double y[MERGE_ETAS], lo[MERGE_ETAS], hi[MERGE_ETAS];
        char name[32];
        snprintf(name, sizeof name, "rho %g", merge_rho[i]);
        for (int h = 0; h < MERGE_ETAS; h++) {
            struct stats_interval s = of(f, &f->sweep[i][h], MERGE_REGRET);
            y[h] = s.mean, lo[h] = s.lo, hi[h] = s.hi;
        }
        report_series(r, &(struct report_series){.name = name,
                                                 .kind = REPORT_POINTS,
                                                 .n = MERGE_ETAS,
                                                 .x = merge_eta,
                                                 .y = y,
                                                 .lo = lo,
                                                 .hi = hi});
    }
}

static void figure_sizes(struct merge_found *f)
{
    static const char *const who[2] = {"ours", "random sides, C 1, nu1 1, rho .9"};
    struct report *r = f->task->report;
    report_figure(r, "sizes", "Slots to 20 candidates over the number of experts",
                  "Fig. 6 of the paper.");
    report_panel(r, &(struct report_panel){.x = {.label = "experts K", .log = true},
                                           .y = {.label = "slots", .log = true}});
    for (int w = 0; w < 2; w++) {
        double x[MERGE_SIZES], y[MERGE_SIZES];
        for (int i = 0; i < MERGE_SIZES; i++) {
            x[i] = merge_experts[i];
            y[i] = f->steps[w][i] > 0 ? f->steps[w][i] : (double)NAN;
        }
        report_series(r, &(struct report_series){
                             .name = who[w], .kind = REPORT_POINTS, MERGE_SIZES, x, y});
    }
}

/* ---- checks ---- */

/* The worst that a specialist's own score falls below the line between the scores at its ends,
 * on the lines to the others. */
static double deepest(const struct merge_found *f)
{
    double worst = 0;
    int pair = 0;
    for (int a = 0; a < V; a++)
        for (int b = a + 1; b < V; b++, pair++)
            for (int i = 0; i < MERGE_LINE; i++)
                for (int end = 0; end < 2; end++) {
                    int v = end ? b : a;
                    double share = (double)i / (MERGE_LINE - 1);
                    double straight = (1 - share) * f->line[pair][0][v] +
                                      share * f->line[pair][MERGE_LINE - 1][v];
                    worst = fmax(worst, straight - f->line[pair][i][v]);
                }
    return worst;
}

/* What is left of the specialist's own score a twentieth of the way to another, at least. */
static double nearby(const struct merge_found *f)
{
    double least = 1;
    int pair = 0;
    for (int a = 0; a < V; a++)
        for (int b = a + 1; b < V; b++, pair++) {
            double from = f->line[pair][1][a] / f->line[pair][0][a];
            double to =
                f->line[pair][MERGE_LINE - 2][b] / f->line[pair][MERGE_LINE - 1][b];
            least = fmin(least, fmin(from, to));
        }
    return least;
}

static void merge_report_checks(struct merge_found *f)
{
    struct report *r = f->task->report;
    char name[120];
    report_check(r, "specialist's own score kept 1/20 of the way to another, least",
                 nearby(f), .9, INFINITY);
    report_check(r, "score below the straight line between two experts, most", deepest(f),
                 0, .1);
    report_check(r, "interpolation of the grid, mean error", f->off, 0, .05);
    for (int d = 0; d < MERGE_MIXES; d++) {
        const struct merge_arm *a = &f->arm[d][MERGE_TANBR];
        snprintf(name, sizeof name, "share of best fixed score, last fifth, %s",
                 MIX_SAYS[d]);
        report_check(r, name, of(f, a, MERGE_SHARE).mean, .97, INFINITY);
        static const enum merge_method below[] = {MERGE_UNIFORM, MERGE_NUCB,
                                                  MERGE_FISHER};
        for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
            snprintf(name, sizeof name, "regret minus that of %s, %s",
                     merge_method_word((enum merge_method)(below[i])), MIX_SAYS[d]);
            report_check(r, name, merge_report_gap(f, d, below[i], MERGE_REGRET).mean,
                         -INFINITY, 0);
        }
    }
    /* while the mix drifts, so does what a slot can cost: even fixed weights have slopes from .8
     * to 1.2 then */
    report_check(r, "slope of ln regret over ln slot, no prior, fixed mix",
                 of(f, &f->arm[0][MERGE_TANBR_BARE], MERGE_SLOPE).mean, 0, 1);
    /* on a fixed mix the expert that is best in hindsight is hard to beat: a claim above */
    report_check(r, "regret minus that of best single expert, drifting mix",
                 merge_report_gap(f, 1, MERGE_BEST_SINGLE, MERGE_REGRET).mean, -INFINITY,
                 0);
    report_check(r, "slots to 20 candidates of 192 experts", f->steps[0][MERGE_SIZES - 1],
                 19, 1000);
}

void merge_report(struct merge_found *f)
{
    merge_report_explain(f);
    table_claims(f);
    for (int d = 0; d < MERGE_MIXES; d++)
        table_methods(f, d);
    table_covariance(f);
    merge_several_report(f);
    table_experts(f);
    table_sizes(f);
    figure_regret(f);
    figure_lines(f);
    figure_sweep(f);
    figure_sizes(f);
    merge_report_checks(f);
}
