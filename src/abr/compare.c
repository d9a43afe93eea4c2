#include "abr/compare.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

const struct compare_kind compare_kinds[COMPARE_FIGURES] = {
    {"startup", "s", "wait for the first picture", 0, 20, 1, 2, true},
    {"stall_ratio", "", "stalled / (stalled + played)", 0, .05, .01, 4, true},
    {"quality", "points", "mean quality of the chunks", 0, 100, 10, 1, false},
    {"switches", "per minute", "changes of level", 0, 15, 2, 2, true},
    {"qoe", "per chunk", "mean reward by the session's own weights", -200, 200, 20, 2,
     false},
    {"watched", "s", "media played", 0, 10800, 1800, 0, false},
};

const char *const compare_networks[COMPARE_NETWORKS + 1] = {"unknown", "slow", "middle",
                                                            "fast", NULL};

static const double SLOW_KBPS = 3000, FAST_KBPS = 15000;

int compare_network(double start_kbps)
{
    if (!(start_kbps > 0)) return 0;
    return start_kbps < SLOW_KBPS ? 1 : start_kbps < FAST_KBPS ? 2 : 3;
}

struct compare_cfg compare_cfg_default(void)
{
    return (struct compare_cfg){.sessions = 1000};
}

void compare_init(struct compare *c, const struct compare_cfg *cfg)
{
    assert(cfg->arms >= 2 && cfg->arms <= COMPARE_ARMS);
    *c = (struct compare){.cfg = *cfg};
    for (int a = 1; a < cfg->arms; a++) {
        double q = cfg->share[a] / (cfg->share[0] + cfg->share[a]);
        for (int k = 0; k <= COMPARE_NETWORKS; k++)
            for (int f = 0; f < COMPARE_FIGURES; f++)
                c->diff[a][k][f] =
                    confseq_of(q, compare_kinds[f].scale, cfg->sessions, COMPARE_ALPHA);
    }
}

void compare_assign(struct compare *c, int arm, enum compare_assigned how)
{
    struct compare_arm *a = &c->arm[arm];
    a->counted += how == COMPARE_COUNTED;
    a->again += how == COMPARE_AGAIN;
    a->fell_back += how == COMPARE_FELL_BACK;
}

static void cell_add(struct compare_cell *k, double x, bool clipped)
{
    k->n++;
    k->clipped += clipped;
    k->sum += x;
    k->squares += x * x;
}

/* A session of an arm enters that arm's comparison, a session of the control enters all of them. */
static void figure_add(struct compare *c, int arm, int network, int figure, double x)
{
    int first = arm ? arm : 1, last = arm ? arm : c->cfg.arms - 1;
    for (int a = first; a <= last; a++) {
        confseq_add(&c->diff[a][0][figure], arm > 0, network, x);
        confseq_add(&c->diff[a][1 + network][figure], arm > 0, 0, x);
    }
}

void compare_add(struct compare *c, int arm, int network, const struct compare_session *s)
{
    assert(arm >= 0 && arm < c->cfg.arms && network >= 0 && network < COMPARE_NETWORKS);
    struct compare_arm *a = &c->arm[arm];
    a->ended++;
    for (int f = 0; f < COMPARE_FIGURES; f++) {
        const struct compare_kind *kind = &compare_kinds[f];
        double x = fmin(fmax(s->value[f], kind->lo), kind->hi);
        if (isnan(s->value[f])) continue;
        bool clipped = x < s->value[f] || x > s->value[f];
        cell_add(&a->cell[0][f], x, clipped);
        cell_add(&a->cell[1 + network][f], x, clipped);
        figure_add(c, arm, network, f, x);
    }
}

struct compare_session compare_values(const struct compare_ended *e)
{
    return (struct compare_session){{
        [COMPARE_STARTUP] = e->started ? e->startup_s : (double)NAN,
        [COMPARE_STALL_RATIO] = e->stall_s / (e->stall_s + e->played_s),
        [COMPARE_QUALITY] = e->points / e->chunks,
        [COMPARE_SWITCHES] = e->switches * 60 / e->played_s,
        [COMPARE_QOE] = e->reward / e->chunks,
        [COMPARE_WATCHED] = e->played_s,
    }};
}

void compare_end(struct compare *c, int arm, int network, const struct compare_ended *e)
{
    if (!e->chunks || !(e->played_s > 0)) {
        c->arm[arm].ended++;
        c->arm[arm].empty++;
        return;
    }
    struct compare_session s = compare_values(e);
    compare_add(c, arm, network, &s);
}

static void arm_merge(struct compare_arm *to, const struct compare_arm *from)
{
    to->counted += from->counted;
    to->again += from->again;
    to->fell_back += from->fell_back;
    to->ended += from->ended;
    to->empty += from->empty;
    for (int k = 0; k <= COMPARE_NETWORKS; k++)
        for (int f = 0; f < COMPARE_FIGURES; f++) {
            struct compare_cell *cell = &to->cell[k][f];
            const struct compare_cell *more = &from->cell[k][f];
            cell->n += more->n;
            cell->clipped += more->clipped;
            cell->sum += more->sum;
            cell->squares += more->squares;
        }
}

void compare_merge(struct compare *to, const struct compare *from)
{
    assert(to->cfg.arms == from->cfg.arms);
    for (int a = 0; a < to->cfg.arms; a++) {
        arm_merge(&to->arm[a], &from->arm[a]);
        for (int k = 0; k <= COMPARE_NETWORKS && a; k++)
            for (int f = 0; f < COMPARE_FIGURES; f++)
                confseq_merge(&to->diff[a][k][f], &from->diff[a][k][f]);
    }
}

struct confseq_interval compare_diff(const struct compare *c, int arm, int network,
                                     enum compare_figure figure)
{
    assert(arm > 0 && arm < c->cfg.arms);
    return confseq_at(&c->diff[arm][network][figure], COMPARE_ALPHA);
}

double compare_needed(const struct compare *c, int arm, enum compare_figure figure)
{
    const struct confseq *d = &c->diff[arm][0][figure];
    struct confseq_interval k = confseq_at(d, COMPARE_ALPHA);
    if (k.lo > 0 || k.hi < 0) return 0;
    double n = (double)(d->group[0] + d->group[1]);
    double all = n < 2 * CONFSEQ_LEAST ? (double)INFINITY
                                       : confseq_units(d, fabs(k.mean), COMPARE_ALPHA);
    return fmax(all - n, 1);
}

int compare_worse(const struct compare *c, int arm)
{
    if (compare_diff(c, arm, 0, COMPARE_STALL_RATIO).lo > c->cfg.stall_margin)
        return COMPARE_STALL_RATIO;
    if (compare_diff(c, arm, 0, COMPARE_STARTUP).lo > c->cfg.startup_margin_s)
        return COMPARE_STARTUP;
    return -1;
}

/* Sessions of a stopped arm were drawn like the others. */
bool compare_mismatch(double *log_evidence, const struct compare *c)
{
    uint64_t n[COMPARE_ARMS];
    for (int a = 0; a < c->cfg.arms; a++)
        n[a] = c->arm[a].counted + c->arm[a].fell_back;
    *log_evidence = confseq_log_evidence(n, c->cfg.share, c->cfg.arms);
    return *log_evidence >= log(1 / COMPARE_SHARES_ALPHA);
}

uint64_t compare_analysed(const struct compare_arm *a)
{
    return a->ended - a->empty;
}

uint64_t compare_running(const struct compare_arm *a)
{
    return a->counted - a->ended;
}

double compare_mean(const struct compare_cell *k)
{
    return k->n ? k->sum / (double)k->n : (double)NAN;
}

double compare_deviation(const struct compare_cell *k)
{
    if (k->n < 2) return (double)NAN;
    double n = (double)k->n, mean = k->sum / n;
    return sqrt(fmax(0, k->squares - n * mean * mean) / (n - 1));
}
