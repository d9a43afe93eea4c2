#include "lab/forgetting/edge.h"

#include "lab/forgetting/experiment.h"

#include <math.h>
#include <stdio.h>

#define ERROR_T "generalisation error G_t"

enum { SIZES = 4, STOP = 0, ON, NEAREST, POWERFUL }; /* rows of the grid */

static const struct experiment_row ROWS[] = {
    {"gate that stops", MIXTURE_STOP, false},
    {"gate that goes on", MIXTURE_ON, false},
    {"nearest idle", MIXTURE_NEAREST, false},
    {"most powerful idle", MIXTURE_POWERFUL, false}};

/* ---- figures of linear tasks ---- */

enum mark { MARK_T1 = 1, MARK_DRIFT };

static void edge_mark(const void *self, int mark, int size)
{
    const struct experiment *x = self;
    const struct mixture_cfg *c = &x->arm[size].cfg;
    struct report *r = x->task->report;
    double sigma0 = c->task.sigma0;
    if (mark == MARK_DRIFT) report_rule(r, 'y', sigma0 * sigma0, "sigma0^2");
    report_rule(r, 'x', mixture_t1(c), "T1");
}

/* One panel of a rule: a curve per size. */
#define OF_RULE(name, row)                                                         \
    {                                                                              \
        .title = name, .x = {"slot t"}, .y = {ERROR_T}, .each = CLAIMS_CURVES,     \
        .curve = CLAIMS_ALL(claims_curve, {NULL, REPORT_LINE, MIXTURE_ERROR, row}) \
    }

/* A panel per size; top: of the y axis, 0 for the data's. */
#define BY_SIZE(label, top, marks, ...)                \
    CLAIMS_ALL(claims_panel, {.x = {"slot t"},         \
                              .y = {label, .hi = top}, \
                              .each = CLAIMS_PANELS,   \
                              .mark = marks,           \
                              .curve = CLAIMS_ALL(claims_curve, __VA_ARGS__)})

/* A curve per rule. */
#define OF_ALL_RULES(column)                                \
    {"gate that stops", REPORT_LINE, column, STOP},         \
        {"gate that goes on", REPORT_LINE, column, ON},     \
        {"nearest idle", REPORT_LINE, column, NEAREST},     \
    {                                                       \
        "most powerful idle", REPORT_LINE, column, POWERFUL \
    }

static const struct claims_figure OVER_TIME[] = {
    {.heading = "Four rules, four sizes",
     .id = "error",
     .title = "Generalisation error by rule",
     .caption = "Means over repetitions with 95 % bands. All rules see the same tasks, "
                "servers and delays.",
     .panel = CLAIMS_ALL(
         claims_panel, OF_RULE("gate that stops", STOP), OF_RULE("gate that goes on", ON),
         OF_RULE("nearest idle", NEAREST), OF_RULE("most powerful idle", POWERFUL))},
    {.id = "rules",
     .title = "The same by size",
     .caption = "Proposition 9 with its factor (1 - 1/L) is for data without the signal.",
     .panel = BY_SIZE(
         ERROR_T, 0, 0, OF_ALL_RULES(MIXTURE_ERROR),
         {"Proposition 9, corrected, nearest", REPORT_DASHED, MIXTURE_EXACT, NEAREST})},
};

static const struct claims_figure PROPOSITIONS[] = {
    {.id = "theorem2",
     .title = "Theorem 2 and the measurement",
     .caption =
         "Its O(sigma0^2) is taken as the mean distance of two tasks of one cluster. "
         "The theorem supposes that after T1 every task meets its own set.",
     .panel = BY_SIZE(ERROR_T, 0, MARK_T1,
                      {"measured, gate that stops", REPORT_LINE, MIXTURE_ERROR, STOP},
                      {"Theorem 2", REPORT_DASHED, MIXTURE_BOUND_G, STOP})},
    {.id = "gaps",
     .title = "Gate gaps inside and between expert sets (Proposition 7)",
     .caption = "Mean |h_m - h_m'| over pairs of experts on the data of the last task.",
     .panel = BY_SIZE("gate gap", 0, MARK_T1,
                      {"inside, gate that stops", REPORT_LINE, MIXTURE_INSIDE, STOP},
                      {"between, gate that stops", REPORT_LINE, MIXTURE_ACROSS, STOP},
                      {"inside, gate that goes on", REPORT_DASHED, MIXTURE_INSIDE, ON},
                      {"between, gate that goes on", REPORT_DASHED, MIXTURE_ACROSS, ON})},
    {.id = "drift",
     .title = "Do the models stay? (Proposition 8)",
     .caption = "Mean over experts of the largest change of an element since T2. The "
                "proposition says O(sigma0^2).",
     .panel = BY_SIZE("||w_t - w_T2||_inf", 0, MARK_DRIFT,
                      {"gate that stops", REPORT_LINE, MIXTURE_DRIFT, STOP},
                      {"gate that goes on", REPORT_DASHED, MIXTURE_DRIFT, ON})},
};

static void ready_figure(const struct claims_lab *l)
{
    static const char *const sizes[] = {"5", "10", "30", "60"};
    struct mixture_cfg c = mixture_default(true, 5, MIXTURE_STOP);
    char caption[256];
    snprintf(
        caption, sizeof caption,
        "After convergence, in the last part of the run. M_th = min(d_u, "
        "log_N(1/delta)) = %.0f, so N M_th ln(1/delta) = %.0f experts should be enough.",
        mixture_mth(&c), mixture_need(&c));
    report_figure(l->report, "ready",
                  "Is an expert of the task's set idle? (Proposition 6)", caption);
    report_panel(l->report, &(struct report_panel){.x = {.label = "experts M"},
                                                   .y = {"share of tasks", .hi = 1},
                                                   .category = sizes,
                                                   .categories = SIZES});
    claims_bars(l, "one of the set was idle", STOP, 0, MIXTURE_READY);
    claims_bars(l, "went to one of the set", STOP, 0, MIXTURE_HOME);
    report_rule(l->report, 'y', 1 - c.delta, "1 - delta");
}

/* ---- tables ---- */

static void rule_cells(struct report *r, const struct mixture_cfg *c)
{
    report_row(r);
    report_int(r, "M", c->router.experts);
    report_cell(r, "rule", "%s", ROWS[c->rule].name);
}

/* T1 and T2 of the gate that stops */
static void time_cells(struct report *r, const struct mixture_cfg *c)
{
    if (c->rule != MIXTURE_STOP) return;
    report_int(r, "T1", mixture_t1(c));
    report_int(r, "T2", mixture_t2(c));
}

static void rule_table(const struct experiment *x, const struct claims_lab *l)
{
    static const struct claims_field error = {
        "G_T", {CLAIMS_MEAN, EXPERIMENT_G, 0, 0}, CLAIMS_INTERVAL, 2};
    static const struct claims_field fields[] = {
        {"waited, %", {CLAIMS_MEAN, EXPERIMENT_QUEUED, 0, 0}, CLAIMS_PERCENT, 1},
        {"wait, slots", {CLAIMS_MEAN, EXPERIMENT_WAIT, 0, 0}, CLAIMS_REAL, 2},
        {"delay, slots", {CLAIMS_MEAN, EXPERIMENT_DELAY, 0, 0}, CLAIMS_REAL, 2},
    };
    report_table(l->report, "After the last task: error, its excess over Proposition 9 "
                            "(corrected, without signal), waiting and delay");
    for (int k = 0; k < SIZES * CLAIMS_COUNT(ROWS); k++) {
        int arm = k % CLAIMS_COUNT(ROWS) * SIZES + k / CLAIMS_COUNT(ROWS);
        const struct experiment_arm *a = &x->arm[arm];
        rule_cells(l->report, &a->cfg);
        claims_fields(l, &error, 1, arm);
        double g = reps_mean(a->reps, experiment_column(a, EXPERIMENT_G, 0)).mean;
        double form = reps_mean(a->reps, experiment_column(a, EXPERIMENT_FORM, 0)).mean;
        report_real(l->report, "off Prop. 9, %", 100 * (g / form - 1), 1);
        claims_fields(l, fields, CLAIMS_COUNT(fields), arm);
        time_cells(l->report, &a->cfg);
    }
}

static const struct claims_columns COLUMNS = {.text = "claim",
                                              .paper = "paper",
                                              .verdict = "verdict",
                                              .ours = "ours",
                                              .verdict_first = true};

enum {
    STOP_30 = STOP * SIZES + 2,
    STOP_60,
    ON_30 = ON * SIZES + 2,
    NEAREST_30 = NEAREST * SIZES + 2
};
/* text, paper; rule, limit, times number, else short by number; words; numbers */
static const struct claims_claim CLAIMS[] = {
    CLAIMS_LIMIT("own set idle (Prop. 6), M = 30", "probability 1 - o(1)",
                 CLAIMS_AT_LEAST, 0.9, 0, CLAIMS_ALWAYS, "#2",
                 CLAIMS_MEAN_OF(MIXTURE_READY, STOP_30)),
    CLAIMS_LIMIT("own set idle (Prop. 6), M = 60", "probability 1 - o(1)",
                 CLAIMS_AT_LEAST, 0.9, 0, CLAIMS_ALWAYS, "#2",
                 CLAIMS_MEAN_OF(MIXTURE_READY, STOP_60)),
    CLAIMS_LIMIT("gate gaps (Prop. 7), M = 30", "inside below between", CLAIMS_BELOW, 0.5,
                 1, 1, "#2 inside, #2 between", CLAIMS_MEAN_OF(MIXTURE_INSIDE, STOP_30),
                 CLAIMS_MEAN_OF(MIXTURE_ACROSS, STOP_30)),
    CLAIMS_LIMIT("a task goes to its set (Prop. 7), M = 30", "probability 1 - o(1)",
                 CLAIMS_AT_LEAST, 0.9, 0, CLAIMS_ALWAYS, "#2",
                 CLAIMS_MEAN_OF(MIXTURE_HOME, STOP_30)),
    CLAIMS_LIMIT("models stay after T2 (Prop. 8), M = 30", "O(sigma0^2) = O(0.36)",
                 CLAIMS_BELOW, 0.36, 0, 1, "#2; #2 when the gate goes on",
                 CLAIMS_MEAN_OF(MIXTURE_DRIFT, STOP_30),
                 CLAIMS_MEAN_OF(MIXTURE_DRIFT, ON_30)),
    CLAIMS_LIMIT("error at T (Theorem 2), M = 30", "below the bound", CLAIMS_BELOW, 1, 1,
                 2, "#2; bound #2; nearest idle #2",
                 CLAIMS_MEAN_OF(MIXTURE_ERROR, STOP_30),
                 CLAIMS_MEAN_OF(MIXTURE_BOUND_G, STOP_30),
                 CLAIMS_MEAN_OF(MIXTURE_ERROR, NEAREST_30)),
};

/* ---- what must hold ---- */

static const struct claims_check RULES[] = {
    CLAIMS_NEGATIVE("G at T, @: gate that stops minus gate that goes on, upper 95 %",
                    CLAIMS_GAP, EXPERIMENT_G, STOP, ON),
    CLAIMS_NEGATIVE("G at T, @: gate that stops minus nearest idle, upper 95 %",
                    CLAIMS_GAP, EXPERIMENT_G, STOP, NEAREST),
    CLAIMS_NEGATIVE("G at T, @: gate that stops minus most powerful idle, upper 95 %",
                    CLAIMS_GAP, EXPERIMENT_G, STOP, POWERFUL),
};

static const struct claims_check SIZES_OF_STOP[] = {
    {"share of tasks with their set idle: M = 60 minus M = 10, lower 95 %",
     {CLAIMS_GAP, MIXTURE_READY, STOP_60, STOP *SIZES + 1},
     CLAIMS_OF_LOWER,
     0,
     1},
    /* when the larger one has just converged, the smaller one is further */
    {"G at T2 of M = 60: M = 60 minus M = 30, lower 95 %",
     {EXPERIMENT_GAP_T2, MIXTURE_ERROR, STOP_60, STOP_30},
     CLAIMS_OF_LOWER,
     0,
     INFINITY},
};

static int draw_linear(const struct experiment *x, const struct claims_lab *l,
                       struct err *e)
{
    (void)e;
    claims_draw(l, OVER_TIME, CLAIMS_COUNT(OVER_TIME));
    rule_table(x, l);
    ready_figure(l);
    claims_draw(l, PROPOSITIONS, CLAIMS_COUNT(PROPOSITIONS));
    report_table(l->report, "Claims of the paper, gate that stops");
    claims_judge(l, &COLUMNS, CLAIMS, CLAIMS_COUNT(CLAIMS));
    for (int i = 2; i < SIZES; i++) /* as many as Proposition 6 asks for */
        claims_check_size(l, RULES, CLAIMS_COUNT(RULES), i);
    claims_check(l, SIZES_OF_STOP, CLAIMS_COUNT(SIZES_OF_STOP));
    return 0;
}

static const struct setting LINEAR = {.edge = true,
                                      .note = "",
                                      .reps = "reps",
                                      .rounds = "slots",
                                      .first = 10,
                                      .from = 0.3,
                                      .to = 0.6,
                                      .experts = {5, 10, 30, 60},
                                      .sizes = SIZES,
                                      .row = ROWS,
                                      .rows = CLAIMS_COUNT(ROWS),
                                      .mark = edge_mark,
                                      .draw = draw_linear};

/* ---- images ---- */

enum { IMAGE_SIZES = 3 };

/* With --quick only the size that Proposition 6 asks for. */
static bool image_wanted(const struct lab_task *t, int row, int size)
{
    (void)row;
    return !t->quick || size == 1;
}

static const struct claims_figure IMAGE_FIGURES[] = {
    {.id = "mnist-error",
     .title = "MNIST: generalisation error by rule",
     .caption =
         "Means over repetitions with 95 % bands. Each repetition has its own digits, "
         "names and servers. All rules see the same tasks.",
     .panel = BY_SIZE("generalisation error G_t (share wrong)", 0, MARK_T1,
                      OF_ALL_RULES(MIXTURE_ERROR))},
    {.id = "mnist-special",
     .title = "MNIST: tasks that meet a specialist",
     .caption = "Share of the tasks whose expert has learned their kind most often.",
     .panel = BY_SIZE("share of tasks", 1, MARK_T1, OF_ALL_RULES(MIXTURE_SPECIAL))},
};

static void image_table(const struct experiment *x, const struct claims_lab *l)
{
    static const struct claims_field fields[] = {
        {"G_T", {CLAIMS_MEAN, EXPERIMENT_G, 0, 0}, CLAIMS_INTERVAL, 3},
        {"specialist met", {CLAIMS_MEAN, MIXTURE_SPECIAL, 0, 0}, CLAIMS_REAL, 2},
        {"own set idle", {CLAIMS_MEAN, MIXTURE_READY, 0, 0}, CLAIMS_REAL, 2},
        {"waited, %", {CLAIMS_MEAN, EXPERIMENT_QUEUED, 0, 0}, CLAIMS_PERCENT, 1},
        {"delay, slots", {CLAIMS_MEAN, EXPERIMENT_DELAY, 0, 0}, CLAIMS_REAL, 2},
        {"sigma0", {CLAIMS_MEAN, EXPERIMENT_SIGMA0, 0, 0}, CLAIMS_REAL, 4},
    };
    report_table(l->report, "MNIST after the last task");
    for (int k = 0; k < IMAGE_SIZES * CLAIMS_COUNT(ROWS); k++) {
        int arm = k % CLAIMS_COUNT(ROWS) * IMAGE_SIZES + k / CLAIMS_COUNT(ROWS);
        if (!x->arm[arm].reps) continue;
        rule_cells(l->report, &x->arm[arm].cfg);
        claims_fields(l, fields, CLAIMS_COUNT(fields), arm);
        time_cells(l->report, &x->arm[arm].cfg);
    }
}

static void image_words(const struct experiment *x)
{
    struct report *r = x->task->report;
    struct digits_cfg d = digits_cfg_default();
    report_heading(r, "Real images: MNIST");
    report_text(r,
                "The servers, delays and rules are the same. A task is one of N = %d "
                "kinds and brings s = %d images; an expert is a network of %d hidden "
                "units. The slides say no more than \"DNNs in MNIST datasets\". Here "
                "each kind names the images of %d digits its own way, so no single "
                "network can serve all. Errors are shares of test images named wrongly.",
                d.tasks, d.s, d.hidden, d.each);
    report_text(
        r,
        "The gate has the locality loss alone, eta = sigma0^0.5, and stops at T1. For N "
        "= %d Proposition 6 asks for %.1f experts.",
        d.tasks, mixture_need(&x->arm[0].cfg));
    report_param_int(r, "repetitions on MNIST", x->reps);
    report_param_int(r, "slots on MNIST", x->grid[x->points - 1]);
}

static int draw_images(const struct experiment *x, const struct claims_lab *l,
                       struct err *e)
{
    (void)e;
    image_words(x);
    claims_draw(l, IMAGE_FIGURES, CLAIMS_COUNT(IMAGE_FIGURES));
    image_table(x, l);
    for (int i = 1; i < IMAGE_SIZES; i++) /* as many as Proposition 6 asks for */
        if (x->arm[i].reps) claims_check_size(l, RULES, CLAIMS_COUNT(RULES), i);
    return 0;
}

static const struct setting IMAGES = {.edge = true,
                                      .images = true,
                                      .note = "MNIST, ",
                                      .reps = "image-reps",
                                      .rounds = "image-slots",
                                      .first = 10,
                                      .from = 0.6,
                                      .to = 1,
                                      .experts = {5, 15, 30},
                                      .sizes = IMAGE_SIZES,
                                      .row = ROWS,
                                      .rows = CLAIMS_COUNT(ROWS),
                                      .wanted = image_wanted,
                                      .mark = edge_mark,
                                      .draw = draw_images};

/* ---- Proposition 9: routing that is blind to the task ---- */

enum {
    EXACT_EXPERTS = 10,
    EXACT_SHORT = 300,
    EXACT_POOL = 1000003 /* apart from the repetitions' pools */
};

static void exact_cells(struct report *r, const struct experiment_arm *a)
{
    double printed = reps_z(a->reps, experiment_column(a, EXPERIMENT_OFF_PRINTED, 0), 0);
    double exact = reps_z(a->reps, experiment_column(a, EXPERIMENT_OFF_EXACT, 0), 0);
    struct stats_interval g = reps_mean(a->reps, experiment_column(a, EXPERIMENT_G, 0));
    double form = reps_mean(a->reps, experiment_column(a, EXPERIMENT_FORM, 0)).mean;
    double off = reps_mean(a->reps, experiment_column(a, EXPERIMENT_OFF_PRINTED, 0)).mean;
    const char *rule = ROWS[a->cfg.rule].name;
    report_row(r);
    report_cell(r, "rule", "%s", rule);
    report_int(r, "T", a->cfg.rounds);
    report_cell(r, "signal", a->cfg.task.signal ? "yes" : "no");
    claims_cell(r, "G_T", g, 3);
    report_real(r, "corrected", form, 3);
    report_real(r, "printed", g.mean - off, 3);
    report_real(r, "off corrected, %", 100 * (g.mean / form - 1), 2);
    report_real(r, "off corrected, s.e.", exact, 1);
    report_real(r, "off printed, s.e.", printed, 1);
    if (a->cfg.task.signal) return; /* with a signal the difference is only reported */

    char name[96];
    snprintf(name, sizeof name,
             "Proposition 9 corrected, %s, T = %d: standard errors off", rule,
             a->cfg.rounds);
    report_check(r, name, fabs(exact), 0, 4);
    if (a->cfg.rounds != EXACT_SHORT) return;
    snprintf(name, sizeof name,
             "Proposition 9 as printed, %s, T = %d: standard errors off", rule,
             a->cfg.rounds);
    report_check(r, name, fabs(printed), 4, INFINITY);
}

static void exact_words(struct report *r, int reps)
{
    report_heading(r, "Offloading that is blind to the task: Proposition 9");
    report_text(
        r, "When routing does not depend on the tasks, an expert that learned L of "
           "them is at an expected distance r^L A + (1 - r^L)(1 - 1/L) B from each, A "
           "= E||w||^2, B = E||w - w'||^2, r = 1 - s/p. Proposition 9 as printed lacks "
           "the factor (1 - 1/L): one of the L tasks is the task itself, at distance 0.");
    report_text(r,
                "That holds for an isotropic X. With a feature signal among the samples "
                "each update keeps its own task's direction in full, and the error is "
                "higher.");
    report_param_int(r, "repetitions for Proposition 9", reps);
    report_table(r, "Proposition 9, M = 10, one pool of tasks");
}

static int edge_exact(struct lab_task *t, struct err *e)
{
    int reps = (int)lab_int(t, "exact-reps"), rc = 0;
    int slots[] = {EXACT_SHORT, (int)lab_int(t, "exact-slots")};
    struct mixture_cfg c = mixture_default(true, EXACT_EXPERTS, MIXTURE_NEAREST);
    struct task_pool pool;
    mixture_pool(&pool, &c, t->seed, EXACT_POOL);
    exact_words(t->report, reps);
    for (int k = 0; k < 8 && !rc; k++) {
        bool longer = k >> 1 & 1;
        if (longer && slots[1] == EXACT_SHORT) continue;
        if (lab_progress(t, 0.035 * k, "Proposition 9")) return LAB_STOPPED;
        struct experiment_arm arm = {.cfg = c};
        arm.cfg.rule = k & 1 ? MIXTURE_POWERFUL : MIXTURE_NEAREST;
        arm.cfg.task.signal = k >= 4;
        arm.cfg.rounds = slots[longer];
        rc = experiment_repeat(&arm, &pool, reps, NULL, 0, MIXTURE_CORE, t, e);
        if (!rc) exact_cells(t->report, &arm);
        reps_free(arm.reps);
    }
    return rc;
}

/* ---- the lab ---- */

static void edge_words(const struct lab_task *t)
{
    struct report *r = t->report;
    struct mixture_cfg c = mixture_default(true, 5, MIXTURE_STOP);
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
                 "transmission 1 to 5 by distance, execution 1 to 5 by server, d_u = %d",
                 SERVERS_DELAY);
    report_text(
        r,
        "In each slot a user asks for one learning task near one of M edge servers. "
        "The task goes to an idle server, which is busy for a random time. Then it has "
        "learned the task with the least change of its model. The generalisation error "
        "G_t is the mean distance of the tasks so far from the models that learned "
        "them.");
    report_text(r,
                "A gate that looks at the data may send like tasks to one server. "
                "Offloading to the nearest or the most powerful idle server mixes them.");
}

static int edge_run(struct lab_task *t, struct err *e)
{
    edge_words(t);
    int rc = edge_exact(t, e);
    if (!rc) rc = experiment_run(&LINEAR, t, e);
    if (!rc) rc = experiment_run(&IMAGES, t, e);
    return rc;
}

static const struct lab_option OPTIONS[] = {
    {"reps", "N", "repetitions of each rule", LAB_INT, .value = 100, .quick = 5, .lo = 2,
     .hi = 100000},
    {"slots", "T", "slots in which a task arrives", LAB_INT, .value = 3000, .quick = 3000,
     .lo = 1000, .hi = 100000},
    {"exact-reps", "N", "repetitions that are compared with Proposition 9", LAB_INT,
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
    .about = "specialised experts on busy edge servers",
    .title = "Mixture of experts in mobile edge computing",
    .source = "Li and Duan, Theory on Mixture-of-Experts in Mobile Edge Computing, "
              "INFOCOM 2025",
    .options = OPTIONS,
    .run = edge_run,
};
