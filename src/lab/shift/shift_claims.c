#include "lab/shift/shift_claims.h"

#include "lab/claims.h"
#include "learn/plasticity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- what is measured ---- */

enum { TAU_025 = SHIFT_DORMANT + 1 };

/* The numbers that claims are about. Probes: each expert on the states that reach it. */
enum number {
    QOE_MID,
    DORMANT,
    DORMANT_ALL,
    CRITIC_DORMANT,
    EFFECTIVE,
    EFFECTIVE_ALL,
    CRITIC_EFFECTIVE,
    RANK,
    APPROX,
    ABS_APPROX,
    WEIGHT,
    LAG,
    SWING,
    TOP_ACTOR,
    TOP_CRITIC,
    BUFFER,
    THROUGHPUT, /* kbit/s */
    QOE,
    QUALITY,
    GROWTH,
};

#define LATE(net, measure) SHIFT_PROBED(SHIFT_LATE, net, SHIFT_ALL, SHIFT_ALL, measure)
static const struct shift_number NUMBERS[] = {
    [QOE_MID] = {.of = SHIFT_TIME, .cut = {0.25, 0.75}},
    [DORMANT] = LATE(SHIFT_ACTOR, TAU_025),
    [DORMANT_ALL] = {.of = SHIFT_LATE_ALL, .net = SHIFT_ACTOR, .measure = TAU_025},
    [CRITIC_DORMANT] = LATE(SHIFT_CRITIC, TAU_025),
    [EFFECTIVE] = LATE(SHIFT_ACTOR, SHIFT_EFFECTIVE),
    [EFFECTIVE_ALL] = {.of = SHIFT_LATE_ALL,
                       .net = SHIFT_ACTOR,
                       .measure = SHIFT_EFFECTIVE},
    [CRITIC_EFFECTIVE] = LATE(SHIFT_CRITIC, SHIFT_EFFECTIVE),
    [RANK] = LATE(SHIFT_ACTOR, SHIFT_RANK),
    [APPROX] = LATE(SHIFT_ACTOR, SHIFT_APPROX),
    [ABS_APPROX] = LATE(SHIFT_ACTOR, SHIFT_ABS_APPROX),
    [WEIGHT] = LATE(SHIFT_ACTOR, SHIFT_MEASURES),
    [LAG] = {.of = SHIFT_LAGS},
    [SWING] = {.of = SHIFT_SWING},
    [TOP_ACTOR] = {.of = SHIFT_TOP_SHARE, .net = SHIFT_ACTOR},
    [TOP_CRITIC] = {.of = SHIFT_TOP_SHARE, .net = SHIFT_CRITIC},
    [BUFFER] = {.of = SHIFT_MEAN, .curve = SHIFT_BUFFER},
    [THROUGHPUT] = {.of = SHIFT_MEAN, .curve = SHIFT_THROUGHPUT},
    [QOE] = {.of = SHIFT_MEAN, .curve = SHIFT_QOE},
    [QUALITY] = {.of = SHIFT_MEAN, .curve = SHIFT_QUALITY},
    [GROWTH] = SHIFT_PROBED(SHIFT_GROWTH, SHIFT_ACTOR, SHIFT_ALL, SHIFT_ALL, TAU_025),
};

/* The sets that a preset's claims are about; NULL where they were not run. */
enum arm {
    MLP,
    MOE,
    SMOE,
    PAMOE,
    MOE_DECAY,
    PAMOE_DECAY,
    BEST_NOISE,
    LEAST_NOISE,
    MOST_NOISE,
    ARMS
};

struct sets {
    const char *preset;
    const struct shift_set *arm[ARMS];
    int noises; /* sets of the noise sweep */
};

/* Throughput is in kbit/s in a record and in Mbit/s in a claim. */
static struct stats_interval in_unit(struct stats_interval x, int number)
{
    double scale = number == THROUGHPUT ? 1e-3 : 1;
    return (struct stats_interval){x.mean * scale, x.lo * scale, x.hi * scale};
}

static struct stats_interval shift_claims_measure(const void *self,
                                                  struct claims_number n)
{
    const struct sets *s = self;
    const struct shift_set *a = s->arm[n.a], *b = s->arm[n.b];
    const struct shift_number *of = &NUMBERS[n.column];
    switch (n.kind) {
    case CLAIMS_RATIO:
        return shift_ratio(a, b, of, SHIFT_CLAIM);
    case CLAIMS_GAP:
        return in_unit(shift_difference(a, b, of), n.column);
    default:
        return shift_mean(a, of, SHIFT_CLAIM);
    }
}

static struct claims_lab lab_of(struct report *r, const struct sets *s)
{
    return (struct claims_lab){.report = r, .self = s, .measure = shift_claims_measure};
}

/* ---- the claims ---- */

#define MORE 1e-9 /* above 0, whatever the size */

/* PA-MoE's number over that of another; less that of another; one set's alone */
#define OVER(number, other) {{CLAIMS_RATIO, number, PAMOE, other}}, CLAIMS_EFFECT
#define OVER_DECAY(number) {{CLAIMS_RATIO, number, PAMOE_DECAY, MOE_DECAY}}, CLAIMS_EFFECT
#define LESS(number, other) {{CLAIMS_GAP, number, PAMOE, other}}, CLAIMS_EFFECT
#define ALONE(number, set) {{CLAIMS_MEAN, number, set, set}}, CLAIMS_EFFECT

/* text, where, paper, published; number; claimed, even */
static const struct claims_claim CLAIMS[] = {
    {"QoE, PA-MoE over MoE (middle half of the time points)", "Fig. 7", "x 1.455",
     "x 1.29, 1.37, 1.48 or 1.73 by the part kept", OVER(QOE_MID, MOE), 1.455, 1,
     .digits = 2},
    {"the same as a difference of means over all time points", "Fig. 6", "above 0",
     "+0.40 (1.79 against 1.39)", LESS(QOE, MOE), MORE, 0, .digits = 3},
    {"QoE, PA-MoE over MLP (middle half)", "Figs. 6, 7", "above 1",
     "below 1: MLP is ahead on the mean and the middle half", OVER(QOE_MID, MLP), 1, 1,
     .digits = 2},
    {"the same as a difference of means over all time points, PA-MoE less MLP", "Fig. 6",
     "above 0", "-0.19 (1.79 against 1.98)", LESS(QOE, MLP), MORE, 0, .digits = 3},
    {"QoE, PA-MoE less SMoE, means", "Fig. 6", "above 0", "+0.32 (1.79 against 1.47)",
     LESS(QOE, SMOE), MORE, 0, .digits = 3},
    {"the gain is in the bitrate: PA-MoE less MoE", "Figs. 4, 7", "above 0", NULL,
     LESS(QUALITY, MOE), MORE, 0, .digits = 3},
    {"dormant share (0.025), policy, PA-MoE / MoE", "Figs. 3, 11", "lower", NULL,
     OVER(DORMANT, MOE), 1 - MORE, 1, .digits = 2},
    {"the same, every expert shown every state", "Eq. 41", "lower", NULL,
     OVER(DORMANT_ALL, MOE), 1 - MORE, 1, .digits = 2},
    {"dormant share (0.025), value, PA-MoE / MoE", "Fig. 11", "lower", NULL,
     OVER(CRITIC_DORMANT, MOE), 1 - MORE, 1, .digits = 2},
    {"dormant share (0.025), policy, PA-MoE / SMoE", "Fig. 3", "lower", NULL,
     OVER(DORMANT, SMOE), 1 - MORE, 1, .digits = 2},
    {"MoE's dormant share grows (policy, last less second fifth)", "Fig. 3", "above 0",
     NULL, ALONE(GROWTH, MOE), MORE, 0, .digits = 3},
    {"PA-MoE's does not", "Fig. 3", "at most 0", NULL, ALONE(GROWTH, PAMOE), 0, 0.05,
     .digits = 3},
    {"rank, policy, PA-MoE / MoE", "Fig. 12", "higher", NULL, OVER(RANK, MOE), 1, 1,
     .digits = 2},
    {"effective rank, policy, PA-MoE / MoE", "Fig. 13", "higher", NULL,
     OVER(EFFECTIVE, MOE), 1, 1, .digits = 2},
    {"the same, every expert shown every state", "Fig. 13", "higher", NULL,
     OVER(EFFECTIVE_ALL, MOE), 1, 1, .digits = 2},
    {"effective rank, value, PA-MoE / MoE", "Fig. 13", "higher", NULL,
     OVER(CRITIC_EFFECTIVE, MOE), 1, 1, .digits = 2},
    {"approximate rank, policy, PA-MoE / MoE", "Fig. 14", "higher", NULL,
     OVER(APPROX, MOE), 1, 1, .digits = 2},
    {"absolute approximate rank, policy, PA-MoE / MoE", "Fig. 15", "higher", NULL,
     OVER(ABS_APPROX, MOE), 1, 1, .digits = 2},
    {"mean weight, policy, PA-MoE / MoE", "Fig. 16", "larger", NULL, OVER(WEIGHT, MOE), 1,
     1, .digits = 2},
    {"largest share of an expert, PA-MoE's actor", "Fig. 5", "a third", NULL,
     ALONE(TOP_ACTOR, PAMOE), 0.36, 0.5, .digits = 2},
    {"largest share of an expert, PA-MoE's critic", "Fig. 5", "a third", NULL,
     ALONE(TOP_CRITIC, PAMOE), 0.36, 0.5, .digits = 2},
    {"iterations to adapt, PA-MoE less MoE", "Fig. 6", "fewer", NULL, LESS(LAG, MOE),
     -MORE, 0, .digits = 1},
    {"the level follows the profile: swing, PA-MoE less MoE", "Figs. 1, 8", "larger",
     NULL, LESS(SWING, MOE), MORE, 0, .digits = 2},
    {"buffer, PA-MoE less MoE [s]", "Fig. 9", "better used", NULL, LESS(BUFFER, MOE),
     MORE, 0, .digits = 2},
    {"throughput, PA-MoE less MoE [Mbit/s]", "Fig. 9", "higher", NULL,
     LESS(THROUGHPUT, MOE), MORE, 0, .digits = 3},
};

/* What the paper does not have and its authors' code does decides how far apart these lie. */
static const struct claims_claim DECAY_CLAIMS[] = {
    {"dormant share, both with the code's weight decay, PA-MoE / MoE", "Figs. 3, 11",
     "lower", NULL, OVER_DECAY(DORMANT), 1 - MORE, 1, .digits = 2},
    {"effective rank, both with the code's weight decay, PA-MoE / MoE", "Fig. 13",
     "higher", NULL, OVER_DECAY(EFFECTIVE), 1, 1, .digits = 2},
};

/* The columns of a preset; `column` holds their names. */
static struct claims_columns columns_of(char column[2][48], const struct sets *s,
                                        const struct shift_set *judged)
{
    snprintf(column[0], sizeof column[0], "preset %s", s->preset);
    snprintf(column[1], sizeof column[1], "verdict, %s", s->preset);
    return (struct claims_columns){.text = "claim",
                                   .where = "where",
                                   .paper = "paper",
                                   .published = "published curves",
                                   .ours = column[0],
                                   .verdict = column[1],
                                   .untested = !judged || judged->n < SHIFT_SEEDS_NEEDED};
}

static void noise_rows(struct report *r, const struct sets *paper)
{
    const struct shift_set *best = paper->arm[BEST_NOISE];
    struct claims_lab l = lab_of(r, paper);
    char column[2][48];
    struct claims_columns c = columns_of(column, paper, best);
    for (int end = LEAST_NOISE; end <= MOST_NOISE; end++) {
        char text[80];
        snprintf(text, sizeof text, "noise: the best gamma (%g) less %s", best->gamma,
                 paper->arm[end]->label);
        const struct claims_claim claim = {text,
                                           "Fig. 10",
                                           "above 0: an inner optimum",
                                           NULL,
                                           {{CLAIMS_GAP, QOE_MID, BEST_NOISE, end}},
                                           CLAIMS_EFFECT,
                                           MORE,
                                           0,
                                           .digits = 3};
        claims_judge(&l, &c, &claim, 1);
    }
    const struct claims_claim optimum = {
        .text =
            "gamma of that optimum; Theorem 4.3 (eta gamma^2 d + P^2 / (T eta)) has 0",
        .where = "Sec. 5.6",
        .paper = "they agree"};
    claims_row(r, &c, &optimum);
    report_real(r, c.ours, best->gamma, 0);
    report_verdict(r, c.verdict, best->gamma > 0 ? REPORT_DIFFERS : REPORT_PASS);
}

/* s (n): the presets that were run; paper: also what is shown once of it. */
static void claims_table(struct report *r, const struct sets *s, int n,
                         const struct sets *paper)
{
    char column[2][48];
    report_table(r, "The paper, claim by claim");
    for (int i = 0; i < CLAIMS_COUNT(CLAIMS); i++)
        for (int k = 0; k < n; k++) {
            struct claims_lab l = lab_of(r, &s[k]);
            struct claims_columns c = columns_of(column, &s[k], s[k].arm[PAMOE]);
            if (k == 0) claims_row(r, &c, &CLAIMS[i]);
            claims_answer(&l, &c, &CLAIMS[i]);
        }
    struct claims_lab l = lab_of(r, paper);
    struct claims_columns c = columns_of(column, paper, paper->arm[PAMOE_DECAY]);
    if (paper->arm[MOE_DECAY] && paper->arm[PAMOE_DECAY])
        claims_judge(&l, &c, DECAY_CLAIMS, CLAIMS_COUNT(DECAY_CLAIMS));
    if (paper->arm[BEST_NOISE]) noise_rows(r, paper);
    report_text(r, "Means with 95 %% intervals over seeds (bootstrap, paired by seed), "
                   "without hints. pass: as claimed; short: the same direction, less "
                   "of it; differs: the interval holds no effect, or one the other way.");
    report_text(r,
                "Dormant shares, ranks and weights: last fifth of training, each "
                "expert on the states that reach it, as the authors measured it, "
                "unless the claim says otherwise. Policy: the actor, whose experts the "
                "noise of preset paper is added to; in preset code both networks have "
                "it. The best gamma is chosen by the same runs that it is compared on, "
                "which flatters it.");
}

/* ---- the sets ---- */

/* The sets of the sweep with the highest mean of the middle half, the least and the most noise. */
static void find_noise(struct sets *s, const struct shift_plan *p)
{
    double top = -INFINITY;
    for (int k = 0; k < p->sets; k++) {
        const struct shift_set *x = &p->set[k];
        if (x->role != SHIFT_NOISE) continue;
        if (!s->noises++) s->arm[LEAST_NOISE] = x;
        s->arm[MOST_NOISE] = x;
        double qoe = shift_mean(x, &NUMBERS[QOE_MID], SHIFT_CLAIM).mean;
        if (!(qoe > top)) continue;
        top = qoe;
        s->arm[BEST_NOISE] = x;
    }
}

/* Whether a main variant of the preset is part of the plan. */
static bool sets_of(struct sets *out, const struct shift_plan *p, const char *preset)
{
    static const char *const labels[] = {[MLP] = "mlp",
                                         [MOE] = "moe",
                                         [SMOE] = "smoe",
                                         [PAMOE] = "pamoe",
                                         [MOE_DECAY] = "moe, weight decay",
                                         [PAMOE_DECAY] = "pamoe, weight decay"};
    *out = (struct sets){.preset = preset};
    bool any = false;
    for (int i = 0; i < CLAIMS_COUNT(labels); i++) {
        out->arm[i] = shift_plan_find(p, preset, false, labels[i]);
        any |= out->arm[i] && i <= PAMOE;
    }
    if (!strcmp(preset, "paper")) find_noise(out, p);
    return any;
}

/* ---- dormant units ---- */

static void dormant_row(struct report *r, const struct shift_set *moe,
                        const struct shift_set *pa, const struct shift_number *of,
                        const char *says, const char *trained)
{
    struct stats_interval ratio = shift_ratio(pa, moe, of, SHIFT_CLAIM);
    report_row(r);
    report_cell(r, "dormant share of", "%s%s", says, trained);
    report_real(r, "threshold", plasticity_tau(of->measure - SHIFT_DORMANT), 3);
    claims_cell(r, "MoE", shift_mean(moe, of, SHIFT_CLAIM), 3);
    claims_cell(r, "PA-MoE", shift_mean(pa, of, SHIFT_CLAIM), 3);
    claims_cell(r, "PA-MoE / MoE", ratio, 2);
    report_verdict(r, "at most half",
                   pa->n < SHIFT_SEEDS_NEEDED ? REPORT_UNTESTED
                                              : claims_effect(ratio, 0.5, 1));
}

void shift_claims_dormant(struct report *r, const struct shift_plan *p)
{
    static const struct {
        const char *says;
        int net;
        enum shift_kind of;
        int layer, tau[4], taus;
    } readings[] = {
        {"policy", SHIFT_ACTOR, SHIFT_LATE, SHIFT_ALL, {0, 1, 2, 3}, 4},
        {"policy, layer 1", SHIFT_ACTOR, SHIFT_LATE, 0, {1}, 1},
        {"policy, layer 2", SHIFT_ACTOR, SHIFT_LATE, 1, {1}, 1},
        {"policy, the busiest expert", SHIFT_ACTOR, SHIFT_BUSIEST, SHIFT_ALL, {1}, 1},
        {"policy, every expert shown every state",
         SHIFT_ACTOR,
         SHIFT_LATE_ALL,
         SHIFT_ALL,
         {1},
         1},
        {"value", SHIFT_CRITIC, SHIFT_LATE, SHIFT_ALL, {0, 1, 2, 3}, 4},
        {"value, the busiest expert", SHIFT_CRITIC, SHIFT_BUSIEST, SHIFT_ALL, {1}, 1},
        {"value, every expert shown every state",
         SHIFT_CRITIC,
         SHIFT_LATE_ALL,
         SHIFT_ALL,
         {1},
         1},
    };
    struct sets s;
    sets_of(&s, p, "paper");
    if (!s.arm[MOE] || !s.arm[PAMOE]) return;
    report_table(r, "Dormant units, reading by reading (preset paper, without hints)");
    for (int i = 0; i < CLAIMS_COUNT(readings); i++)
        for (int k = 0; k < readings[i].taus; k++) {
            const struct shift_number of = {.of = readings[i].of,
                                            .net = readings[i].net,
                                            .expert = SHIFT_ALL,
                                            .layer = readings[i].layer,
                                            .measure =
                                                SHIFT_DORMANT + readings[i].tau[k]};
            dormant_row(r, s.arm[MOE], s.arm[PAMOE], &of, readings[i].says, "");
        }
    for (int tau = 0; s.arm[MOE_DECAY] && s.arm[PAMOE_DECAY] && tau < 4; tau++) {
        const struct shift_number of = LATE(SHIFT_ACTOR, SHIFT_DORMANT + tau);
        dormant_row(r, s.arm[MOE_DECAY], s.arm[PAMOE_DECAY], &of, "policy",
                    ", with the code's weight decay");
    }
    report_text(
        r, "The paper says that PA-MoE has fewer. It names no threshold in Eq. 41, no "
           "optimiser and no weight decay, and these decide. Preset paper has Adam's "
           "eps of the authors' code, 1e-5; --set adam-eps=1e-8 is Adam as published.");
}

/* ---- the authors' code ---- */

enum { THEIRS = 2, INSIDE_LEAST = 4, RUNS = THEIRS * SHIFT_SEEDS };

static const char *const THEIR_VARIANTS[THEIRS] = {"moe", "pamoe"};

static const struct {
    const char *name;
    double like[THEIRS]; /* moe and pamoe, run as preset code */
    double lo, hi;       /* over the segments of all four runs */
} THEIR_PROFILES[SHIFT_PROFILES] = {{"documentary", {0.34, 0.66}, 0.30, 0.66},
                                    {"live", {0.01, 0.29}, -0.21, 0.43},
                                    {"news", {7.40, 5.41}, 5.36, 7.43}};

static bool froze_as_theirs(const struct shift_record *r)
{
    return shift_frozen_share(r, 3, 4) >= 0.9;
}

static double segments_of(const struct shift_record *r, int profile)
{
    double q[SHIFT_SEGMENTS], sum = 0.0;
    int n = 0;
    shift_segments(q, r, 0.0, 1.0);
    for (int s = SHIFT_PROFILES + profile; s < SHIFT_SEGMENTS; s += SHIFT_PROFILES, n++)
        sum += q[s];
    return sum / n;
}

/* moe and pamoe together; x (RUNS) */
static int plateaus(double *x, const struct sets *s, int profile, bool frozen_alike)
{
    const struct shift_set *const ours[THEIRS] = {s->arm[MOE], s->arm[PAMOE]};
    int n = 0;
    for (int i = 0; i < THEIRS; i++)
        for (int k = 0; ours[i] && k < ours[i]->n; k++)
            if (!frozen_alike || froze_as_theirs(&ours[i]->run[k]))
                x[n++] = segments_of(&ours[i]->run[k], profile);
    return n;
}

/* Returns how many of their values lie among ours. */
static int spread_table(struct report *r, const struct sets *s)
{
    int all = 0;
    report_table(r, "Preset code and the authors' own code");
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        double x[RUNS], lo = INFINITY, hi = -INFINITY;
        int n = plateaus(x, s, i, false), in = 0;
        for (int k = 0; k < n; k++) {
            lo = fmin(lo, x[k]);
            hi = fmax(hi, x[k]);
        }
        report_row(r);
        report_cell(r, "QoE of the segments", "%s", THEIR_PROFILES[i].name);
        for (int k = 0; k < THEIRS; k++) {
            char column[32];
            double theirs = THEIR_PROFILES[i].like[k];
            snprintf(column, sizeof column, "theirs, %s", THEIR_VARIANTS[k]);
            report_real(r, column, theirs, 2);
            in += theirs >= lo && theirs <= hi;
        }
        report_real(r, "ours, lowest", lo, 2);
        claims_cell(r, "mean", shift_mean_of(x, n, SHIFT_CLAIM), 2);
        report_real(r, "highest", hi, 2);
        report_int(r, "runs", n);
        report_cell(r, "theirs among ours", "%d of %d", in, THEIRS);
        all += in;
    }
    report_text(r, "Without hints, from the second round of profiles on. Theirs: one run "
                   "of moe and one of pamoe (profile coefficient 6, learning rate 1e-4). "
                   "Ours: moe and pamoe together, as one run of theirs says little about "
                   "either.");
    return all;
}

static void frozen_table(struct report *r, const struct sets *s)
{
    report_table(r, "Runs that froze where theirs did, at 1850 or 2850 kbit/s");
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        double x[RUNS];
        int n = plateaus(x, s, i, true);
        report_row(r);
        report_cell(r, "QoE of the segments", "%s", THEIR_PROFILES[i].name);
        report_cell(r, "theirs, four runs", "%.2f to %.2f", THEIR_PROFILES[i].lo,
                    THEIR_PROFILES[i].hi);
        claims_cell(r, "ours", shift_mean_of(x, n, SHIFT_CLAIM), 2);
        report_int(r, "runs", n);
    }
    report_text(r, "The other two of their runs have the settings that are shipped "
                   "(coefficient 7, learning rate 1e-3). The bitrate at which a policy "
                   "freezes decides its QoE, and ours freeze at other bitrates, too.");
}

static void authors(struct report *r, const struct sets *s, bool enough)
{
    if (!s->arm[MOE] && !s->arm[PAMOE]) return;
    int in = spread_table(r, s);
    frozen_table(r, s);
    if (!enough) return;
    report_check(r, "code: plateaus of the authors' runs among ours (of 6)", in,
                 INSIDE_LEAST, SHIFT_PROFILES * THEIRS);
    for (int i = 0; i < SHIFT_PROFILES; i++) {
        char name[80];
        double x[RUNS];
        snprintf(name, sizeof name, "code: QoE of %s, frozen at 1850 or 2850 kbit/s",
                 THEIR_PROFILES[i].name);
        int n = plateaus(x, s, i, true);
        report_check(r, name, stats_mean(x, n), THEIR_PROFILES[i].lo,
                     THEIR_PROFILES[i].hi);
    }
}

/* ---- checks ---- */

static const struct claims_check PAPER_CHECKS[] = {
    {"paper: dormant share, policy, PA-MoE / MoE",
     {CLAIMS_RATIO, DORMANT, PAMOE, MOE},
     CLAIMS_OF_MEAN,
     0,
     0.5},
    {"paper: effective rank, policy, PA-MoE / MoE",
     {CLAIMS_RATIO, EFFECTIVE, PAMOE, MOE},
     CLAIMS_OF_MEAN,
     1.4,
     INFINITY},
};

static void check_paper(struct report *r, const struct sets *s)
{
    struct claims_lab l = lab_of(r, s);
    if (s->arm[PAMOE] && s->arm[MOE])
        claims_check(&l, PAPER_CHECKS, CLAIMS_COUNT(PAPER_CHECKS));
    const double *gammas;
    shift_plan_gammas(&gammas);
    if (s->arm[BEST_NOISE])
        report_check(r, "paper: best noise is inside the sweep (gamma)",
                     s->arm[BEST_NOISE]->gamma, gammas[1], gammas[s->noises - 2]);
}

static double largest_router_gradient(const struct shift_set *s)
{
    double top = 0.0;
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->run[i].points; k++) {
            const float *norm = s->run[i].point[k].router_norm;
            top = fmax(top, fmax((double)norm[SHIFT_ACTOR], (double)norm[SHIFT_CRITIC]));
        }
    return top;
}

static void check_code(struct report *r, const struct sets *s, bool enough)
{
    authors(r, s, enough);
    for (int i = SMOE; i <= PAMOE; i++) {
        if (!s->arm[i]) continue;
        char name[64];
        snprintf(name, sizeof name, "code: router gradient of %s", s->arm[i]->label);
        report_check(r, name, largest_router_gradient(s->arm[i]), 0, 0);
    }
}

void shift_claims(struct report *r, const struct shift_plan *p)
{
    static const char *const presets[] = {"paper", "code", "tuned"};
    struct sets s[CLAIMS_COUNT(presets)], paper;
    int n = 0;
    sets_of(&paper, p, "paper");
    for (int i = 0; i < CLAIMS_COUNT(presets); i++)
        n += sets_of(&s[n], p, presets[i]);
    claims_table(r, s, n, &paper);
    bool enough = p->seeds >= SHIFT_SEEDS_NEEDED;
    for (int i = 0; i < n; i++) {
        if (!strcmp(s[i].preset, "paper") && enough) check_paper(r, &s[i]);
        if (!strcmp(s[i].preset, "code")) check_code(r, &s[i], enough);
    }
}
