#include "lab/shift/shift_figures.h"

#include "lab/claims.h"
#include "lab/shift/shift_claims.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BINS = 200, ROWS = 4096 }; /* ROWS: probes drawn at most */

static const char *const PRESETS[] = {"paper", "code", "tuned"};
static const char *const PROFILES[] = {"documentary", "live", "news", "pooled"};
static const char *const NETS[SHIFT_NETS] = {"actor", "critic"};

/* One section: the main sets of a preset with or without hints, and scratch. */
struct section {
    struct report *r;
    const char *preset;
    bool hint;
    int n;
    const struct shift_set *set[8];
    double *rows, *x, *mean, *lo, *hi; /* (SHIFT_SEEDS, ROWS), (ROWS) each */
};

/* id "qoe" becomes "qoe-paper" or "qoe-paper-hint". */
static void section_figure(const struct section *s, const char *id, const char *title,
                           const char *caption)
{
    char full[64], head[160];
    snprintf(full, sizeof full, "%s-%s%s", id, s->preset, s->hint ? "-hint" : "");
    snprintf(head, sizeof head, "%s (preset %s, %s hints)", title, s->preset,
             s->hint ? "with" : "without");
    report_figure(s->r, full, head, caption);
}

static void section_table(const struct section *s, const char *title)
{
    char head[128];
    snprintf(head, sizeof head, "%s (preset %s, %s hints)", title, s->preset,
             s->hint ? "with" : "without");
    report_table(s->r, head);
}

/* ---- over time ---- */

/* A panel over time with the shifts in it; iterations of 2000 steps on the x axis. */
static void time_panel(const struct section *s, const char *title, const char *label)
{
    static const char *const names[SHIFT_PROFILES] = {"D", "L", "N"};
    int points = s->n && s->set[0]->n ? s->set[0]->run[0].points : 0;
    report_panel(s->r, &(struct report_panel){.title = title,
                                              .x = {.label = "iteration", .hi = points},
                                              .y = {.label = label}});
    for (int k = 0; k < SHIFT_SEGMENTS; k++)
        report_rule(s->r, 'x', (double)points * k / SHIFT_SEGMENTS,
                    names[k % SHIFT_PROFILES]);
}

/* The n columns of s->rows at s->x. */
static void time_series(const struct section *s, const char *name, int runs, int n)
{
    shift_band(s->mean, s->lo, s->hi, s->rows, runs, n);
    bool alone = runs < 2;
    report_series(s->r, &(struct report_series){.name = name,
                                                .n = n,
                                                .x = s->x,
                                                .y = s->mean,
                                                .lo = alone ? NULL : s->lo,
                                                .hi = alone ? NULL : s->hi});
}

struct time_curve {
    const char *title;
    enum shift_curve curve;
    const char *label;
};

static void draw_curve(const struct section *s, const struct time_curve *c)
{
    time_panel(s, c->title, c->label);
    for (int i = 0; i < s->n; i++) {
        const struct shift_set *set = s->set[i];
        int points = set->run[0].points, n = points < BINS ? points : BINS;
        for (int k = 0; k < n; k++)
            s->x[k] = points * (k + 0.5) / n;
        for (int run = 0; run < set->n; run++)
            shift_bins(s->rows + run * n, n, &set->run[run], c->curve);
        time_series(s, set->label, set->n, n);
    }
}

static const struct time_figure {
    const char *id, *title, *caption;
    struct time_curve panel[5];
} TIME[] = {
    {"qoe",
     "QoE over time (Fig. 6)",
     "Rewards as the learner got them, actions sampled. D, L, N: the profile shifts.",
     {{"mean of the last 50 episodes, as the authors draw it", SHIFT_RECENT,
       "QoE per chunk"},
      {"mean of each time bin", SHIFT_QOE, "QoE per chunk"}}},
    {"parts",
     "Parts of the QoE (Fig. 4)",
     "Each with the weight that the profile in force gives it.",
     {{"bitrate", SHIFT_QUALITY, "QoE per chunk"},
      {"smoothness", SHIFT_CHANGE, "QoE per chunk"},
      {"stalls", SHIFT_STALL, "QoE per chunk"}}},
    {"state",
     "Inside the session (Figs. 1, 8, 9)",
     NULL,
     {{"action", SHIFT_LEVEL, "mean level"},
      {"buffer", SHIFT_BUFFER, "seconds"},
      {"throughput", SHIFT_THROUGHPUT, "kbit/s"},
      {"download", SHIFT_DOWNLOAD, "seconds per chunk"}}},
    /* what the optimiser saw; with redrawn noise the ratio is off from the first update on */
    {"updates",
     "Updates",
     "Clip share: of the ratios beyond 1 -+ 0.2. Router: norm of the gradient that "
     "reaches the actor's router; softmax over one selected logit passes none.",
     {{"entropy of the policy", SHIFT_ENTROPY, "nats"},
      {"clip share, first epoch", SHIFT_FIRST_CLIP, "share"},
      {"clip share, last epoch", SHIFT_CLIP, "share"},
      {"router, actor", SHIFT_ROUTER, "gradient norm"},
      {"router, critic", SHIFT_CRITIC_ROUTER, "gradient norm"}}},
};
enum { TIME_UPDATES = CLAIMS_COUNT(TIME) - 1 };

static void time_figure(const struct section *s, const struct time_figure *f)
{
    section_figure(s, f->id, f->title, f->caption);
    for (int i = 0; i < CLAIMS_COUNT(f->panel) && f->panel[i].title; i++)
        draw_curve(s, &f->panel[i]);
}

/* ---- probes over time ---- */

/* What is drawn of a probe. */
struct probed {
    enum { PROBED_MEASURE, PROBED_EXAM, PROBED_SHARE } what;
    int net, expert, layer,
        measure; /* measure: also the exam's profile, the share's rank */
};

/* The rank-th largest share, 0 the largest. */
static double share_of_rank(const struct shift_probe *p, int net, int rank)
{
    double x[SHIFT_EXPERTS];
    for (int e = 0; e < SHIFT_EXPERTS; e++) {
        double share = (double)p->net[net].share[e];
        int at = e;
        for (; at > 0 && x[at - 1] < share; at--)
            x[at] = x[at - 1];
        x[at] = share;
    }
    return x[rank];
}

static double probed_value(const struct shift_probe *p, const struct probed *of)
{
    if (of->what == PROBED_EXAM) return (double)p->exam[of->measure];
    if (of->what == PROBED_SHARE) return share_of_rank(p, of->net, of->measure);
    return shift_probed(p, of->net, of->expert, of->layer, of->measure);
}

static void probed_series(const struct section *s, const struct shift_set *set,
                          const struct probed *of, const char *name)
{
    int n = set->run[0].probes < ROWS ? set->run[0].probes : ROWS;
    for (int k = 0; k < n; k++)
        s->x[k] = (double)set->run[0].probe[k].iteration;
    for (int run = 0; run < set->n; run++)
        for (int k = 0; k < n; k++)
            s->rows[run * n + k] = probed_value(&set->run[run].probe[k], of);
    time_series(s, name, set->n, n);
}

/* A series per set. */
static void probed_panel(const struct section *s, const char *title,
                         const struct probed *of, const char *label)
{
    time_panel(s, title, label);
    for (int i = 0; i < s->n; i++)
        if (of->expert <= 0 || s->set[i]->arm.variant[1] != 'l') /* an mlp has one */
            probed_series(s, s->set[i], of, s->set[i]->label);
}

/* What a figure shows of both networks: a panel per entry. */
struct probed_entry {
    const char *title;
    int expert, layer, measure; /* measure ANY: the figure's */
};
enum { ANY = -1, MOST_ENTRIES = 6 };

#define ALL_OF(title, measure)               \
    {                                        \
        title, SHIFT_ALL, SHIFT_ALL, measure \
    }
#define EVERY_LAYER                                                             \
    {                                                                           \
        {"expert 1, layer 1", 0, 0, ANY}, {"expert 1, layer 2", 0, 1, ANY},     \
            {"expert 2, layer 1", 1, 0, ANY}, {"expert 2, layer 2", 1, 1, ANY}, \
            {"expert 3, layer 1", 2, 0, ANY},                                   \
        {                                                                       \
            "expert 3, layer 2", 2, 1, ANY                                      \
        }                                                                       \
    }
static const char LAYERS_CAPTION[] =
    "Every layer of every expert, on the states that reach it. An expert that no state "
    "reached is a gap.";

static const struct probed_figure {
    const char *id, *title, *caption, *label;
    int measure;
    struct probed_entry entry[MOST_ENTRIES];
} PROBED[] = {
    {"dormant",
     "Dormant units (Fig. 3)",
     "Share of hidden units whose mean activation is at most tau of their layer's mean, "
     "on the states that reach each expert.",
     "share of units",
     ANY,
     {ALL_OF("tau = 0", SHIFT_DORMANT), ALL_OF("tau = 0.025", SHIFT_DORMANT + 1),
      ALL_OF("tau = 0.1", SHIFT_DORMANT + 2), ALL_OF("tau = 0.5", SHIFT_DORMANT + 3)}},
    {"ranks",
     "Ranks of the hidden activations",
     "Mean over experts and layers, on the states that reach each expert.",
     "rank",
     ANY,
     {ALL_OF("rank (Fig. 12)", SHIFT_RANK),
      ALL_OF("effective rank (Fig. 13)", SHIFT_EFFECTIVE),
      ALL_OF("approximate rank (Fig. 14)", SHIFT_APPROX),
      ALL_OF("absolute approximate rank (Fig. 15)", SHIFT_ABS_APPROX)}},
    {"weights",
     "Size of the weights (Fig. 16)",
     "Mean absolute weight of a layer, without biases.",
     "mean |w|",
     SHIFT_MEASURES,
     {{"layer 1", SHIFT_ALL, 0, ANY}, {"layer 2", SHIFT_ALL, 1, ANY}}},
    /* layer by layer */
    {"dormant-layers", "Dormant units, tau 0.025 (Fig. 11)", LAYERS_CAPTION,
     "share of units", SHIFT_DORMANT + 1, EVERY_LAYER},
    {"rank-layers", "Rank (Fig. 12)", LAYERS_CAPTION, "rank", SHIFT_RANK, EVERY_LAYER},
    {"effective-layers", "Effective rank (Fig. 13)", LAYERS_CAPTION, "rank",
     SHIFT_EFFECTIVE, EVERY_LAYER},
    {"approx-layers", "Approximate rank (Fig. 14)", LAYERS_CAPTION, "rank", SHIFT_APPROX,
     EVERY_LAYER},
    {"abs-approx-layers", "Absolute approximate rank (Fig. 15)", LAYERS_CAPTION, "rank",
     SHIFT_ABS_APPROX, EVERY_LAYER},
    {"weight-layers", "Mean absolute weight (Fig. 16)", LAYERS_CAPTION, "mean |w|",
     SHIFT_MEASURES, EVERY_LAYER},
};
enum { PROBED_DORMANT, PROBED_RANKS, PROBED_LAYERS = 3 };
_Static_assert(SHIFT_EXPERTS *SHIFT_LAYERS == MOST_ENTRIES, "every layer is an entry");

static void probed_figure(const struct section *s, const struct probed_figure *f)
{
    section_figure(s, f->id, f->title, f->caption);
    for (int net = 0; net < SHIFT_NETS; net++)
        for (int i = 0; i < MOST_ENTRIES && f->entry[i].title; i++) {
            const struct probed_entry *e = &f->entry[i];
            const struct probed of = {PROBED_MEASURE, net, e->expert, e->layer,
                                      e->measure == ANY ? f->measure : e->measure};
            char title[64];
            snprintf(title, sizeof title, "%s, %s", NETS[net], e->title);
            probed_panel(s, title, &of, f->label);
        }
}

static void selection_figure(const struct section *s)
{
    static const char *const ranks[SHIFT_EXPERTS] = {"most chosen", "second", "least"};
    section_figure(
        s, "selection", "Selection of experts (Fig. 5)",
        "Share of the states for which an expert is chosen (moe: has the largest "
        "gate), router noise included. Which of the three is preferred differs from "
        "seed to seed, so the shares are sorted before they are averaged. Balanced "
        "experts would all be at a third.");
    for (int i = 0; i < s->n; i++)
        for (int net = 0; net < SHIFT_NETS; net++) {
            char title[64];
            if (!strcmp(s->set[i]->arm.variant, "mlp")) continue;
            snprintf(title, sizeof title, "%s, %s", s->set[i]->label, NETS[net]);
            time_panel(s, title, "share of the states");
            for (int e = 0; e < SHIFT_EXPERTS; e++)
                probed_series(
                    s, s->set[i],
                    &(struct probed){.what = PROBED_SHARE, .net = net, .measure = e},
                    ranks[e]);
        }
}

/* How much the policy remembers of a profile while others are in force. */
static void exam_figure(const struct section *s)
{
    section_figure(s, "exam", "The same greedy exam in every profile",
                   "Eight episodes of each profile, the one in force or not, without "
                   "exploring.");
    for (int k = 0; k < SHIFT_PROFILES; k++)
        probed_panel(s, PROFILES[k], &(struct probed){.what = PROBED_EXAM, .measure = k},
                     "QoE per chunk");
}

/* ---- bars ---- */

enum { MOST_BARS = 12 };

/* A panel with n numbers of every set. */
static void bars_panel(const struct section *s, const struct report_panel *panel,
                       const struct shift_number *number)
{
    report_panel(s->r, panel);
    for (int i = 0; i < s->n; i++) {
        struct stats_interval x[MOST_BARS];
        for (int k = 0; k < panel->categories; k++)
            x[k] = shift_mean(s->set[i], &number[k], SHIFT_FIGURE);
        claims_points(s->r, s->set[i]->label, REPORT_BARS, NULL, x, panel->categories);
    }
}

static void levels_figure(const struct section *s)
{
    static const char *const names[SHIFT_LEVELS] = {"0", "1", "2", "3", "4", "5"};
    section_figure(s, "levels", "Levels chosen",
                   "In the last fifth of each profile's segments.");
    for (int profile = 0; profile < SHIFT_PROFILES; profile++) {
        struct shift_number of[SHIFT_LEVELS];
        for (int k = 0; k < SHIFT_LEVELS; k++)
            of[k] = (struct shift_number){
                .of = SHIFT_PROFILE_LEVEL, .profile = profile, .level = k};
        bars_panel(s,
                   &(struct report_panel){.title = PROFILES[profile],
                                          .x = {.label = "level"},
                                          .y = {.label = "share of chunks"},
                                          .category = names,
                                          .categories = SHIFT_LEVELS},
                   of);
    }
}

/* A run without a gain after a shift has no lag there, so the share of runs with one is next to it. */
static void lag_figure(const struct section *s)
{
    enum { SHIFTS = SHIFT_SEGMENTS - 1 };
    static const char *const names[SHIFTS] = {"L 2", "N 3", "D 4", "L 5", "N 6",
                                              "D 7", "L 8", "N 9", "D 10"};
    section_figure(
        s, "lag", "Adaptation after each shift",
        "Iterations to 90 % of the way to the plateau, of the runs that gained by "
        "learning on after the shift, and the share of those runs.");
    for (int panel = 0; panel < 2; panel++) {
        struct shift_number of[SHIFTS];
        for (int k = 0; k < SHIFTS; k++)
            of[k] = (struct shift_number){
                .of = panel ? SHIFT_SEGMENT_GAIN : SHIFT_SEGMENT_LAG, .segment = k + 1};
        bars_panel(
            s,
            &(struct report_panel){.title = panel ? "runs with a gain" : "lag",
                                   .x = {.label = "segment"},
                                   .y = {.label = panel ? "share of runs" : "iterations"},
                                   .category = names,
                                   .categories = SHIFTS},
            of);
    }
}

/* What is kept of the sorted time points: the authors' figures use several of these. */
static const char *const TRIM_NAMES[] = {"all",   "5-95", "10-90",  "20-80",
                                         "25-75", "0-75", "25-100", "median"};
enum { TRIMS = CLAIMS_COUNT(TRIM_NAMES) };
static const struct shift_number TRIM[TRIMS] = {
    {.of = SHIFT_TIME, .cut = {0, 1}},       {.of = SHIFT_TIME, .cut = {0.05, 0.95}},
    {.of = SHIFT_TIME, .cut = {0.1, 0.9}},   {.of = SHIFT_TIME, .cut = {0.2, 0.8}},
    {.of = SHIFT_TIME, .cut = {0.25, 0.75}}, {.of = SHIFT_TIME, .cut = {0, 0.75}},
    {.of = SHIFT_TIME, .cut = {0.25, 1}},    {.of = SHIFT_TIME, .cut = {0.49, 0.51}}};

static void trim_figure(const struct section *s)
{
    section_figure(
        s, "iqm", "Mean QoE by the part of the time points kept (Fig. 7)",
        "Points of the 50-episode curve, all profiles together, sorted; percent kept. "
        "Mean over seeds.");
    bars_panel(s,
               &(struct report_panel){.x = {.label = "kept [%]"},
                                      .y = {.label = "QoE per chunk"},
                                      .category = TRIM_NAMES,
                                      .categories = TRIMS},
               TRIM);
}

static void trim_table(const struct section *s)
{
    const struct shift_set *pa = NULL;
    for (int i = 0; i < s->n; i++)
        if (!strcmp(s->set[i]->label, "pamoe")) pa = s->set[i];
    if (!pa) return;
    section_table(s, "PA-MoE over the others, by the part kept");
    for (int k = 0; k < TRIMS; k++) {
        report_row(s->r);
        report_cell(s->r, "kept [%]", "%s", TRIM_NAMES[k]);
        for (int i = 0; i < s->n; i++) {
            char column[48];
            snprintf(column, sizeof column, "over %s", s->set[i]->label);
            if (s->set[i] != pa)
                claims_cell(s->r, column,
                            shift_ratio(pa, s->set[i], &TRIM[k], SHIFT_FIGURE), 2);
        }
    }
}

/* Each profile by itself, since news alone decides what is pooled. */
static void profiles_figure(const struct section *s)
{
    enum { COLUMNS = SHIFT_PROFILES + 1 };
    static const struct {
        const char *title;
        struct stats_cut cut;
    } panel[] = {{"mean", {0, 1}}, {"interquartile mean", {0.25, 0.75}}};
    section_figure(s, "profiles", "QoE per profile, and pooled",
                   "One score per seed and profile, the mean over the whole run; of "
                   "the scores their mean and interquartile mean. Intervals: bootstrap "
                   "over seeds, pooled stratified by profile.");
    for (int i = 0; i < CLAIMS_COUNT(panel); i++) {
        report_panel(s->r, &(struct report_panel){.title = panel[i].title,
                                                  .x = {.label = "profile"},
                                                  .y = {.label = "QoE per chunk"},
                                                  .category = PROFILES,
                                                  .categories = COLUMNS});
        for (int k = 0; k < s->n; k++) {
            struct stats_interval x[COLUMNS];
            for (int c = 0; c < COLUMNS; c++)
                x[c] = shift_profiles(s->set[k], c, panel[i].cut);
            claims_points(s->r, s->set[k]->label, REPORT_BARS, NULL, x, COLUMNS);
        }
    }
}

static double mean_over_runs(const struct shift_set *s, struct shift_number of)
{
    double x[SHIFT_SEEDS];
    return stats_mean(x, shift_per_run(x, s, &of, false));
}

static void segment_table(const struct section *s)
{
    static const struct shift_number lags = {.of = SHIFT_LAGS};
    section_table(s, "Adaptation, and plateaus of the segments");
    for (int i = 0; i < s->n; i++) {
        const struct shift_set *set = s->set[i];
        struct stats_interval lag = shift_mean(set, &lags, SHIFT_FIGURE);
        report_row(s->r);
        report_cell(s->r, "variant", "%s", set->label);
        if (!isnan(lag.mean)) /* no shift at all may have brought a gain */
            claims_cell(s->r, "iterations to 90 %", lag, 1);
        report_real(s->r, "shifts with a gain",
                    mean_over_runs(set, (struct shift_number){.of = SHIFT_ADAPTED}), 2);
        for (int k = 0; k < SHIFT_SEGMENTS; k++) {
            char column[32];
            snprintf(column, sizeof column, "%c %d", "DLN"[k % SHIFT_PROFILES], k + 1);
            const struct shift_number plateau = {.of = SHIFT_PLATEAU, .segment = k};
            report_real(s->r, column, mean_over_runs(set, plateau), 2);
        }
    }
}

/* ---- noise (Fig. 10), and what is shown once ---- */

#define LATE(net, measure) SHIFT_PROBED(SHIFT_LATE, net, SHIFT_ALL, SHIFT_ALL, measure)
static const struct {
    const char *column, *title,
        *label; /* title: of the sweep's panel; NULL: in tables only */
    struct shift_number of;
} READINGS[] = {
    {"QoE, middle half",
     "QoE, middle half of the time points",
     "QoE per chunk",
     {.of = SHIFT_TIME, .cut = {0.25, 0.75}}},
    {"QoE, mean",
     "QoE, all time points",
     "QoE per chunk",
     {.of = SHIFT_TIME, .cut = {0, 1}}},
    {"dormant, policy", "dormant share (.025), policy", "share of units",
     LATE(SHIFT_ACTOR, SHIFT_DORMANT + 1)},
    {"eff. rank, policy", "effective rank, policy", "rank",
     LATE(SHIFT_ACTOR, SHIFT_EFFECTIVE)},
    {"dormant, value", NULL, NULL, LATE(SHIFT_CRITIC, SHIFT_DORMANT + 1)},
    {"eff. rank, value", NULL, NULL, LATE(SHIFT_CRITIC, SHIFT_EFFECTIVE)},
};

static void reading_row(struct report *r, const struct shift_set *s)
{
    report_row(r);
    report_cell(r, "variant", "%s", s->label);
    for (int i = 0; i < CLAIMS_COUNT(READINGS); i++)
        claims_cell(r, READINGS[i].column, shift_mean(s, &READINGS[i].of, SHIFT_FIGURE),
                    3);
}

static void noise_section(struct report *r, const struct shift_plan *p)
{
    enum { MOST = 32 };
    const struct shift_set *set[MOST];
    const char *names[MOST];
    int n = 0;
    for (int i = 0; i < p->sets && n < MOST; i++)
        if (p->set[i].role == SHIFT_NOISE) {
            names[n] = p->set[i].label + strlen("gamma ");
            set[n++] = &p->set[i];
        }
    if (!n) return;
    report_heading(r, "Noise");
    report_table(r, "How much noise (gamma; 0 is smoe)");
    for (int i = 0; i < n; i++)
        reading_row(r, set[i]);
    report_figure(r, "noise", "How much noise (Fig. 10)",
                  "Preset paper, PA-MoE without hints: w += lr gamma eps after every "
                  "minibatch, on the experts that it reached. Means over seeds, 95 % "
                  "intervals.");
    for (int k = 0; k < CLAIMS_COUNT(READINGS) && READINGS[k].title; k++) {
        report_panel(r, &(struct report_panel){.title = READINGS[k].title,
                                               .x = {.label = "gamma"},
                                               .y = {.label = READINGS[k].label},
                                               .category = names,
                                               .categories = n});
        struct stats_interval x[MOST];
        for (int i = 0; i < n; i++)
            x[i] = shift_mean(set[i], &READINGS[k].of, SHIFT_FIGURE);
        claims_points(r, "pamoe", REPORT_POINTS, NULL, x, n);
    }
}

static void once_section(struct report *r, const struct shift_plan *p)
{
    static const char *const variants[] = {"moe", "pamoe"};
    if (!shift_plan_find(p, "paper", false, "moe, probabilities")) return;
    report_heading(r, "Other readings");
    report_text(r, "Preset paper without hints. Eq. 7 can mix logits, as moe does, or "
                   "probabilities. Eq. 11 adds noise to the actor's experts; Figs. 11 to "
                   "16 show both networks, so one run adds it to the critic's as well.");
    report_text(
        r, "The authors' code has a weight decay of 1e-4 in Adam that the paper does "
           "not mention. With gradients near zero it pulls the weights of a frozen "
           "policy to zero, which noise undoes.");
    report_table(r, "Other readings of the paper");
    for (int v = 0; v < CLAIMS_COUNT(variants); v++)
        for (int i = 0; i < p->sets; i++) {
            const struct shift_set *s = &p->set[i];
            if (!strcmp(s->arm.variant, variants[v]) && !strcmp(s->arm.preset, "paper") &&
                !s->arm.hint && s->role != SHIFT_NOISE)
                reading_row(r, s);
        }
}

/* ---- the presets ---- */

enum { TEXT = 96, SETTINGS = 16 };

struct settings {
    char text[SETTINGS][TEXT];
    int n;
};

static void put_setting(struct settings *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void put_setting(struct settings *s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(s->text[s->n++], TEXT, fmt, args);
    va_end(args);
}

/* What the settings are, from the recipes that the runs were made with. */
static void put_settings(struct settings *s, const struct recipe *r)
{
    const struct ppo_cfg *p = &r->train.ppo;
    const struct policy_cfg *c = &r->policy;
    put_setting(s, "%d environment, %d steps", r->train.rollout.envs,
                r->train.rollout.steps);
    put_setting(s, "%g", p->lr);
    put_setting(s, "%d, %d epochs", p->minibatch, p->epochs);
    put_setting(s, "%g, %g", p->gamma, p->lambda);
    put_setting(s, "%g", p->clip);
    put_setting(s, "%g", p->entropy);
    put_setting(s, "%g", p->value_coef);
    if (p->max_grad_norm > 0)
        put_setting(s, "%g", p->max_grad_norm);
    else
        put_setting(s, "none");
    put_setting(s, "%d of %d hidden units, 1 chosen", c->experts, c->hidden);
    put_setting(s, "betas %g, %g, eps %g, decay %g", p->beta1, p->beta2, p->eps,
                p->weight_decay);
    put_setting(s, "%s",
                r->uniform_init ? "U(-1/sqrt(n), 1/sqrt(n))" : "orthogonal, even policy");
    put_setting(s, "%.3g%s, balance %g", p->router_noise,
                p->redraw_noise ? ", redrawn" : "", p->balance);
    if (p->noise_std > 0)
        put_setting(s, "deviation %g, all experts of both networks", p->noise_std);
    else
        put_setting(s, "lr x %g, experts reached, actor", p->noise_gamma);
    put_setting(s, "%s", p->normalise_returns ? "normalised" : "as they are");
    put_setting(s, "bandwidth x %g%s", r->env.emu.bandwidth_x,
                r->min_mbps > 0 ? ", slow links left out" : "");
    put_setting(s, "%s",
                r->env.profiles[0].utility == QOE_PAMOE ? "ln(R + 0.7)" : "Mbit/s");
}

static void presets_table(struct report *r)
{
    static const char *const rows[SETTINGS][2] = {
        {"batch", "1, 2000"},
        {"learning rate", "1e-4"},
        {"minibatch", "62, 5"},
        {"discount, lambda", "0.99, 0.95"},
        {"clip", "0.2"},
        {"entropy coefficient", "0"},
        {"value coefficient", "5"},
        {"gradient clipping", "none"},
        {"experts", "3 of 18, 1"},
        {"Adam", "not named"},
        {"first weights", "not given"},
        {"noise on the router's logits", "Gaussian"},
        {"noise on the weights", "lr x gamma, gamma not given"},
        {"returns", "not given"},
        {"links", "as Pensieve"},
        {"quality", "increasing"},
    };
    struct settings of[CLAIMS_COUNT(PRESETS)] = {0};
    for (int i = 0; i < CLAIMS_COUNT(PRESETS); i++) {
        struct shift_arm arm = {
            .preset = PRESETS[i], .variant = "pamoe", .steps = 2000000};
        struct recipe recipe;
        if (shift_arm_recipe(&recipe, &arm, NULL)) return;
        put_settings(&of[i], &recipe);
    }
    report_table(r, "The presets (pamoe)");
    for (int k = 0; k < SETTINGS; k++) {
        report_row(r);
        report_cell(r, "setting", "%s", rows[k][0]);
        report_cell(r, "the paper's text", "%s", rows[k][1]);
        for (int i = 0; i < CLAIMS_COUNT(PRESETS); i++)
            report_cell(r, PRESETS[i], "%s", of[i].text[k]);
    }
}

static void explain(struct report *r)
{
    presets_table(r);
    report_text(
        r, "Preset paper is the paper as written. Where it is silent (first weights, "
           "Adam's eps, layout of the state with the buffer in seconds) the authors' "
           "code decides, except for gamma, which it does not have.");
    report_text(
        r, "Preset code is what their code does. Its router noise is drawn anew in the "
           "update, so the ratio compares two experts, and no gradient reaches the "
           "router.");
    report_text(r,
                "Preset tuned is the paper's task with better settings. `abrd train "
                "--preset tuned` is something else: the product's own task and recipe.");
    report_text(
        r, "QoE depends on the links. Preset code doubles their bandwidth and leaves "
           "the slow ones out, so its means are not those of the other two.");
    report_text(
        r,
        "Adaptation: iterations until the QoE, smoothed over %d, has made 90 %% of the "
        "way from the first %d iterations after a shift to the plateau (last fifth of "
        "the segment); only shifts whose way is longer than twice the plateau's "
        "deviation.",
        SHIFT_SMOOTH, SHIFT_SMOOTH);
}

/* ---- sections ---- */

static void draw_section(struct section *s, const struct shift_plan *p,
                         const char *preset, bool hint)
{
    s->preset = preset;
    s->hint = hint;
    s->n = 0;
    for (int i = 0; i < p->sets && s->n < CLAIMS_COUNT(s->set); i++) {
        const struct shift_set *set = &p->set[i];
        if (set->role == SHIFT_MAIN && !strcmp(set->arm.preset, preset) &&
            set->arm.hint == hint)
            s->set[s->n++] = set;
    }
    if (!s->n) return;
    report_heading(s->r, "Preset %s, %s hints", preset, hint ? "with" : "without");
    trim_table(s);
    segment_table(s);
    for (int i = 0; i < TIME_UPDATES; i++)
        time_figure(s, &TIME[i]);
    trim_figure(s);
    profiles_figure(s);
    levels_figure(s);
    lag_figure(s);
    exam_figure(s);
    time_figure(s, &TIME[TIME_UPDATES]);
    probed_figure(s, &PROBED[PROBED_DORMANT]);
    selection_figure(s);
    int last =
        !hint && strcmp(preset, "tuned") != 0 ? CLAIMS_COUNT(PROBED) : PROBED_LAYERS;
    for (int i = PROBED_RANKS; i < last; i++)
        probed_figure(s, &PROBED[i]);
}

int shift_figures(struct report *r, const struct shift_plan *p)
{
    struct section s = {.r = r};
    s.rows = malloc((size_t)SHIFT_SEEDS * ROWS * sizeof *s.rows);
    s.x = malloc((size_t)4 * ROWS * sizeof *s.x);
    if (!s.rows || !s.x) {
        free(s.x);
        free(s.rows);
        return ERR_MEMORY;
    }
    s.mean = s.x + ROWS;
    s.lo = s.mean + ROWS;
    s.hi = s.lo + ROWS;

    explain(r);
    once_section(r, p);
    shift_claims_dormant(r, p);
    noise_section(r, p);
    for (int hint = 0; hint < 2; hint++)
        for (int i = 0; i < CLAIMS_COUNT(PRESETS); i++)
            draw_section(&s, p, PRESETS[i], hint);
    free(s.x);
    free(s.rows);
    return 0;
}
