#include "lab/forgetting/forgetting.h"

#include "lab/forgetting/experiment.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ERROR_T "generalisation error G_t"
#define FORGETTING_T "forgetting F_t"

enum { SIZES = 4, STOP = 0, ON = 1 }; /* rows of the grid */

static const struct experiment_row ROWS[] = {{"with termination", MIXTURE_STOP, false},
                                             {"without termination", MIXTURE_ON, false}};

/* ---- figures of linear tasks ---- */

/* Proposition 2's t1 and t2 */
static int prop2_round(const struct mixture_cfg *c, int number)
{
    double power = number ? 0.75 : 0.25;
    return (int)ceil(pow(c->task.sigma0, -power) * c->router.experts / c->router.eta);
}

enum mark { MARK_T1 = 1, MARK_PROP2 };

static void forgetting_mark(const void *self, int mark, int size)
{
    const struct experiment *x = self;
    const struct mixture_cfg *c = &x->arm[size].cfg;
    struct report *r = x->task->report;
    if (mark == MARK_T1 && size > 0) report_rule(r, 'x', mixture_t1(c), "T1");
    if (mark != MARK_PROP2) return;
    report_rule(r, 'x', prop2_round(c, 0), "t1");
    report_rule(r, 'x', prop2_round(c, 1), "t2");
}

/* A curve per size, with and without termination, in the rows from `rows` on. */
#define BY_ROW(column, label, rows)                                                    \
    CLAIMS_ALL(                                                                        \
        claims_panel,                                                                  \
        {.title = "with termination",                                                  \
         .x = {"round t"},                                                             \
         .y = {label},                                                                 \
         .each = CLAIMS_CURVES,                                                        \
         .curve = CLAIMS_ALL(claims_curve, {NULL, REPORT_LINE, column, rows + STOP})}, \
        {.title = "without termination",                                               \
         .x = {"round t"},                                                             \
         .y = {label},                                                                 \
         .each = CLAIMS_CURVES,                                                        \
         .curve = CLAIMS_ALL(claims_curve, {NULL, REPORT_LINE, column, rows + ON})})

/* A panel per size from `first` on. */
#define BY_SIZE(label, first, marks, ...)            \
    CLAIMS_ALL(claims_panel, {.x = {"round t"},      \
                              .y = {label},          \
                              .each = CLAIMS_PANELS, \
                              .from = first,         \
                              .mark = marks,         \
                              .curve = CLAIMS_ALL(claims_curve, __VA_ARGS__)})

static const struct claims_figure OVER_TIME[] = {
    {.heading = "Mixtures: with and without termination",
     .id = "forgetting",
     .title = "Forgetting",
     .caption =
         "Means over repetitions with 95 % bands. Each repetition has its own pool of "
         "tasks. All curves see the same tasks and data.",
     .panel = BY_ROW(MIXTURE_FORGOT, FORGETTING_T, 0)},
    {.id = "error",
     .title = "Generalisation error",
     .panel = BY_ROW(MIXTURE_ERROR, ERROR_T, 0)},
};

static const struct claims_figure PROPOSITIONS[] = {
    {.id = "theorem1-forgetting",
     .title = "Theorem 1 and the measurement: forgetting",
     .caption = "With termination. For M = 1 the printed form is that of Proposition 4.",
     .panel = BY_SIZE(FORGETTING_T, 0, MARK_T1,
                      {"measured", REPORT_LINE, MIXTURE_FORGOT, STOP},
                      {"bound as printed", REPORT_DASHED, MIXTURE_BOUND_F, STOP})},
    {.id = "theorem1-error",
     .title = "Theorem 1 and the measurement: error",
     .panel = BY_SIZE(ERROR_T, 0, MARK_T1, {"measured", REPORT_LINE, MIXTURE_ERROR, STOP},
                      {"bound as printed", REPORT_DASHED, MIXTURE_BOUND_G, STOP})},
    {.id = "gaps",
     .title = "Gate gaps inside and between expert sets (Propositions 1 and 2)",
     .caption =
         "Mean |h_m - h_m'| over pairs of experts on the data of the round. Proposition "
         "2, without termination: at t1 the gaps are O(sigma0^1.75) = 0.20 inside a set "
         "and about sigma0^0.75 = 0.50 between sets; at t2 all are alike.",
     .panel =
         BY_SIZE("gate gap", 1, MARK_PROP2,
                 {"inside, without termination", REPORT_LINE, MIXTURE_INSIDE, ON},
                 {"between, without termination", REPORT_LINE, MIXTURE_ACROSS, ON},
                 {"inside, with termination", REPORT_DASHED, MIXTURE_INSIDE, STOP},
                 {"between, with termination", REPORT_DASHED, MIXTURE_ACROSS, STOP})},
};

static const struct claims_figure SETS[] = {
    {.id = "sizes",
     .title = "Size of the expert sets",
     .caption = "Shares of the experts in the largest and in the smallest of the three "
                "sets, means over repetitions.",
     .panel =
         BY_SIZE("share of experts", 1, 0,
                 {"largest, with termination", REPORT_LINE, MIXTURE_LARGEST, STOP},
                 {"smallest, with termination", REPORT_LINE, MIXTURE_SMALLEST, STOP},
                 {"largest, without termination", REPORT_DASHED, MIXTURE_LARGEST, ON},
                 {"smallest, without termination", REPORT_DASHED, MIXTURE_SMALLEST, ON})},
    {.id = "sets",
     .title = "Expert sets that settle (Proposition 1)",
     .caption = "Share of experts whose specialty moved to another cluster since the "
                "previous point, which is a twentieth of the time back.",
     .panel = BY_SIZE("share that changed its set", 1, 0,
                      {"with termination", REPORT_LINE, MIXTURE_CHANGED, STOP},
                      {"without termination", REPORT_DASHED, MIXTURE_CHANGED, ON})},
    {.id = "travel",
     .title = "How far the experts still move",
     .caption = "Mean distance ||w_t - w|| from the previous point. Proposition 1 says "
                "0 after T1 with termination.",
     .panel = BY_SIZE("distance since the last point", 1, 0,
                      {"with termination", REPORT_LINE, MIXTURE_TRAVEL, STOP},
                      {"without termination", REPORT_DASHED, MIXTURE_TRAVEL, ON})},
};

/* The cluster of every expert's set in the first repetition, experts a little apart. */
static int members_panel(const struct experiment *x, const struct experiment_arm *a,
                         const char *title, struct err *e)
{
    int set[REPS_POINTS * RECALL_EXPERTS], experts = a->cfg.router.experts;
    double value[MIXTURE_SERIES * REPS_POINTS], at[REPS_POINTS], y[REPS_POINTS];
    struct mixture_to to = {.grid = x->grid,
                            .points = x->points,
                            .series = MIXTURE_SERIES,
                            .value = value,
                            .set = set};
    struct mixture_end end;
    int rc = mixture_run(&end, &to, &a->cfg, NULL, x->task->seed, 0, e);
    if (rc) return rc;
    report_panel(
        x->task->report,
        &(struct report_panel){.title = title,
                               .x = {"round t"},
                               .y = {.label = "set of cluster", .lo = 0.5, .hi = 3.5}});
    for (int m = 0; m < experts; m++) {
        char name[32];
        for (int i = 0; i < x->points; i++) {
            at[i] = x->grid[i];
            y[i] = 1 + set[i * experts + m] + 0.08 * (m - (experts - 1) / 2.0);
        }
        snprintf(name, sizeof name, "expert %d", m + 1);
        report_series(
            x->task->report,
            &(struct report_series){.name = name, .n = x->points, .x = at, .y = y});
    }
    return 0;
}

static int members_figure(const struct experiment *x, struct err *e)
{
    report_figure(x->task->report, "members",
                  "The expert sets M_n of one repetition, M = 5",
                  "The cluster whose signal an expert's gate scores highest.");
    int rc = members_panel(x, &x->arm[1], "with termination", e);
    return rc ? rc : members_panel(x, &x->arm[SIZES + 1], "without termination", e);
}

/* One panel: bars over the sizes but the first, a series per row. */
static void bars_panel(const struct claims_lab *l, const char *title, int column)
{
    static const char *const sizes[] = {"M = 5", "M = 10", "M = 20"};
    report_panel(l->report, &(struct report_panel){.title = title,
                                                   .x = {.label = "experts"},
                                                   .y = {.label = "share", .hi = 1},
                                                   .category = sizes,
                                                   .categories = SIZES - 1});
    for (int row = 0; row < CLAIMS_COUNT(ROWS); row++)
        claims_bars(l, ROWS[row].name, row, 1, column);
}

static void shares_figure(const struct claims_lab *l)
{
    report_figure(
        l->report, "shares", "Selection after the stop (Proposition 3)",
        "Second half of the run. Left: how evenly a cluster's tasks spread over its "
        "expert set, exp(entropy of the shares) / |M_n|; 1 when each expert has "
        "1/|M_n|. Right: share of the tasks that went to an expert of their own set.");
    bars_panel(l, "evenness inside the set", EXPERIMENT_EVEN);
    bars_panel(l, "tasks that met their set", EXPERIMENT_MET);
}

/* ---- tables of linear tasks ---- */

static void end_table(const struct experiment *x, const struct claims_lab *l)
{
    static const struct claims_field fields[] = {
        {"F_T", {CLAIMS_MEAN, MIXTURE_FORGOT, 0, 0}, CLAIMS_INTERVAL, 3},
        {"G_T", {CLAIMS_MEAN, MIXTURE_ERROR, 0, 0}, CLAIMS_INTERVAL, 3},
        {"gate stopped, round", {CLAIMS_MEAN, EXPERIMENT_STOPPED, 0, 0}, CLAIMS_REAL, 1},
        {"set met", {CLAIMS_MEAN, EXPERIMENT_MET, 0, 0}, CLAIMS_REAL, 2},
        {"evenness", {CLAIMS_MEAN, EXPERIMENT_EVEN, 0, 0}, CLAIMS_REAL, 2},
        {"clusters with experts", {CLAIMS_MEAN, EXPERIMENT_SERVED, 0, 0}, CLAIMS_REAL, 2},
    };
    report_table(l->report, "After the last round");
    for (int k = 0; k < 2 * SIZES; k++) {
        int arm = k % 2 * SIZES + k / 2;
        if (!x->arm[arm].reps) continue;
        report_row(l->report);
        report_int(l->report, "M", x->arm[arm].cfg.router.experts);
        report_cell(l->report, "termination", k % 2 ? "no" : "yes");
        claims_fields(l, fields, CLAIMS_COUNT(fields), arm);
    }
}

static const struct claims_columns COLUMNS = {.text = "claim",
                                              .paper = "paper",
                                              .verdict = "verdict",
                                              .ours = "ours",
                                              .verdict_first = true};

/* All of M = 10. */
enum { STOP_10 = STOP * SIZES + 2, ON_10 = ON * SIZES + 2 };
/* measured at t1 or t2 of Proposition 2 */
#define MEAN_AT(column, arm, number)       \
    {                                      \
        EXPERIMENT_AT, column, arm, number \
    }
/* at how many points is the series above its bound, and how many are there? */
#define ABOVE(series, bound)                     \
    {                                            \
        EXPERIMENT_ABOVE, series, STOP_10, bound \
    }
#define POINTS                           \
    {                                    \
        EXPERIMENT_POINTS, 0, STOP_10, 0 \
    }

/* text, paper; rule, limit, times number, else short by number; words; numbers */
static const struct claims_claim CLAIMS[] = {
    /* below the least positive number: not at all */
    CLAIMS_LIMIT(
        "sets stay after the stop (Prop. 1), M = 10", "no expert changes its set",
        CLAIMS_BELOW, DBL_MIN, 0, 0, "#0% change; #0% without termination",
        CLAIMS_MEAN_OF(MIXTURE_CHANGED, STOP_10), CLAIMS_MEAN_OF(MIXTURE_CHANGED, ON_10)),
    CLAIMS_LIMIT("models stay after T1 (Prop. 1), M = 10", "w does not change",
                 CLAIMS_BELOW, DBL_MIN, 0, 1, "moves #2 from point to point; #2 without",
                 CLAIMS_MEAN_OF(MIXTURE_TRAVEL, STOP_10),
                 CLAIMS_MEAN_OF(MIXTURE_TRAVEL, ON_10)),
    CLAIMS_LIMIT("gaps at t1 (Prop. 2), M = 10", "O(0.20) inside, about 0.50 between",
                 CLAIMS_BELOW, 0.5, 1, 1, "#2 inside, #2 between",
                 MEAN_AT(MIXTURE_INSIDE, ON_10, 0), MEAN_AT(MIXTURE_ACROSS, ON_10, 0)),
    /* alike: those between sets are less than a tenth larger */
    CLAIMS_LIMIT("gaps at t2 (Prop. 2), M = 10", "all about 0.20", CLAIMS_AT_LEAST,
                 1 / 1.1, 1, 0, "#2 inside, #2 between",
                 MEAN_AT(MIXTURE_INSIDE, ON_10, 1), MEAN_AT(MIXTURE_ACROSS, ON_10, 1)),
    CLAIMS_LIMIT("experts of a set chosen alike (Prop. 3), M = 10", "evenness 1",
                 CLAIMS_AT_LEAST, 0.95, 0, CLAIMS_ALWAYS, "#2",
                 CLAIMS_MEAN_OF(EXPERIMENT_EVEN, STOP_10)),
    CLAIMS_LIMIT("Theorem 1, forgetting, M = 10", "below the bound at every t",
                 CLAIMS_BELOW, 1, 0, 1, "above it at #0 of #0 points",
                 ABOVE(MIXTURE_FORGOT, MIXTURE_BOUND_F), POINTS),
    CLAIMS_LIMIT("Theorem 1, error, M = 10", "below the bound at every t", CLAIMS_BELOW,
                 1, 0, 1, "above it at #0 of #0 points",
                 ABOVE(MIXTURE_ERROR, MIXTURE_BOUND_G), POINTS),
};

/* ---- what must hold for linear tasks ---- */

static const struct claims_check BELOW_ONE[] = {
    CLAIMS_NEGATIVE("F at T: @ with termination minus M = 1, upper 95 %",
                    EXPERIMENT_GAP_ONE, MIXTURE_FORGOT, STOP, 0),
    CLAIMS_NEGATIVE("G at T: @ with termination minus M = 1, upper 95 %",
                    EXPERIMENT_GAP_ONE, MIXTURE_ERROR, STOP, 0)};
static const struct claims_check BELOW_ON[] = {
    CLAIMS_NEGATIVE("G at T, @: with minus without termination, upper 95 %", CLAIMS_GAP,
                    MIXTURE_ERROR, STOP, ON)};
static const struct claims_check STILL_LEARNING[] = {
    {"share of gates still learning at T, @",
     {CLAIMS_MEAN, MIXTURE_RUNNING, STOP, 0},
     CLAIMS_OF_MEAN,
     0,
     0}};

/* The point behind T1 where the mean error is lowest. */
static int lowest(const struct experiment *x, const struct experiment_arm *a)
{
    int best = x->points - 1;
    double low = INFINITY;
    for (int i = 0; i < x->points; i++) {
        double mean = reps_mean(a->reps, experiment_column(a, MIXTURE_ERROR, i)).mean;
        if (x->grid[i] <= mixture_t1(&a->cfg) || mean >= low) continue;
        best = i;
        low = mean;
    }
    return best;
}

static void check_rise(const struct experiment *x, int size)
{
    const struct experiment_arm *a = &x->arm[ON * SIZES + size];
    int low = lowest(x, a);
    struct stats_interval rise =
        reps_gap(a->reps, experiment_column(a, MIXTURE_ERROR, x->points - 1), a->reps,
                 experiment_column(a, MIXTURE_ERROR, low));
    char name[96];
    snprintf(name, sizeof name,
             "G without termination, M = %d: rise since round %d, lower 95 %%",
             a->cfg.router.experts, x->grid[low]);
    report_check(x->task->report, name, rise.lo, 0, INFINITY);
}

static int draw_linear(const struct experiment *x, const struct claims_lab *l,
                       struct err *e)
{
    claims_draw(l, OVER_TIME, CLAIMS_COUNT(OVER_TIME));
    end_table(x, l);
    claims_draw(l, PROPOSITIONS, CLAIMS_COUNT(PROPOSITIONS));
    int rc = members_figure(x, e);
    if (rc) return rc;
    claims_draw(l, SETS, CLAIMS_COUNT(SETS));
    shares_figure(l);

    report_table(l->report, "Claims of the paper");
    claims_judge(l, &COLUMNS, CLAIMS, CLAIMS_COUNT(CLAIMS));
    for (int i = 2; i < SIZES; i++) { /* M = 10, 20 > N = 6 */
        claims_check_size(l, BELOW_ONE, CLAIMS_COUNT(BELOW_ONE), i);
        check_rise(x, i);
        claims_check_size(l, BELOW_ON, CLAIMS_COUNT(BELOW_ON), i);
        claims_check_size(l, STILL_LEARNING, CLAIMS_COUNT(STILL_LEARNING), i);
    }
    return 0;
}

static const struct setting LINEAR = {.note = "",
                                      .reps = "reps",
                                      .rounds = "rounds",
                                      .first = 2,
                                      .from = 0.3,
                                      .to = 0.6,
                                      .experts = {1, 5, 10, 20},
                                      .sizes = SIZES,
                                      .row = ROWS,
                                      .rows = 2,
                                      .when = prop2_round,
                                      .mark = forgetting_mark,
                                      .draw = draw_linear};

/* ---- images ---- */

enum {
    IMAGE_SIZES = 3,
    COMMON = 2
}; /* COMMON + STOP, COMMON + ON: rows of common names */

static const struct experiment_row IMAGE_ROWS[] = {
    {"with termination", MIXTURE_STOP, false},
    {"without termination", MIXTURE_ON, false},
    {"with termination", MIXTURE_STOP, true},
    {"without termination", MIXTURE_ON, true}};

/* With --quick one mixture on the tasks that contradict each other, else all. */
static bool image_wanted(const struct lab_task *t, int row, int size)
{
    return !t->quick || (row < COMMON && size != 1);
}

#define WRONG "generalisation error G_t (share wrong)"

static const struct claims_figure IMAGE_FIGURES[] = {
    {.id = "mnist-forgetting",
     .title = "MNIST: forgetting",
     .caption =
         "Means over repetitions with 95 % bands. Each repetition has its own digits "
         "and names.",
     .panel = BY_ROW(MIXTURE_FORGOT, "forgetting F_t (share of test images)", 0)},
    {.id = "mnist-error",
     .title = "MNIST: generalisation error",
     .panel = BY_ROW(MIXTURE_ERROR, WRONG, 0)},
    {.id = "mnist-gate",
     .title = "MNIST: what the gate does",
     .caption =
         "Left: share of the rounds whose chosen expert has learned their task most "
         "often. Right: how far a round still moves the expert that learns it.",
     .panel =
         CLAIMS_ALL(claims_panel,
                    {.title = "M = 7",
                     .x = {"round t"},
                     .y = {.label = "share of rounds that met a specialist", .hi = 1},
                     .curve = CLAIMS_ALL(claims_curve,
                                         {"with termination", REPORT_LINE,
                                          MIXTURE_SPECIAL, STOP *IMAGE_SIZES + 2},
                                         {"without termination", REPORT_DASHED,
                                          MIXTURE_SPECIAL, ON *IMAGE_SIZES + 2})},
                    {.title = "M = 7",
                     .x = {"round t"},
                     .y = {.label = "||w_t - w_(t-1)||"},
                     .curve = CLAIMS_ALL(claims_curve,
                                         {"with termination", REPORT_LINE, MIXTURE_STEP,
                                          STOP *IMAGE_SIZES + 2},
                                         {"without termination", REPORT_DASHED,
                                          MIXTURE_STEP, ON *IMAGE_SIZES + 2})})},
};

static const struct claims_figure COMMON_NAMES[] = {
    {.id = "mnist-common",
     .title = "MNIST, when all tasks use the same names",
     .caption = "Nothing contradicts here. One network can learn all tasks, and it sees "
                "every round, while each of M experts sees a part of them.",
     .panel = BY_ROW(MIXTURE_ERROR, WRONG, COMMON)},
};

static const struct claims_check IMAGE_BELOW_ON[] = {
    CLAIMS_NEGATIVE("G at T: @ with termination minus without, upper 95 %", CLAIMS_GAP,
                    MIXTURE_ERROR, STOP, ON)};

static void image_table(const struct experiment *x, const struct claims_lab *l)
{
    static const struct claims_field fields[] = {
        {"F_T", {CLAIMS_MEAN, MIXTURE_FORGOT, 0, 0}, CLAIMS_INTERVAL, 3},
        {"G_T", {CLAIMS_MEAN, MIXTURE_ERROR, 0, 0}, CLAIMS_INTERVAL, 3},
        {"T1", {CLAIMS_MEAN, EXPERIMENT_T1, 0, 0}, CLAIMS_REAL, 1},
        {"gate stopped, round", {CLAIMS_MEAN, EXPERIMENT_STOPPED, 0, 0}, CLAIMS_REAL, 1},
        {"set met", {CLAIMS_MEAN, MIXTURE_HOME, 0, 0}, CLAIMS_REAL, 2},
        {"specialist met", {CLAIMS_MEAN, MIXTURE_SPECIAL, 0, 0}, CLAIMS_REAL, 2},
        {"sigma0", {CLAIMS_MEAN, EXPERIMENT_SIGMA0, 0, 0}, CLAIMS_REAL, 4},
    };
    report_table(l->report, "MNIST after the last round");
    for (int arm = 0; arm < CLAIMS_COUNT(IMAGE_ROWS) * IMAGE_SIZES; arm++) {
        const struct mixture_cfg *c = &x->arm[arm].cfg;
        if (!x->arm[arm].reps) continue;
        report_row(l->report);
        report_cell(l->report, "names", c->digits.own_names ? "own" : "common");
        report_int(l->report, "M", c->router.experts);
        report_cell(l->report, "termination", c->rule == MIXTURE_STOP ? "yes" : "no");
        claims_fields(l, fields, CLAIMS_COUNT(fields), arm);
    }
}

static void image_words(const struct experiment *x)
{
    struct report *r = x->task->report;
    struct digits_cfg c = digits_cfg_default();
    report_heading(r, "Real images: MNIST");
    report_text(
        r,
        "There are N = %d tasks. Each names the images of %d digits, which are drawn "
        "anew in every repetition. A round brings s = %d training images of one task. "
        "The gate sees their average without the mean of all images, scaled to length "
        "1. An expert is a network of %d hidden units, which descends on the round's "
        "images until it knows them.",
        c.tasks, c.each, c.s, c.hidden);
    report_text(
        r, "The slides do not say what a task is. Here every task has names of its own "
           "for its digits, so no single network can serve all, as in the linear model. "
           "Errors are shares of test images named wrongly. The gate's constants follow "
           "sigma0 of the inputs by the orders of Algorithm 1: eta = alpha = sigma0^0.5, "
           "lambda = Gamma = sigma0^1.25.");
    report_param_int(r, "repetitions on MNIST", x->reps);
    report_param_int(r, "rounds on MNIST", x->grid[x->points - 1]);
}

static int draw_images(const struct experiment *x, const struct claims_lab *l,
                       struct err *e)
{
    (void)e;
    image_words(x);
    claims_draw(l, IMAGE_FIGURES, CLAIMS_COUNT(IMAGE_FIGURES));
    if (x->arm[COMMON * IMAGE_SIZES].reps)
        claims_draw(l, COMMON_NAMES, CLAIMS_COUNT(COMMON_NAMES));
    image_table(x, l);
    for (int i = 1; i < IMAGE_SIZES; i++) {
        if (!x->arm[i].reps) continue;
        claims_check_size(l, BELOW_ONE, CLAIMS_COUNT(BELOW_ONE), i);
        claims_check_size(l, IMAGE_BELOW_ON, CLAIMS_COUNT(IMAGE_BELOW_ON), i);
        claims_check_size(l, STILL_LEARNING, CLAIMS_COUNT(STILL_LEARNING), i);
    }
    return 0;
}

static const struct setting IMAGES = {.images = true,
                                      .note = "MNIST, ",
                                      .reps = "image-reps",
                                      .rounds = "image-rounds",
                                      .first = 2,
                                      .from = 0.6,
                                      .to = 1,
                                      .experts = {1, 4, 7},
                                      .sizes = IMAGE_SIZES,
                                      .row = IMAGE_ROWS,
                                      .rows = CLAIMS_COUNT(IMAGE_ROWS),
                                      .wanted = image_wanted,
                                      .draw = draw_images};

/* ---- one expert against its expectations (exact.h) ---- */

enum {
    EXACT_ROUNDS = 200,
    EXACT_STREAM = 1000003 /* apart from the repetitions' streams */
};

/* Expectations of E[F_t] and E[G_t] at the points of the grid. */
struct forms {
    double of[MIXTURE_CORE][REPS_POINTS];
};

enum { NO_SIGNAL, SIGNAL, RUNS };

struct exact_trial {
    int points, grid[REPS_POINTS];
    struct task_pool pool;
    struct forms closed, printed; /* without signal */
    struct forms recursion[RUNS];
    struct experiment_arm arm[RUNS];
};

static void closed_forms(struct exact_trial *t, const struct task_cfg *c)
{
    struct exact_norms n = exact_norms(&t->pool, c->tasks, c->d);
    double r = 1 - (double)c->s / c->d;
    for (int p = 0; p < t->points; p++) {
        int at = t->grid[p];
        t->closed.of[MIXTURE_FORGOT][p] = exact_f(n, r, at);
        t->closed.of[MIXTURE_ERROR][p] = exact_g(n, r, at);
        t->printed.of[MIXTURE_FORGOT][p] = exact_printed_f(n, r, at);
        t->printed.of[MIXTURE_ERROR][p] = exact_printed_g(n, r, at);
    }
}

/* the recursion of second moments */
static void recursion(struct forms *out, const struct exact_trial *t,
                      const struct task_cfg *c)
{
    double f[EXACT_ROUNDS], g[EXACT_ROUNDS];
    exact_moments(f, g, EXACT_ROUNDS, &t->pool, c);
    for (int p = 0; p < t->points; p++) {
        out->of[MIXTURE_FORGOT][p] = f[t->grid[p] - 1];
        out->of[MIXTURE_ERROR][p] = g[t->grid[p] - 1];
    }
}

static void exact_prepare(struct exact_trial *t, uint64_t seed)
{
    struct task_cfg c = mixture_default(false, 1, MIXTURE_STOP).task;
    struct rng rng;
    rng_init(&rng, seed, EXACT_STREAM);
    task_pool_draw(&t->pool, &c, &rng);
    t->points = reps_grid(t->grid, 2, EXACT_ROUNDS);
    closed_forms(t, &c);
    for (int k = 0; k < RUNS; k++) {
        c.signal = k == SIGNAL;
        recursion(&t->recursion[k], t, &c);
    }
}

static int exact_simulate(struct exact_trial *t, int run, int reps,
                          const struct lab_task *task, struct err *e)
{
    struct experiment_arm *arm = &t->arm[run];
    if (lab_progress(task, 0.15 * run,
                     run == SIGNAL ? "one expert, with its signal"
                                   : "one expert, no signal"))
        return LAB_STOPPED;
    arm->cfg = mixture_default(false, 1, MIXTURE_STOP);
    arm->cfg.task.signal = run == SIGNAL;
    arm->cfg.rounds = EXACT_ROUNDS;
    return experiment_repeat(arm, &t->pool, reps, t->grid, t->points, MIXTURE_CORE, task,
                             e);
}

static void exact_panel(struct report *r, const struct exact_trial *t, int run,
                        int series)
{
    static const char *const titles[RUNS][MIXTURE_CORE] = {
        [NO_SIGNAL] = {[MIXTURE_FORGOT] = "no signal: forgetting",
                       [MIXTURE_ERROR] = "no signal: error"},
        [SIGNAL] = {[MIXTURE_FORGOT] = "with signal: forgetting",
                    [MIXTURE_ERROR] = "with signal: error"}};
    double x[REPS_POINTS];
    for (int p = 0; p < t->points; p++)
        x[p] = t->grid[p];
    report_panel(
        r, &(struct report_panel){.title = titles[run][series],
                                  .x = {"round t"},
                                  .y = {.label = series == MIXTURE_FORGOT
                                                     ? "forgetting E[F_t]"
                                                     : "generalisation error E[G_t]"}});
    reps_draw(r, "simulated", REPORT_POINTS, t->grid, t->points, t->arm[run].reps,
              experiment_column(&t->arm[run], series, 0));
    const struct forms *exact = run == SIGNAL ? &t->recursion[run] : &t->closed;
    report_series(r,
                  &(struct report_series){
                      .name = "exact", .n = t->points, .x = x, .y = exact->of[series]});
    report_series(r, &(struct report_series){.name = "Proposition 4 as printed",
                                             .kind = REPORT_DASHED,
                                             .n = t->points,
                                             .x = x,
                                             .y = t->printed.of[series]});
}

/* the largest distance in standard errors over the points */
static double worst(const struct exact_trial *t, int run, int series,
                    const struct forms *expected)
{
    const struct experiment_arm *a = &t->arm[run];
    double most = 0;
    for (int p = 0; p < t->points; p++)
        most = fmax(most, fabs(reps_z(a->reps, experiment_column(a, series, p),
                                      expected->of[series][p])));
    return most;
}

static double farthest(const struct exact_trial *t, const struct forms *a,
                       const struct forms *b)
{
    double most = 0;
    for (int s = 0; s < MIXTURE_CORE; s++)
        for (int p = 0; p < t->points; p++)
            most = fmax(most, fabs(a->of[s][p] - b->of[s][p]));
    return most;
}

static void exact_checks(struct report *r, const struct exact_trial *t)
{
    const struct {
        const char *name;
        int run, series;
        const struct forms *expected;
        double low, high; /* standard errors */
    } row[] = {
        {"E[F], no signal: most standard errors from the exact form", NO_SIGNAL,
         MIXTURE_FORGOT, &t->closed, 0, 4},
        {"E[G], no signal: most standard errors from the exact form", NO_SIGNAL,
         MIXTURE_ERROR, &t->closed, 0, 4},
        {"E[F], no signal: most standard errors from the printed form", NO_SIGNAL,
         MIXTURE_FORGOT, &t->printed, 4, INFINITY},
        {"E[G], no signal: most standard errors from the printed form", NO_SIGNAL,
         MIXTURE_ERROR, &t->printed, 4, INFINITY},
        {"E[F], signal: most standard errors from the recursion", SIGNAL, MIXTURE_FORGOT,
         &t->recursion[SIGNAL], 0, 4},
        {"E[G], signal: most standard errors from the recursion", SIGNAL, MIXTURE_ERROR,
         &t->recursion[SIGNAL], 0, 4},
    };
    for (int i = 0; i < CLAIMS_COUNT(row); i++)
        report_check(r, row[i].name, worst(t, row[i].run, row[i].series, row[i].expected),
                     row[i].low, row[i].high);
    report_check(r, "no signal: recursion minus closed forms, largest",
                 farthest(t, &t->recursion[NO_SIGNAL], &t->closed), 0, 1e-10);
}

static void exact_words(struct report *r, int reps)
{
    report_heading(r, "One expert: is the model right?");
    report_text(
        r, "Proposition 4 gives the expected forgetting and error of one expert. As "
           "printed it counts a task as not yet learned in the round that learns it. The "
           "exact forms hold for an isotropic Gaussian X, with A = mean ||w_n||^2, B = "
           "mean ||w_n - w_n'||^2 and r = 1 - s/d: E[F_t] = 1/(t-1) sum_{tau<t} {(r^t - "
           "r^tau)(A - B) + (1-r)(1 - r^(t-tau)) B}, E[G_T] = r^T A + (1 - r^T)(1 - 1/T) "
           "B. With the feature signal among the samples the norms alone do not suffice. "
           "There the exact values come from a recursion of first and second moments.");
    report_figure(
        r, "exact", "One expert on a fixed pool",
        "Means of the repetitions with 95 % intervals, most of which are smaller than "
        "the dots.");
    report_param_int(r, "repetitions against the closed forms", reps);
}

static int forgetting_exact(struct lab_task *task, struct err *e)
{
    struct exact_trial *t = calloc(1, sizeof *t);
    if (!t) return err_set(e, ERR_MEMORY, "no memory for the closed forms");
    int reps = (int)lab_int(task, "exact-reps"), rc = 0;
    exact_prepare(t, task->seed);
    for (int run = 0; run < RUNS && !rc; run++)
        rc = exact_simulate(t, run, reps, task, e);
    if (!rc) {
        exact_words(task->report, reps);
        for (int run = 0; run < RUNS; run++) {
            exact_panel(task->report, t, run, MIXTURE_FORGOT);
            exact_panel(task->report, t, run, MIXTURE_ERROR);
        }
        exact_checks(task->report, t);
    }
    for (int run = 0; run < RUNS; run++)
        reps_free(t->arm[run].reps);
    free(t);
    return rc;
}

/* ---- the lab ---- */

static void forgetting_words(const struct lab_task *t)
{
    struct report *r = t->report;
    struct mixture_cfg c = mixture_default(false, 1, MIXTURE_STOP);
    report_param_int(r, "repetitions", lab_int(t, "reps"));
    report_param_int(r, "rounds T", lab_int(t, "rounds"));
    report_param(r, "tasks", "N = %d in K = %d clusters, d = %d, s = %d", c.task.tasks,
                 c.task.clusters, c.task.d, c.task.s);
    report_param(r, "data", "sigma0 %g, sigma_t %g, v = %g w, beta in (0, 1]",
                 c.task.sigma0, c.task.sigma_t, c.task.scale);
    report_param(r, "gate", "eta %g, alpha %g, lambda %g, Gamma %.3g, T1 = ceil(M / eta)",
                 c.router.eta, c.router.alpha, c.router.noise, c.router.gamma);
    report_text(r, "Tasks of a linear model arrive one by one in random order. A gate "
                   "sends each task to one of M experts. The expert learns it with the "
                   "least change of its weights, and so forgets some of what it knew. "
                   "Forgetting F_t is what was lost of the tasks since each was "
                   "learned; G_T is the mean error on all of them at the end.");
    report_text(r, "The gate learns to send tasks where little has to change (locality "
                   "loss) and to use all experts (auxiliary loss). With termination it "
                   "stops learning once all experts have been within Gamma of the "
                   "chosen one.");
}

static int forgetting_run(struct lab_task *t, struct err *e)
{
    forgetting_words(t);
    int rc = forgetting_exact(t, e);
    if (!rc) rc = experiment_run(&LINEAR, t, e);
    if (!rc) rc = experiment_run(&IMAGES, t, e);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    {"reps", "N", "repetitions of each mixture", LAB_INT, .value = 400, .quick = 50,
     .lo = 50, .hi = 100000},
    {"rounds", "T", "rounds of each mixture", LAB_INT, .value = 1000, .quick = 1000,
     .lo = 100, .hi = 100000},
    {"exact-reps", "N", "repetitions that are compared with the closed forms", LAB_INT,
     .value = 20000, .quick = 2000, .lo = 2000, .hi = 1000000},
    {"image-reps", "N", "repetitions of each mixture on MNIST", LAB_INT, .value = 30,
     .quick = 8, .lo = 2, .hi = 10000},
    {"image-rounds", "T", "rounds of each mixture on MNIST", LAB_INT, .value = 600,
     .quick = 250, .lo = 20, .hi = 100000},
    {0},
};

const struct lab forgetting_lab = {
    .name = "forgetting",
    .about = "experts forget less if their router stops learning",
    .title = "Mixture of experts in continual learning",
    .source = "Li et al., Theory on Mixture-of-Experts in Continual Learning, arXiv "
              "2406.16437",
    .options = OPTIONS,
    .run = forgetting_run,
};
