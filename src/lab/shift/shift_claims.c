#include "lab/shift/shift_claims.h"

#include "lab/shift/shift_authors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TAU_025 = SHIFT_DORMANT + 1 };

/* The sets that a preset's claims are about; NULL where they were not run. */
struct sets {
    const char *preset;
    const struct shift_set *mlp, *moe, *smoe, *pamoe;
};

enum of {
    QOE_MID,
    DORMANT, /* at .025; DORMANT to CRITIC_DORMANT on the states that reach an expert */
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
    RATE,
    MEAN_QOE,
    QUALITY,
    CHANGE,
    STALL,
    GROWTH
};

static double mean_of(const struct shift_record *r, enum shift_curve c)
{
    double x;
    shift_bins(&x, 1, r, c);
    return x;
}

/* dormant share of the last fifth over that of the second fifth */
static double growth(const struct shift_record *r)
{
    double early = 0.0;
    int n = 0;
    for (int i = 0; i < r->probes; i++) {
        double at = (double)r->probe[i].iteration / r->points;
        if (at <= 0.2 || at > 0.4) continue;
        early += shift_probed(&r->probe[i], SHIFT_ACTOR, -1, -1, TAU_025);
        n++;
    }
    double late = shift_late(r, SHIFT_ACTOR, -1, -1, TAU_025);
    return n ? late - early / n : (double)NAN;
}

static double shift_claims_figure(const struct shift_record *r, const void *arg)
{
    switch (*(const enum of *)arg) {
    case QOE_MID:
        return shift_over_time(r, STATS_CUT_IQM);
    case DORMANT:
        return shift_late(r, SHIFT_ACTOR, -1, -1, TAU_025);
    case DORMANT_ALL:
        return shift_late_all(r, SHIFT_ACTOR, TAU_025);
    case CRITIC_DORMANT:
        return shift_late(r, SHIFT_CRITIC, -1, -1, TAU_025);
    case EFFECTIVE:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_EFFECTIVE);
    case EFFECTIVE_ALL:
        return shift_late_all(r, SHIFT_ACTOR, SHIFT_EFFECTIVE);
    case CRITIC_EFFECTIVE:
        return shift_late(r, SHIFT_CRITIC, -1, -1, SHIFT_EFFECTIVE);
    case RANK:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_RANK);
    case APPROX:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_APPROX);
    case ABS_APPROX:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_ABS_APPROX);
    case WEIGHT:
        return shift_late(r, SHIFT_ACTOR, -1, -1, SHIFT_MEASURES);
    case LAG:
        return shift_lags(r, NULL);
    case SWING:
        return shift_swing(r);
    case TOP_ACTOR:
        return shift_late_top_share(r, SHIFT_ACTOR);
    case TOP_CRITIC:
        return shift_late_top_share(r, SHIFT_CRITIC);
    case BUFFER:
        return mean_of(r, SHIFT_BUFFER);
    case RATE:
        return mean_of(r, SHIFT_THROUGHPUT) / 1e3;
    case MEAN_QOE:
        return mean_of(r, SHIFT_QOE);
    case QUALITY:
        return mean_of(r, SHIFT_QUALITY);
    case CHANGE:
        return mean_of(r, SHIFT_CHANGE);
    case STALL:
        return mean_of(r, SHIFT_STALL);
    case GROWTH:
        return growth(r);
    }
    return (double)NAN;
}

/* what: lives as long as the figure */
static struct shift_figure of(const enum of *what)
{
    return (struct shift_figure){shift_claims_figure, what};
}

static struct stats_interval shift_claims_one(const struct shift_set *s, enum of what)
{
    return shift_mean(s, of(&what));
}

static struct stats_interval ratio(const struct shift_set *a, const struct shift_set *b,
                                   enum of what)
{
    return shift_ratio(a, b, of(&what));
}

static struct stats_interval difference(const struct shift_set *a,
                                        const struct shift_set *b, enum of what)
{
    return shift_difference(a, b, of(&what));
}

enum report_verdict shift_verdict(struct stats_interval ours, double claimed, double even,
                                  int seeds)
{
    if (seeds < SHIFT_SEEDS_NEEDED || isnan(ours.mean) || isnan(ours.lo) ||
        isnan(ours.hi))
        return REPORT_UNTESTED;
    bool up = claimed >= even;
    bool there = up ? ours.lo > even : ours.hi < even;
    if (!there) return REPORT_DIFFERS;
    return (up ? ours.mean >= claimed : ours.mean <= claimed) ? REPORT_PASS
                                                              : REPORT_SHORT;
}

/* ---- the table */

struct claim {
    const char *says, *where, *paper, *published;
    enum { RATIO, DIFFERENCE, ALONE, ALONE_MOE } kind;
    enum of what;
    int against; /* 0 moe, 1 mlp, 2 smoe */
    double claimed, even;
    int digits;
};

static const struct claim CLAIMS[] = {
    {"QoE, PA-MoE over MoE (middle half of the time points)", "Fig. 7", "x 1.455",
     "x 1.29, 1.37, 1.48 or 1.73 by the part kept", RATIO, QOE_MID, 0, 1.455, 1, 2},
    {"the same as a difference of means over all time points", "Fig. 6", "above 0",
     "+.40 (1.79 against 1.39)", DIFFERENCE, MEAN_QOE, 0, 1e-9, 0, 3},
    {"QoE, PA-MoE over MLP (middle half)", "Figs. 6, 7", "above 1",
     "below 1: MLP is ahead on the mean and the middle half", RATIO, QOE_MID, 1, 1, 1, 2},
    {"QoE, PA-MoE less SMoE, means", "Fig. 6", "above 0", "+.32 (1.79 against 1.47)",
     DIFFERENCE, MEAN_QOE, 2, 1e-9, 0, 3},
    {"the gain is in the bitrate: PA-MoE less MoE", "Figs. 4, 7", "above 0", "-",
     DIFFERENCE, QUALITY, 0, 1e-9, 0, 3},
    {"dormant share (.025), policy, PA-MoE / MoE", "Figs. 3, 11", "lower", "-", RATIO,
     DORMANT, 0, 1 - 1e-9, 1, 2},
    {"the same, every expert asked about every state", "Eq. 41", "lower", "-", RATIO,
     DORMANT_ALL, 0, 1 - 1e-9, 1, 2},
    {"dormant share (.025), value, PA-MoE / MoE", "Fig. 11", "lower", "-", RATIO,
     CRITIC_DORMANT, 0, 1 - 1e-9, 1, 2},
    {"dormant share (.025), policy, PA-MoE / SMoE", "Fig. 3", "lower", "-", RATIO,
     DORMANT, 2, 1 - 1e-9, 1, 2},
    {"MoE's dormant share grows (policy, last less second fifth)", "Fig. 3", "above 0",
     "-", ALONE_MOE, GROWTH, 0, 1e-9, 0, 3},
    {"PA-MoE's does not", "Fig. 3", "at most 0", "-", ALONE, GROWTH, 0, 0, 0.05, 3},
    {"rank, policy, PA-MoE / MoE", "Fig. 12", "higher", "-", RATIO, RANK, 0, 1, 1, 2},
    {"effective rank, policy, PA-MoE / MoE", "Fig. 13", "higher", "-", RATIO, EFFECTIVE,
     0, 1, 1, 2},
    {"the same, every expert asked about every state", "Fig. 13", "higher", "-", RATIO,
     EFFECTIVE_ALL, 0, 1, 1, 2},
    {"effective rank, value, PA-MoE / MoE", "Fig. 13", "higher", "-", RATIO,
     CRITIC_EFFECTIVE, 0, 1, 1, 2},
    {"approximate rank, policy, PA-MoE / MoE", "Fig. 14", "higher", "-", RATIO, APPROX, 0,
     1, 1, 2},
    {"absolute approximate rank, policy, PA-MoE / MoE", "Fig. 15", "higher", "-", RATIO,
     ABS_APPROX, 0, 1, 1, 2},
    {"mean weight, policy, PA-MoE / MoE", "Fig. 16", "larger", "-", RATIO, WEIGHT, 0, 1,
     1, 2},
    {"largest share of an expert, PA-MoE's actor", "Fig. 5", "a third", "-", ALONE,
     TOP_ACTOR, 0, 0.36, 0.5, 2},
    {"largest share of an expert, PA-MoE's critic", "Fig. 5", "a third", "-", ALONE,
     TOP_CRITIC, 0, 0.36, 0.5, 2},
    {"iterations to adapt, PA-MoE less MoE", "Fig. 6", "fewer", "-", DIFFERENCE, LAG, 0,
     -1e-9, 0, 1},
    {"the level follows the profile: swing, PA-MoE less MoE", "Figs. 1, 8", "larger", "-",
     DIFFERENCE, SWING, 0, 1e-9, 0, 2},
    {"buffer, PA-MoE less MoE [s]", "Fig. 9", "better used", "-", DIFFERENCE, BUFFER, 0,
     1e-9, 0, 2},
    {"throughput, PA-MoE less MoE [Mbit/s]", "Fig. 9", "higher", "-", DIFFERENCE, RATE, 0,
     1e-9, 0, 3},
};

static struct stats_interval shift_claims_answer(const struct claim *c,
                                                 const struct sets *s)
{
    const struct shift_set *const other[] = {s->moe, s->mlp, s->smoe};
    switch (c->kind) {
    case RATIO:
        return ratio(s->pamoe, other[c->against], c->what);
    case DIFFERENCE:
        return difference(s->pamoe, other[c->against], c->what);
    case ALONE_MOE:
        return shift_claims_one(s->moe, c->what);
    case ALONE:
        break;
    }
    return shift_claims_one(s->pamoe, c->what);
}

static void claim_row(struct report *r, const struct claim *c, const struct sets *s,
                      int n)
{
    report_row(r);
    report_cell(r, "claim", "%s", c->says);
    report_cell(r, "where", "%s", c->where);
    report_cell(r, "paper", "%s", c->paper);
    report_cell(r, "published curves", "%s", c->published);
    for (int i = 0; i < n; i++) {
        char column[48];
        struct stats_interval x = shift_claims_answer(c, &s[i]);
        snprintf(column, sizeof column, "preset %s", s[i].preset);
        if (!isnan(x.mean)) report_interval(r, column, x.mean, x.lo, x.hi, c->digits);
        snprintf(column, sizeof column, "verdict, %s", s[i].preset);
        report_verdict(
            r, column,
            shift_verdict(x, c->claimed, c->even, s[i].pamoe ? s[i].pamoe->n : 0));
    }
}

/* ---- noise */

static const struct shift_set *noise_set(const struct shift_plan *p, int i)
{
    int seen = 0;
    for (int k = 0; k < p->sets; k++)
        if (p->set[k].role == SHIFT_NOISE && seen++ == i) return &p->set[k];
    return NULL;
}

/* The set with the highest mean of the middle half; its index, -1 without a sweep. */
static int best_noise(const struct shift_plan *p, int *count)
{
    int best = -1, i = 0;
    double top = -INFINITY;
    for (const struct shift_set *s; (s = noise_set(p, i)); i++) {
        double x = shift_claims_one(s, QOE_MID).mean;
        if (!(x > top)) continue;
        top = x;
        best = i;
    }
    *count = i;
    return best;
}

static void noise_rows(struct report *r, const struct shift_plan *p)
{
    int n, best = best_noise(p, &n);
    if (best < 0) return;
    const struct shift_set *at = noise_set(p, best);
    const int ends[] = {0, n - 1};
    for (int i = 0; i < 2; i++) {
        const struct shift_set *end = noise_set(p, ends[i]);
        struct stats_interval x = difference(at, end, QOE_MID);
        report_row(r);
        report_cell(r, "claim", "noise: the best gamma (%g) less %s", at->gamma,
                    end->label);
        report_cell(r, "where", "Fig. 10");
        report_cell(r, "paper", "above 0: an inner optimum");
        report_cell(r, "published curves", "-");
        report_interval(r, "preset paper", x.mean, x.lo, x.hi, 3);
        report_verdict(r, "verdict, paper", shift_verdict(x, 1e-9, 0, at->n));
    }
    report_row(r);
    report_cell(
        r, "claim",
        "gamma of that optimum; Theorem 4.3 (eta gamma^2 d + P^2 / (T eta)) has 0");
    report_cell(r, "where", "Sec. 5.6");
    report_cell(r, "paper", "they agree");
    report_cell(r, "published curves", "-");
    report_real(r, "preset paper", at->gamma, 0);
    report_verdict(r, "verdict, paper", at->gamma > 0 ? REPORT_DIFFERS : REPORT_PASS);
}

/* What the paper does not have and its authors' code does decides how far apart these lie. */
static void decay_rows(struct report *r, const struct shift_plan *p)
{
    static const struct {
        const char *says, *where, *paper;
        enum of what;
        double claimed;
    } rows[] = {
        {"dormant share, both with the code's weight decay", "Figs. 3, 11", "lower",
         DORMANT, 1 - 1e-9},
        {"effective rank, both with the code's weight decay", "Fig. 13", "higher",
         EFFECTIVE, 1},
    };
    const struct shift_set *moe = shift_plan_find(p, "paper", false, "moe, weight decay");
    const struct shift_set *pa =
        shift_plan_find(p, "paper", false, "pamoe, weight decay");
    for (int i = 0; i < 2 && moe && pa; i++) {
        struct stats_interval x = ratio(pa, moe, rows[i].what);
        report_row(r);
        report_cell(r, "claim", "%s, PA-MoE / MoE", rows[i].says);
        report_cell(r, "where", "%s", rows[i].where);
        report_cell(r, "paper", "%s", rows[i].paper);
        report_cell(r, "published curves", "-");
        report_interval(r, "preset paper", x.mean, x.lo, x.hi, 2);
        report_verdict(r, "verdict, paper", shift_verdict(x, rows[i].claimed, 1, pa->n));
    }
}

static void claims_table(struct report *r, const struct shift_plan *p,
                         const struct sets *s, int n)
{
    report_table(r, "The paper, claim by claim");
    for (size_t i = 0; i < sizeof CLAIMS / sizeof *CLAIMS; i++)
        claim_row(r, &CLAIMS[i], s, n);
    decay_rows(r, p);
    noise_rows(r, p);
    report_text(r, "Means with 95 %% intervals over seeds (bootstrap, paired by seed), "
                   "without hints. pass: as claimed; short: the same direction, less of "
                   "it; differs: the interval holds no effect, or one the other way. "
                   "Dormant shares, ranks and weights: last fifth of training, each "
                   "expert on the states that reach it, as the authors measured it, "
                   "unless said otherwise. Policy: the actor, whose experts the noise of "
                   "preset paper is added to; in preset code both networks have it. The "
                   "best gamma is chosen by the runs that it is told of, which flatters "
                   "it.");
}

/* ---- checks */

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

static void check_paper(struct report *r, const struct shift_plan *p,
                        const struct sets *s)
{
    if (s->pamoe && s->moe) {
        report_check(r, "paper: dormant share, policy, PA-MoE / MoE",
                     ratio(s->pamoe, s->moe, DORMANT).mean, 0, 0.5);
        report_check(r, "paper: effective rank, policy, PA-MoE / MoE",
                     ratio(s->pamoe, s->moe, EFFECTIVE).mean, 1.4, INFINITY);
    }
    int n, best = best_noise(p, &n);
    if (best >= 0)
        report_check(r, "paper: best noise is inside the sweep (gamma)",
                     noise_set(p, best)->gamma, noise_set(p, 1)->gamma,
                     noise_set(p, n - 2)->gamma);
}

static void check_router(struct report *r, const struct sets *s)
{
    const struct shift_set *const top1[] = {s->smoe, s->pamoe};
    for (int i = 0; i < 2; i++) {
        if (!top1[i]) continue;
        char name[64];
        snprintf(name, sizeof name, "code: router gradient of %s", top1[i]->label);
        report_check(r, name, largest_router_gradient(top1[i]), 0, 0);
    }
}

static struct sets sets_of(const struct shift_plan *p, const char *preset)
{
    return (struct sets){.preset = preset,
                         .mlp = shift_plan_find(p, preset, false, "mlp"),
                         .moe = shift_plan_find(p, preset, false, "moe"),
                         .smoe = shift_plan_find(p, preset, false, "smoe"),
                         .pamoe = shift_plan_find(p, preset, false, "pamoe")};
}

static bool any(const struct sets *s)
{
    return s->mlp || s->moe || s->smoe || s->pamoe;
}

void shift_claims(struct report *r, const struct shift_plan *p)
{
    static const char *const presets[] = {"paper", "code", "tuned"};
    struct sets s[3];
    int n = 0;
    for (int i = 0; i < 3; i++) {
        s[n] = sets_of(p, presets[i]);
        if (any(&s[n])) n++;
    }
    claims_table(r, p, s, n);
    bool enough = p->seeds >= SHIFT_SEEDS_NEEDED;
    for (int i = 0; i < n; i++) {
        if (!strcmp(s[i].preset, "paper") && enough) check_paper(r, p, &s[i]);
        if (strcmp(s[i].preset, "code") != 0) continue;
        shift_authors(r, p);
        check_router(r, &s[i]);
    }
}
