#include "lab/shift/shift_figures.h"

#include "lab/shift/shift_dormant.h"
#include "shift_draw_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 2000 };

static const uint64_t BOOTSTRAP = 20250102;

static const char *const PROFILES[] = {"documentary", "live", "news"};

/* What is kept of the sorted time points: the authors' figures use several of these. */
static const struct {
    const char *name;
    struct stats_cut cut;
} TRIMS[] = {{"all", {0, 1}},      {"5-95", {.05, .95}},  {"10-90", {.1, .9}},
             {"20-80", {.2, .8}},  {"25-75", {.25, .75}}, {"0-75", {0, .75}},
             {"25-100", {.25, 1}}, {"median", {.49, .51}}};
enum { N_TRIMS = sizeof TRIMS / sizeof *TRIMS };

/* ---- points with intervals */

struct dots {
    double y[32], lo[32], hi[32];
};

static void shift_figures_dot(struct dots *d, int i, struct stats_interval x)
{
    d->y[i] = x.mean;
    d->lo[i] = x.lo;
    d->hi[i] = x.hi;
}

static struct stats_interval over_runs(const double *x, int n)
{
    double kept[SHIFT_SEEDS];
    int have = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(x[i])) kept[have++] = x[i];
    return stats_bootstrap(kept, have, 0.95, RESAMPLES, BOOTSTRAP);
}

static void bars(const struct shift_draw *d, const char *name, const struct dots *x,
                 int n)
{
    report_series(d->r, &(struct report_series){.name = name,
                                                .kind = REPORT_BARS,
                                                .n = n,
                                                .y = x->y,
                                                .lo = x->lo,
                                                .hi = x->hi});
}

/* ---- Figs. 4, 6, 8, 9 */

static void curves(const struct shift_draw *d)
{
    shift_draw_figure(
        d, "qoe", "QoE over time (Fig. 6)",
        "Rewards as the learner met them, actions sampled; D, L, N: the profile shifts.");
    shift_draw_curve(d, "mean of the last 50 episodes, as the authors draw it",
                     SHIFT_RECENT, "QoE per chunk");
    shift_draw_curve(d, "mean of each time bin", SHIFT_QOE, "QoE per chunk");

    shift_draw_figure(d, "parts", "Parts of the QoE (Fig. 4)",
                      "Each with the weight that the profile in force gives it.");
    shift_draw_curve(d, "bitrate", SHIFT_QUALITY, "QoE per chunk");
    shift_draw_curve(d, "smoothness", SHIFT_CHANGE, "QoE per chunk");
    shift_draw_curve(d, "stalls", SHIFT_STALL, "QoE per chunk");

    shift_draw_figure(d, "state", "Inside the session (Figs. 1, 8, 9)", NULL);
    shift_draw_curve(d, "action", SHIFT_LEVEL, "mean level");
    shift_draw_curve(d, "buffer", SHIFT_BUFFER, "seconds");
    shift_draw_curve(d, "throughput", SHIFT_THROUGHPUT, "kbit/s");
    shift_draw_curve(d, "download", SHIFT_DOWNLOAD, "seconds per chunk");
}

/* What the optimiser saw; with redrawn noise the ratio is off from the first update on. */
static void updates(const struct shift_draw *d)
{
    shift_draw_figure(
        d, "updates", "Updates",
        "Clip share: of the ratios beyond 1 -+ .2. Router: norm of the gradient that "
        "reaches the actor's router; softmax over one selected logit passes none.");
    shift_draw_curve(d, "entropy of the policy", SHIFT_ENTROPY, "nats");
    shift_draw_curve(d, "clip share, first epoch", SHIFT_FIRST_CLIP, "share");
    shift_draw_curve(d, "clip share, last epoch", SHIFT_CLIP, "share");
    shift_draw_curve(d, "router, actor", SHIFT_ROUTER, "gradient norm");
    shift_draw_curve(d, "router, critic", SHIFT_CRITIC_ROUTER, "gradient norm");
}

/* Shares of the six levels in the last fifth of every profile's segments. */
static void levels(const struct shift_draw *d)
{
    static const char *const names[SHIFT_LEVELS] = {"0", "1", "2", "3", "4", "5"};
    shift_draw_figure(d, "levels", "Levels chosen",
                      "In the last fifth of each profile's segments.");
    for (int profile = 0; profile < SHIFT_PROFILES; profile++) {
        report_panel(d->r, &(struct report_panel){.title = PROFILES[profile],
                                                  .x = {.label = "level"},
                                                  .y = {.label = "share of chunks"},
                                                  .category = names,
                                                  .categories = SHIFT_LEVELS});
        for (int i = 0; i < d->n; i++) {
            struct dots x;
            for (int k = 0; k < SHIFT_LEVELS; k++) {
                double share[SHIFT_SEEDS];
                for (int run = 0; run < d->set[i]->n; run++)
                    share[run] = shift_level_share(&d->set[i]->run[run], profile, k);
                shift_figures_dot(&x, k, over_runs(share, d->set[i]->n));
            }
            bars(d, d->set[i]->label, &x, SHIFT_LEVELS);
        }
    }
}

/* ---- Fig. 7 */

static void trims(const struct shift_draw *d)
{
    const char *names[N_TRIMS];
    for (int i = 0; i < N_TRIMS; i++)
        names[i] = TRIMS[i].name;
    shift_draw_figure(
        d, "iqm", "Mean QoE by the part of the time points kept (Fig. 7)",
        "Points of the 50-episode curve, all profiles in one heap, sorted; percent "
        "kept. Mean over seeds.");
    report_panel(d->r, &(struct report_panel){.x = {.label = "kept [%]"},
                                              .y = {.label = "QoE per chunk"},
                                              .category = names,
                                              .categories = N_TRIMS});
    for (int i = 0; i < d->n; i++) {
        struct dots x;
        for (int k = 0; k < N_TRIMS; k++) {
            double q[SHIFT_SEEDS];
            for (int run = 0; run < d->set[i]->n; run++)
                q[run] = shift_over_time(&d->set[i]->run[run], TRIMS[k].cut);
            shift_figures_dot(&x, k, over_runs(q, d->set[i]->n));
        }
        bars(d, d->set[i]->label, &x, N_TRIMS);
    }
}

static void trim_table(const struct shift_draw *d)
{
    const struct shift_set *pa = NULL;
    for (int i = 0; i < d->n; i++)
        if (!strcmp(d->set[i]->label, "pamoe")) pa = d->set[i];
    if (!pa) return;
    char title[96];
    snprintf(title, sizeof title,
             "PA-MoE over the others, by the part kept (preset %s, %s hints)", d->preset,
             d->hint ? "with" : "without");
    report_table(d->r, title);
    for (int k = 0; k < N_TRIMS; k++) {
        report_row(d->r);
        report_cell(d->r, "kept [%]", "%s", TRIMS[k].name);
        for (int i = 0; i < d->n; i++) {
            const struct shift_set *s = d->set[i];
            double a[SHIFT_SEEDS], b[SHIFT_SEEDS];
            int n = pa->n < s->n ? pa->n : s->n;
            for (int run = 0; run < n; run++) {
                a[run] = shift_over_time(&pa->run[run], TRIMS[k].cut);
                b[run] = shift_over_time(&s->run[run], TRIMS[k].cut);
            }
            char column[48];
            snprintf(column, sizeof column, "over %s", s->label);
            struct stats_interval x =
                stats_bootstrap_ratio(a, b, n, 0.95, RESAMPLES, BOOTSTRAP);
            if (s != pa) report_interval(d->r, column, x.mean, x.lo, x.hi, 2);
        }
    }
}

/* Scores of one set: a stratum per profile, or one profile alone. */
static struct stats_interval over_profiles(const struct shift_set *s, int profile,
                                           struct stats_cut cut)
{
    double q[SHIFT_PROFILES * SHIFT_SEEDS];
    int n[SHIFT_PROFILES], strata = 0;
    for (int k = 0; k < SHIFT_PROFILES; k++) {
        if (profile < SHIFT_PROFILES && k != profile) continue;
        for (int run = 0; run < s->n; run++)
            q[strata * s->n + run] = shift_profile_qoe(&s->run[run], k);
        n[strata++] = s->n;
    }
    return stats_bootstrap_strata((struct stats_strata){q, n, strata}, cut, 0.95,
                                  RESAMPLES, BOOTSTRAP);
}

/* Each profile by itself, since news alone decides what is pooled. */
static void profiles(const struct shift_draw *d)
{
    enum { COLUMNS = SHIFT_PROFILES + 1 };
    static const char *const names[COLUMNS] = {"documentary", "live", "news", "pooled"};
    static const struct {
        const char *title;
        struct stats_cut cut;
    } panel[] = {{"mean", {0, 1}}, {"interquartile mean", {.25, .75}}};
    shift_draw_figure(d, "profiles", "QoE per profile, and pooled",
                      "One score per seed and profile, the mean over the whole run; of "
                      "the scores their mean and interquartile mean. Intervals: "
                      "bootstrap over seeds, pooled stratified by profile.");
    for (int i = 0; i < 2; i++) {
        report_panel(d->r, &(struct report_panel){.title = panel[i].title,
                                                  .x = {.label = "profile"},
                                                  .y = {.label = "QoE per chunk"},
                                                  .category = names,
                                                  .categories = COLUMNS});
        for (int k = 0; k < d->n; k++) {
            struct dots x;
            for (int c = 0; c < COLUMNS; c++)
                shift_figures_dot(&x, c, over_profiles(d->set[k], c, panel[i].cut));
            bars(d, d->set[k]->label, &x, COLUMNS);
        }
    }
}

/* ---- after each shift */

static void segment_table(const struct shift_draw *d)
{
    char title[96];
    snprintf(title, sizeof title,
             "Adaptation, and plateaus of the segments (preset %s, %s hints)", d->preset,
             d->hint ? "with" : "without");
    report_table(d->r, title);
    for (int i = 0; i < d->n; i++) {
        const struct shift_set *s = d->set[i];
        const int n = s->n;
        double lag[SHIFT_SEEDS], adapted[SHIFT_SEEDS], q[SHIFT_SEEDS][SHIFT_SEGMENTS];
        for (int run = 0; run < n; run++) {
            lag[run] = shift_lags(&s->run[run], &adapted[run]);
            shift_segments(q[run], &s->run[run], 0.8, 1.0);
        }
        report_row(d->r);
        report_cell(d->r, "variant", "%s", s->label);
        struct stats_interval x = over_runs(lag, n);
        if (!isnan(x.mean)) /* no shift at all may have brought a gain */
            report_interval(d->r, "iterations to 90 %", x.mean, x.lo, x.hi, 1);
        report_real(d->r, "shifts with a gain", stats_mean(adapted, n), 2);
        for (int k = 0; k < SHIFT_SEGMENTS; k++) {
            char column[32];
            double at[SHIFT_SEEDS];
            for (int run = 0; run < n; run++)
                at[run] = q[run][k];
            snprintf(column, sizeof column, "%c %d", "DLN"[k % SHIFT_PROFILES], k + 1);
            report_real(d->r, column, stats_mean(at, n), 2);
        }
    }
}

/* Runs without a gain after a shift have no lag there, so their share is beside it. */
static void lags(const struct shift_draw *d)
{
    enum { SHIFTS = SHIFT_SEGMENTS - 1 };
    static const char *const names[SHIFTS] = {"L 2", "N 3", "D 4", "L 5", "N 6",
                                              "D 7", "L 8", "N 9", "D 10"};
    shift_draw_figure(d, "lag", "Adaptation after each shift",
                      "Iterations to 90 % of the way to the plateau, of the runs that "
                      "gained by learning on after the shift, and how many did.");
    for (int panel = 0; panel < 2; panel++) {
        report_panel(d->r, &(struct report_panel){
                               .title = panel ? "runs with a gain" : "lag",
                               .x = {.label = "segment"},
                               .y = {.label = panel ? "share of runs" : "iterations"},
                               .category = names,
                               .categories = SHIFTS});
        for (int i = 0; i < d->n; i++) {
            const struct shift_set *s = d->set[i];
            struct dots x;
            for (int k = 0; k < SHIFTS; k++) {
                double lag[SHIFT_SEEDS];
                for (int run = 0; run < s->n; run++) {
                    lag[run] = shift_segment_lag(&s->run[run], k + 1);
                    if (panel) lag[run] = !isnan(lag[run]);
                }
                shift_figures_dot(&x, k, over_runs(lag, s->n));
            }
            bars(d, s->label, &x, SHIFTS);
        }
    }
}

/* What is remembered of a profile while others are in force. */
static void exams(const struct shift_draw *d)
{
    shift_draw_figure(
        d, "exam", "The same greedy exam in every profile",
        "Eight episodes of each profile, the one in force or not, without exploring.");
    for (int k = 0; k < SHIFT_PROFILES; k++)
        shift_draw_exam(d, PROFILES[k], k);
}

/* ---- Fig. 10 */

static double late_measure(const struct shift_record *r, int which)
{
    switch (which) {
    case 0:
        return shift_over_time(r, STATS_CUT_IQM);
    case 1:
        return shift_over_time(r, STATS_CUT_NONE);
    case 2:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_DORMANT + 1);
    case 3:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_EFFECTIVE);
    case 4:
        return shift_late(r, SHIFT_CRITIC, -1, -1, SHIFT_DORMANT + 1);
    default:
        return shift_late(r, SHIFT_CRITIC, -1, -1, SHIFT_EFFECTIVE);
    }
}

static void reading(struct report *r, const struct shift_set *s)
{
    static const char *const columns[] = {"QoE, middle half", "QoE, mean",
                                          "dormant, policy",  "eff. rank, policy",
                                          "dormant, value",   "eff. rank, value"};
    report_row(r);
    report_cell(r, "variant", "%s", s->label);
    for (int c = 0; c < 6; c++) {
        double q[SHIFT_SEEDS];
        for (int run = 0; run < s->n; run++)
            q[run] = late_measure(&s->run[run], c);
        struct stats_interval x = over_runs(q, s->n);
        report_interval(r, columns[c], x.mean, x.lo, x.hi, 3);
    }
}

static void noise(struct report *r, const struct shift_plan *p)
{
    static const char *const titles[] = {
        "QoE, middle half of the time points", "QoE, all time points",
        "dormant share (.025), policy", "effective rank, policy"};
    const struct shift_set *set[32];
    const char *names[32];
    int n = 0;
    for (int i = 0; i < p->sets && n < 32; i++)
        if (p->set[i].role == SHIFT_NOISE) {
            names[n] = p->set[i].label + strlen("gamma ");
            set[n++] = &p->set[i];
        }
    if (!n) return;
    report_heading(r, "Noise");
    report_table(r, "How much noise (gamma; 0 is smoe)");
    for (int i = 0; i < n; i++)
        reading(r, set[i]);
    report_figure(
        r, "noise", "How much noise (Fig. 10)",
        "Preset paper, PA-MoE without hints: w += lr gamma eps after every minibatch, on "
        "the experts that it reached. Means over seeds, 95 % intervals.");
    for (int panel = 0; panel < 4; panel++) {
        report_panel(r,
                     &(struct report_panel){.title = titles[panel],
                                            .x = {.label = "gamma"},
                                            .y = {.label = panel < 2    ? "QoE per chunk"
                                                           : panel == 2 ? "share of units"
                                                                        : "rank"},
                                            .category = names,
                                            .categories = n});
        struct dots x;
        for (int i = 0; i < n; i++) {
            double q[SHIFT_SEEDS];
            for (int run = 0; run < set[i]->n; run++)
                q[run] = late_measure(&set[i]->run[run], panel);
            shift_figures_dot(&x, i, over_runs(q, set[i]->n));
        }
        report_series(r, &(struct report_series){.name = "pamoe",
                                                 .kind = REPORT_POINTS,
                                                 .n = n,
                                                 .y = x.y,
                                                 .lo = x.lo,
                                                 .hi = x.hi});
    }
}

/* ---- what is shown once */

static void extras(struct report *r, const struct shift_plan *p)
{
    static const char *const variants[] = {"moe", "pamoe"};
    if (!shift_plan_find(p, "paper", false, "moe, probabilities")) return;
    report_heading(r, "Other readings");
    report_text(r, "Preset paper without hints. Eq. 7 can mix logits, as moe does, or "
                   "probabilities. Eq. 11 adds noise to the actor's experts; Figs. 11 to "
                   "16 show both networks, so once to the critic's as well. The authors' "
                   "code has a weight decay of 1e-4 in Adam that the paper does not "
                   "mention: with gradients near zero it pulls the weights of a frozen "
                   "policy to zero, which noise undoes.");
    report_table(r, "Other readings of the paper");
    for (int v = 0; v < 2; v++)
        for (int i = 0; i < p->sets; i++) {
            const struct shift_set *s = &p->set[i];
            if (strcmp(s->arm.variant, variants[v]) != 0 ||
                strcmp(s->arm.preset, "paper") != 0 || s->arm.hint ||
                s->role == SHIFT_NOISE)
                continue;
            reading(r, s);
        }
}

/* ---- sections */

static void section(struct shift_draw *d, const struct shift_plan *p, const char *preset,
                    bool hint)
{
    d->preset = preset;
    d->hint = hint;
    d->n = 0;
    for (int i = 0; i < p->sets && d->n < 8; i++) {
        const struct shift_set *s = &p->set[i];
        if (s->role == SHIFT_MAIN && !strcmp(s->arm.preset, preset) &&
            s->arm.hint == hint)
            d->set[d->n++] = s;
    }
    if (!d->n) return;
    report_heading(d->r, "Preset %s, %s hints", preset, hint ? "with" : "without");
    trim_table(d);
    segment_table(d);
    curves(d);
    trims(d);
    profiles(d);
    levels(d);
    lags(d);
    exams(d);
    updates(d);
    shift_draw_plasticity(d, !hint && strcmp(preset, "tuned") != 0);
}

static void shift_figures_explain(struct report *r)
{
    shift_draw_presets(r);
    report_text(
        r, "Preset paper is the paper as written; where it is silent (first "
           "weights, Adam's eps, layout of the state with the buffer in seconds) "
           "the authors' code decides, but for gamma, which it does not have. Preset "
           "code is what their code does: its router noise is drawn anew in the "
           "update, so the ratio compares two experts, and no gradient reaches "
           "the router. Preset tuned is the paper's task with the settings that "
           "matter; `abrd train --preset tuned` is something else, the product's "
           "own task and recipe. QoE hangs on the links: preset code doubles their "
           "bandwidth and leaves the slow ones out, so its means are not those of "
           "the other two.");
    report_text(
        r,
        "Adaptation: iterations until the QoE, smoothed over %d, has made 90 %% of the "
        "way "
        "from the first %d iterations after a shift to the plateau (last fifth of the "
        "segment); only shifts whose way is longer than twice the plateau's deviation.",
        SHIFT_SMOOTH, SHIFT_SMOOTH);
}

int shift_figures(struct report *r, const struct shift_plan *p)
{
    static const char *const presets[] = {"paper", "code", "tuned"};
    struct shift_draw d = {.r = r};
    d.rows = malloc((size_t)SHIFT_SEEDS * SHIFT_ROWS * sizeof *d.rows);
    d.x = malloc((size_t)4 * SHIFT_ROWS * sizeof *d.x);
    if (!d.rows || !d.x) {
        free(d.x);
        free(d.rows);
        return ERR_MEMORY;
    }
    d.mean = d.x + SHIFT_ROWS;
    d.lo = d.mean + SHIFT_ROWS;
    d.hi = d.lo + SHIFT_ROWS;

    shift_figures_explain(r);
    extras(r, p);
    shift_dormant(r, p);
    noise(r, p);
    for (int hint = 0; hint < 2; hint++)
        for (int i = 0; i < 3; i++)
            section(&d, p, presets[i], hint);
    free(d.x);
    free(d.rows);
    return 0;
}
