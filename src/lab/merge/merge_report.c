/* What the lab `merge` shows: claims, tables, figures, checks. */
#include "merge_priv.h"

#include "lab/claims.h"

#include <math.h>
#include <stdio.h>

enum { V = MERGE_TASKS };

static const char *const MIX_SAYS[MERGE_MIXES] = {"fixed mix", "drifting mix"};
static const char PAPERS_SETTINGS[] = "random sides, C 1, nu1 1, rho .9";

static struct stats_interval of(const struct merge_found *f, int mix, enum merge_method m,
                                enum merge_column c)
{
    return reps_mean(f->arm[merge_arm(mix, m)], (int)c);
}

/* Tanbr minus a method, paired over seeds. */
static struct stats_interval tanbr_gap(const struct merge_found *f, int mix,
                                       enum merge_method m, enum merge_column c)
{
    return reps_gap(f->arm[merge_arm(mix, MERGE_TANBR)], (int)c,
                    f->arm[merge_arm(mix, m)], (int)c);
}

/* ---- what is done ---- */

static void merge_explain(const struct merge_found *f)
{
    struct report *r = f->task->report;
    report_param_int(r, "sessions", f->world->sessions);
    report_text(
        r,
        "Viewers who do not say what they value are served by one merged expert per "
        "slot, theta = sum_k x_k theta_k, of four that were tuned per profile from one "
        "start. Tanbr chooses x: leaves of a partition tree are the candidates, and a "
        "small network with upper confidence bounds rates them. The rewards of a slot's "
        "viewers, known afterwards, teach it.");
    report_text(
        r,
        "Scores per profile are 0 for the lowest level and 1 for the oracle, over %d "
        "sessions of 48 chunks. A slot's score is its viewers' mean. Policies were "
        "played once at every point of a grid over the weights (1 / %d). Between the "
        "points, scores are interpolated (mean error %.3f, where scores are above 0). "
        "Regret is against the grid's best weights for each slot's true mix.",
        f->world->sessions, f->merged->steps, f->off);
    report_text(
        r,
        "Best single expert and best fixed weights are chosen in hindsight, per seed; "
        "no method knows them beforehand. There are %d contents; a share of %.2f of a "
        "profile's viewers choose among its own %d. A viewer's profile is guessed from "
        "the content's viewers so far and from an observation after %d chunks. The "
        "classifier is the daemon's, and all viewers of the slots before teach it. The "
        "router sends each viewer to the specialist of the likeliest profile. Hints go "
        "to the shipped policy: the likeliest profile's weights, or means over the "
        "posterior or over the mix. Each profile counts over its range of scores, as "
        "scores do; the plain mean does not divide.",
        MERGE_CONTENTS, lab_real(f->task, "loyalty"), MERGE_CONTENTS / V, MERGE_LOOK);
    report_text(
        r,
        "Tanbr and the second NUCB begin with a prior: the mean scores at the points of "
        "a coarser grid (1 / %d) on %d generated links, which are none of those below. "
        "A misleading prior comes from high-4g links alone. The bandits' settings were "
        "chosen on other generated links again (seeds 9100 and 9200); nothing was chosen "
        "on the links below. With a prior, regret is small from the first slot and grows "
        "evenly, so its log-log slope is near 1. Without one, it falls off as the "
        "bandit learns.",
        f->field.prior.steps, (int)lab_int(f->task, "prior-links") * 6);
}

/* ---- tables ---- */

/* Claim: Tanbr has less regret. Untested where the interval contains 0. */
static void merge_claims(const struct merge_found *f)
{
    static const enum merge_method against[] = {
        MERGE_UNIFORM, MERGE_NUCB,         MERGE_NUCB_PRIOR,  MERGE_BEST_SINGLE,
        MERGE_FISHER,  MERGE_REGMEAN,      MERGE_PRIOR,       MERGE_TANBR_BARE,
        MERGE_ROUTER,  MERGE_HINT_GUESSED, MERGE_HINT_LIKELY, MERGE_HINT_MEAN};
    enum { N = sizeof against / sizeof *against };
    struct report *r = f->task->report;
    report_table(r, "Claims: Tanbr, 95 % intervals of differences over seeds");
    for (int i = 0; i < MERGE_MIXES * N; i++) {
        int mix = i / N;
        enum merge_method m = against[i % N];
        struct stats_interval g = tanbr_gap(f, mix, m, MERGE_REGRET);
        report_row(r);
        report_cell(r, "claim", "less regret than %s (%s)", merge_method_word(m),
                    MIX_SAYS[mix]);
        report_verdict(r, "verdict",
                       g.lo <= 0 && g.hi >= 0 ? REPORT_UNTESTED
                       : g.mean < 0           ? REPORT_PASS
                                              : REPORT_DIFFERS);
        claims_cell(r, "regret, difference", g, 2);
        claims_cell(r, "per slot at the end", tanbr_gap(f, mix, m, MERGE_REGRET_LATE), 4);
    }
}

struct column {
    const char *name;
    int column, digits;
};

static void merge_methods(const struct merge_found *f, int mix)
{
    static const struct column shown[] = {
        {"regret", MERGE_REGRET, 1},
        {"against best fixed", MERGE_FIXED, 1},
        {"per slot, last fifth", MERGE_REGRET_LATE, 4},
        {"share of best fixed, last fifth", MERGE_SHARE, 3},
        {"log-log slope", MERGE_SLOPE, 2}};
    struct report *r = f->task->report;
    char title[96];
    snprintf(title, sizeof title, "Who serves, %s, %d slots, %d seeds", MIX_SAYS[mix],
             f->slots, f->seeds);
    report_table(r, title);
    for (int i = 0; i < MERGE_METHODS; i++) {
        enum merge_method m = (enum merge_method)i;
        if (!f->arm[merge_arm(mix, m)]) continue;
        report_row(r);
        report_cell(r, "method", "%s", merge_method_word(m));
        for (int k = 0; k < 5; k++)
            claims_cell(r, shown[k].name,
                        of(f, mix, m, (enum merge_column)shown[k].column),
                        shown[k].digits);
        double right = of(f, mix, m, MERGE_ACCURACY).mean;
        if (isfinite(right)) report_real(r, "guesses right", right, 2);
        if (m > MERGE_PRIOR) continue;
        report_real(r, "leaves", of(f, mix, m, MERGE_LEAVES).mean, 1);
        report_real(r, "depth", of(f, mix, m, MERGE_DEPTH).mean, 1);
    }
}

static void merge_covariance(const struct merge_found *f)
{
    static const struct column shown[] = {
        {"equal choices", MERGE_EQUAL, 3},
        {"apart, |x - x'| / 2", MERGE_APART, 3},
        {"the diagonal's worth less per slot", MERGE_LOST, 4},
        {"regret with all of Z", MERGE_REGRET, 1}};
    struct report *r = f->task->report;
    if (!f->full) return;
    report_table(r, "All of Z against its diagonal: a twin with the diagonal is taught "
                    "the same and asked what it would choose");
    for (int d = 0; d < MERGE_MIXES; d++) {
        report_row(r);
        report_cell(r, "mix", "%s", MIX_SAYS[d]);
        report_int(r, "seeds", f->full);
        for (int k = 0; k < 4; k++)
            claims_cell(r, shown[k].name,
                        of(f, d, MERGE_TANBR_FULL, (enum merge_column)shown[k].column),
                        shown[k].digits);
        claims_cell(r, "regret with the diagonal", of(f, d, MERGE_TANBR, MERGE_REGRET),
                    1);
    }
}

static void merge_nodes(const struct merge_found *f)
{
    struct report *r = f->task->report;
    char title[96];
    snprintf(title, sizeof title, "%d nodes with a share of the viewers each, regret",
             f->nodes);
    report_table(r, title);
    for (int i = 0; i < MERGE_MIXES * MERGE_STARTS; i++) {
        const struct reps *reps = f->shared[i / MERGE_STARTS][i % MERGE_STARTS];
        report_row(r);
        report_cell(r, "mix", "%s", MIX_SAYS[i / MERGE_STARTS]);
        report_cell(r, "bandit", "%s", merge_method_word(merge_start[i % MERGE_STARTS]));
        for (int h = 0; h < MERGE_NODES_HOWS; h++)
            claims_cell(r, merge_nodes_says[h], reps_mean(reps, h), 1);
        claims_cell(r, "that share, less one node",
                    reps_gap(reps, MERGE_NODES_SHARED, reps, MERGE_NODES_ONE), 2);
        claims_cell(r, "that share, less apart",
                    reps_gap(reps, MERGE_NODES_SHARED, reps, MERGE_NODES_APART), 2);
    }
}

static void merge_scores(const struct merge_found *f)
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
        report_cell(r, "expert", "%s", k < V ? qoe_papers[k].name : "uniform");
        for (int v = 0; v < V; v++)
            report_real(r, qoe_papers[v].name, mean[v], 3);
    }
}

static void merge_sizes(const struct merge_found *f)
{
    struct report *r = f->task->report;
    report_table(r, "Slots until there are 20 candidates, equal rewards (choosing takes: "
                    "make bench BENCH_ONLY=merge)");
    for (int i = 0; i < MERGE_SIZES; i++) {
        report_row(r);
        report_int(r, "experts", merge_experts[i]);
        report_int(r, "ours", f->steps[0][i]);
        if (f->steps[1][i] > 0)
            report_int(r, PAPERS_SETTINGS, f->steps[1][i]);
        else
            report_cell(r, PAPERS_SETTINGS, "more than 3000");
    }
}

/* The paper's Table I has seconds and parameters of T5; ours are counted for our actor. */
static void merge_costs(const struct merge_found *f)
{
    static const struct {
        const char *says;
        int active;
    } how[] = {{"one merged expert", 0},
               {"router, 1 expert active", 1},
               {"router, 2 experts active", 2},
               {"router, 3 experts active", 3}};
    struct report *r = f->task->report;
    struct merge_cost merged = merge_cost(&f->actor, 0);
    report_table(r, "Cost of a decision, counted (seconds: make bench BENCH_ONLY=merge)");
    for (int i = 0; i < 4; i++) {
        struct merge_cost c = merge_cost(&f->actor, how[i].active);
        report_row(r);
        report_cell(r, "how", "%s", how[i].says);
        report_int(r, "products", (int64_t)c.products);
        report_int(r, "bytes of weights", (int64_t)c.bytes);
        if (i)
            report_real(r, "merged saves, products [%]",
                        100 * (1 - merged.products / c.products), 1);
        if (i)
            report_real(r, "merged saves, bytes [%]", 100 * (1 - merged.bytes / c.bytes),
                        1);
    }
    struct merge_cost one = merge_cost(&f->actor, 1), two = merge_cost(&f->actor, 2);
    double time[2] = {1 - merged.products / one.products,
                      1 - merged.products / two.products};
    report_table(r, "Claims: cost (Tables I and II, Fig. 3b)");
    for (int i = 0; i < 2; i++) {
        report_row(r);
        report_cell(r, "claim", "time of a decision at least 45 %% less, %d active",
                    i + 1);
        report_verdict(r, "verdict",
                       time[i] >= .45 ? REPORT_PASS
                       : time[i] > 0  ? REPORT_SHORT
                                      : REPORT_DIFFERS);
        report_real(r, "saved [%]", 100 * time[i], 1);
    }
    double memory = 1 - merged.bytes / one.bytes;
    report_row(r);
    report_cell(r, "claim", "memory at least 20 %% less");
    report_verdict(r, "verdict", memory >= .2 ? REPORT_PASS : REPORT_DIFFERS);
    report_real(r, "saved [%]", 100 * memory, 1);
}

/* Over all rounds and orders of a rho: the most of the lemma's bound that was used. */
static void merge_lemmas(const struct merge_found *f)
{
    struct report *r = f->task->report;
    report_table(r, "Lemmas 1 and 2: trees grown to be as deep, or as large, as they can "
                    "be (C, nu1 and delta 1)");
    for (int i = 0; i < MERGE_BOUND_RHOS; i++)
        for (int t = 0; t < MERGE_BOUND_ROUNDS; t++) {
            const struct merge_bounds *deep = &f->bounds[i][t][MERGE_DEEPEST],
                                      *wide = &f->bounds[i][t][MERGE_IN_TURN];
            report_row(r);
            report_real(r, "rho", merge_rho[i], 1);
            report_int(r, "slots", merge_bound_rounds[t]);
            report_int(r, "depth", deep->depth);
            report_real(r, "Lemma 2", deep->depth_bound, 1);
            report_int(r, "leaves",
                       wide->leaves > deep->leaves ? wide->leaves : deep->leaves);
            report_real(r, "Lemma 1", wide->leaves_bound, 0);
            bool holds = deep->depth <= deep->depth_bound &&
                         wide->leaves <= wide->leaves_bound &&
                         deep->leaves <= deep->leaves_bound;
            report_verdict(r, "verdict", holds ? REPORT_PASS : REPORT_DIFFERS);
        }
}

/* ---- figures ---- */

static void figure_regret(const struct merge_found *f)
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
            reps_draw(r, merge_method_word(shown[i]),
                      shown[i] == MERGE_BEST_SINGLE ? REPORT_DASHED : REPORT_LINE, f->at,
                      f->points, f->arm[merge_arm(d, shown[i])], MERGE_CURVE);
    }
}

static void figure_lines(const struct merge_found *f)
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
            snprintf(title, sizeof title, "%s to %s", qoe_papers[a].name,
                     qoe_papers[b].name);
            report_panel(r, &(struct report_panel){
                                .title = title,
                                .x = {.label = "share of the second"},
                                .y = {.label = "score", .lo = -0.5, .hi = 1.1}});
            for (int v = 0; v < V; v++) {
                for (int i = 0; i < MERGE_LINE; i++) {
                    double score = f->line[pair][i][v];
                    x[i] = (double)i / (MERGE_LINE - 1);
                    y[i] = score >= -0.5 ? score : (double)NAN;
                }
                report_series(
                    r, &(struct report_series){
                           .name = qoe_papers[v].name, .n = MERGE_LINE, .x = x, .y = y});
            }
        }
}

static void figure_sweep(const struct merge_found *f)
{
    struct report *r = f->task->report;
    report_figure(r, "sweep", "Learning rate and smoothness",
                  "Regret of Tanbr on the drifting mix (Fig. 7 of the paper).");
    report_panel(r, &(struct report_panel){.x = {.label = "eta", .log = true},
                                           .y = {.label = "regret"}});
    for (int i = 0; i < MERGE_RHOS; i++) {
        struct stats_interval s[MERGE_ETAS];
        char name[32];
        snprintf(name, sizeof name, "rho %g", merge_rho[i]);
        for (int h = 0; h < MERGE_ETAS; h++)
            s[h] = reps_mean(f->arm[MERGE_SWEEP + i * MERGE_ETAS + h], MERGE_REGRET);
        claims_points(r, name, REPORT_POINTS, merge_eta, s, MERGE_ETAS);
    }
}

static void figure_sizes(const struct merge_found *f)
{
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
        report_series(r, &(struct report_series){.name = w ? PAPERS_SETTINGS : "ours",
                                                 .kind = REPORT_POINTS,
                                                 MERGE_SIZES,
                                                 x,
                                                 y});
    }
}

/* ---- checks ---- */

/* On the lines between specialists: the most that a specialist's own score falls below the straight
 * line between its scores at the ends, and the least share of it that is left a twentieth of the way
 * to the other. */
static void line_shape(double *deepest, double *nearby, const struct merge_found *f)
{
    *deepest = 0;
    *nearby = 1;
    int pair = 0;
    for (int a = 0; a < V; a++)
        for (int b = a + 1; b < V; b++, pair++)
            for (int end = 0; end < 2; end++) {
                const double(*line)[V] = f->line[pair];
                int v = end ? b : a, last = MERGE_LINE - 1, own = end ? last : 0;
                int next = end ? last - 1 : 1;
                for (int i = 0; i <= last; i++) {
                    double share = (double)i / last;
                    double straight = (1 - share) * line[0][v] + share * line[last][v];
                    *deepest = fmax(*deepest, straight - line[i][v]);
                }
                *nearby = fmin(*nearby, line[next][v] / line[own][v]);
            }
}

static void merge_checks(const struct merge_found *f)
{
    static const enum merge_method below[] = {MERGE_UNIFORM, MERGE_NUCB, MERGE_FISHER};
    struct report *r = f->task->report;
    char name[120];
    double deepest, nearby;
    line_shape(&deepest, &nearby, f);
    report_check(r, "specialist's own score kept 1/20 of the way to another, least",
                 nearby, 0.9, INFINITY);
    report_check(r, "score below the straight line between two experts, most", deepest, 0,
                 0.1);
    report_check(r, "interpolation of the grid, mean error", f->off, 0, 0.05);
    for (int d = 0; d < MERGE_MIXES; d++) {
        snprintf(name, sizeof name, "share of best fixed score, last fifth, %s",
                 MIX_SAYS[d]);
        report_check(r, name, of(f, d, MERGE_TANBR, MERGE_SHARE).mean, 0.97, INFINITY);
        for (int i = 0; i < 3; i++) {
            snprintf(name, sizeof name, "regret minus that of %s, %s",
                     merge_method_word(below[i]), MIX_SAYS[d]);
            report_check(r, name, tanbr_gap(f, d, below[i], MERGE_REGRET).mean, -INFINITY,
                         0);
        }
    }
    /* while the mix drifts, the cost of a slot drifts too: even fixed weights then have slopes from
     * 0.8 to 1.2 */
    report_check(r, "slope of ln regret over ln slot, no prior, fixed mix",
                 of(f, 0, MERGE_TANBR_BARE, MERGE_SLOPE).mean, 0, 1);
    /* on a fixed mix the expert that is best in hindsight is hard to beat: a claim above */
    report_check(r, "regret minus that of best single expert, drifting mix",
                 tanbr_gap(f, 1, MERGE_BEST_SINGLE, MERGE_REGRET).mean, -INFINITY, 0);
    report_check(r, "slots to 20 candidates of 192 experts", f->steps[0][MERGE_SIZES - 1],
                 19, 1000);
}

void merge_report(const struct merge_found *f)
{
    merge_explain(f);
    merge_claims(f);
    for (int d = 0; d < MERGE_MIXES; d++)
        merge_methods(f, d);
    merge_covariance(f);
    merge_nodes(f);
    merge_scores(f);
    merge_sizes(f);
    merge_costs(f);
    merge_lemmas(f);
    figure_regret(f);
    figure_lines(f);
    figure_sweep(f);
    figure_sizes(f);
    merge_checks(f);
}
