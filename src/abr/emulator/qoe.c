#include "abr/emulator/qoe.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* `standard`, in points of a chunk of 4 s.
 *
 * START: a second before the first picture costs a quarter of a second of stall. People accept a wait
 * that they expect: in Hossfeld et al., "Initial delay vs. interruptions" (QoMEX 2012), initial delays
 * lower the mean opinion score far less than interruptions of the same length. Krishnan and Sitaraman
 * (IMC 2012) see viewers leave from 2 s on, 5.8 % more with each second. So it is not free either. The
 * quarter is ours. */
#define A 0.8469
#define FALL 1.0610
#define STALL 28.7959
#define START (STALL / 4)
#define STALL_RATIO_MAX 0.01
#define STARTUP_MAX_S 3.0

/* weights relative to `standard`: quality, switches, stalls, startup */
#define PRODUCT(quality, switches, stalls, startup)                        \
    {                                                                      \
        .mu_quality = A * (quality), .mu_switch = FALL * (switches),       \
        .mu_stall = STALL * (stalls), .utility = QOE_POINTS,               \
        .mu_start = START * (startup), .stall_ratio_max = STALL_RATIO_MAX, \
        .startup_max_s = STARTUP_MAX_S                                     \
    }
#define PAPER(quality, switches, stalls)                                        \
    {                                                                           \
        .mu_quality = (quality), .mu_switch = (switches), .mu_stall = (stalls), \
        .utility = QOE_LINEAR                                                   \
    }

const struct qoe_profile qoe_profiles[QOE_PROFILES] = {
    {"standard", "what people scored on average", PRODUCT(1, 1, 1, 1)},
    {"documentary", "a calm picture that rarely changes", PRODUCT(1, 3, 1.5, 1)},
    {"live", "no interruptions", PRODUCT(1, 1, 2, 1)},
    {"news", "a sharp picture soon", PRODUCT(1.5, .5, 1, 2)},
    {"sports", "no interruptions, sharp, changes do not matter",
     PRODUCT(1.25, .5, 1.5, 1)},
    {"lecture", "readable text, a later start does not matter", PRODUCT(1.5, 1, 1, .5)},
    {"paper-documentary", "PA-MoE's documentary", PAPER(1, 6, 1)},
    {"paper-live", "PA-MoE's live", PAPER(1, 1, 6)},
    {"paper-news", "PA-MoE's news", PAPER(6, 1, 1)},
    {"pensieve", "Pensieve's linear QoE", PAPER(1, 1, 4.3)},
};
const struct qoe_profile *const qoe_papers = qoe_profiles + QOE_PRODUCT;

_Static_assert(QOE_PRODUCT + QOE_PAPERS == QOE_PROFILES, "all profiles are of a kind");

static const char *const utility_names[] = {"linear", "log", "pamoe", "points"};
enum { UTILITIES = sizeof utility_names / sizeof *utility_names };

const char *const qoe_weight_names[QOE_WEIGHTS] = {"quality", "switches", "stalls",
                                                   "startup"};

const struct qoe_profile *qoe_find(const char *name)
{
    for (int i = 0; i < QOE_PROFILES; i++)
        if (!strcmp(qoe_profiles[i].name, name)) return &qoe_profiles[i];
    return NULL;
}

const struct qoe *qoe_standard(void)
{
    return &qoe_profiles[0].qoe;
}

struct qoe qoe_of_mu(double quality, double switches, double stall,
                     enum qoe_utility utility)
{
    return (struct qoe){.mu_quality = quality,
                        .mu_switch = switches,
                        .mu_stall = stall,
                        .utility = utility};
}

struct qoe qoe_of_weights(const double weight[QOE_WEIGHTS])
{
    struct qoe k = *qoe_standard();
    k.mu_quality *= weight[0];
    k.mu_switch *= weight[1];
    k.mu_rise *= weight[1];
    k.mu_stall *= weight[2];
    k.mu_start *= weight[3];
    return k;
}

void qoe_weights(double weight[QOE_WEIGHTS], const struct qoe *k)
{
    weight[0] = k->mu_quality / A;
    weight[1] = k->mu_switch / FALL;
    weight[2] = k->mu_stall / STALL;
    weight[3] = k->mu_start / START;
}

bool qoe_same_weights(const struct qoe *a, const struct qoe *b)
{
    return a->mu_quality == b->mu_quality && a->mu_switch == b->mu_switch &&
           a->mu_stall == b->mu_stall && a->mu_rise == b->mu_rise &&
           a->mu_start == b->mu_start;
}

bool qoe_same(const struct qoe *a, const struct qoe *b)
{
    return qoe_same_weights(a, b) && a->utility == b->utility &&
           a->stall_ratio_max == b->stall_ratio_max &&
           a->startup_max_s == b->startup_max_s;
}

const char *qoe_utility_name(enum qoe_utility u)
{
    return utility_names[u];
}

int qoe_utility_parse(enum qoe_utility *out, const char *name, struct err *e)
{
    for (int i = 0; i < UTILITIES; i++) {
        if (strcmp(utility_names[i], name) != 0) continue;
        *out = (enum qoe_utility)i;
        return 0;
    }
    return err_field(e, ERR_INVALID, "utility",
                     "'%.40s' is not known: points, linear, log or pamoe", name);
}

double qoe_quality(enum qoe_utility u, double kbps, double lowest_kbps)
{
    double mbps = kbps / 1000.0;
    switch (u) {
    case QOE_LINEAR:
        return mbps;
    case QOE_LOG:
        return log(kbps / lowest_kbps);
    case QOE_PAMOE:
        return log(mbps + 0.7) - 0.01 / mbps;
    case QOE_POINTS:
        break;
    }
    return NAN;
}

static double reward_of(const struct qoe *k, const struct qoe_parts *p, double kbps)
{
    double r =
        k->mu_quality * p->quality - k->mu_switch * p->change - k->mu_stall * p->stall_s;
    /* the authors' penalty of low rates has no weight: correct the weighted part */
    if (k->utility == QOE_PAMOE) r += (k->mu_quality - 1.0) * 0.01 / (kbps / 1000.0);
    return r;
}

static struct qoe_parts points_chunk(const struct qoe *k, double points, double prev,
                                     bool first, double chunk_s, double wait_s)
{
    double rise = first ? 0.0 : points - prev;
    struct qoe_parts p = {
        .quality = points * chunk_s * 0.25, .change = fabs(rise), .stall_s = wait_s};
    p.reward = k->mu_quality * p.quality - (first ? k->mu_start : k->mu_stall) * wait_s -
               (rise < 0 ? k->mu_switch : k->mu_rise) * p.change;
    return p;
}

struct qoe_parts qoe_chunk(const struct qoe *k, struct qoe_level now,
                           struct qoe_level prev, double chunk_s, double wait_s,
                           double lowest_kbps)
{
    bool first = prev.kbps <= 0.0;
    if (k->utility == QOE_POINTS)
        return points_chunk(k, now.points, prev.points, first, chunk_s, wait_s);
    struct qoe_parts p = {.stall_s = wait_s};
    p.quality = qoe_quality(k->utility, now.kbps, lowest_kbps);
    if (!first && k->utility == QOE_PAMOE)
        p.change = fabs(now.kbps - prev.kbps) / 1000.0;
    else if (!first)
        p.change = fabs(p.quality - qoe_quality(k->utility, prev.kbps, lowest_kbps));
    p.reward = reward_of(k, &p, now.kbps);
    return p;
}

static void points_rewards(double *reward, const struct qoe *k,
                           const struct qoe_ladder *l, struct qoe_level prev)
{
    double a = k->mu_quality * l->chunk_s * 0.25;
    for (int i = 0; i < l->levels; i++)
        reward[i] = a * l->points[i];
    if (prev.kbps <= 0.0) return;
    for (int i = 0; i < l->levels; i++) {
        double rise = l->points[i] - prev.points;
        reward[i] -= rise < 0 ? k->mu_switch * -rise : k->mu_rise * rise;
    }
}

void qoe_rewards(double *reward, const struct qoe *k, const struct qoe_ladder *l,
                 struct qoe_level prev)
{
    if (k->utility == QOE_POINTS) {
        points_rewards(reward, k, l, prev);
        return;
    }
    bool first = prev.kbps <= 0.0;
    for (int i = 0; i < l->levels; i++)
        reward[i] = qoe_quality(k->utility, l->kbps[i], l->kbps[0]);
    double before = first ? 0.0 : qoe_quality(k->utility, prev.kbps, l->kbps[0]);
    for (int i = 0; i < l->levels; i++) {
        struct qoe_parts p = {.quality = reward[i]};
        if (!first && k->utility == QOE_PAMOE)
            p.change = fabs(l->kbps[i] - prev.kbps) / 1000.0;
        else if (!first)
            p.change = fabs(p.quality - before);
        reward[i] = reward_of(k, &p, l->kbps[i]);
    }
}

struct qoe_range qoe_chunk_range(const struct qoe *k, const struct qoe_ladder *l,
                                 double carried_kbps)
{
    struct qoe_range r = {0, 0};
    for (int i = 0; i < l->levels; i++) {
        double stall = l->chunk_s * fmax(0, l->kbps[i] / carried_kbps - 1);
        const struct qoe_level level = {l->kbps[i], l->points ? l->points[i] : 0};
        /* after itself: there is no switch, and a wait is a stall */
        double worth = qoe_chunk(k, level, level, l->chunk_s, stall, l->kbps[0]).reward;
        if (i == 0) r = (struct qoe_range){worth, worth};
        r.high = fmax(r.high, worth);
    }
    return r;
}
