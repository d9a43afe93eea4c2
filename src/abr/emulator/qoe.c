#include "abr/emulator/qoe.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const struct qoe_profile qoe_profiles[QOE_PROFILES] = {
    {"documentary", {1.0, 6.0, 1.0, QOE_LINEAR}},
    {"live", {1.0, 1.0, 6.0, QOE_LINEAR}},
    {"news", {6.0, 1.0, 1.0, QOE_LINEAR}},
    {"pensieve", {1.0, 1.0, 4.3, QOE_LINEAR}},
};

static const char *const utility_names[] = {"linear", "log", "pamoe"};
enum { UTILITIES = sizeof utility_names / sizeof *utility_names };

const struct qoe_profile *qoe_find(const char *name)
{
    for (int i = 0; i < QOE_PROFILES; i++)
        if (!strcmp(qoe_profiles[i].name, name)) return &qoe_profiles[i];
    return NULL;
}

bool qoe_same_weights(const struct qoe *a, const struct qoe *b)
{
    return a->mu_quality == b->mu_quality && a->mu_switch == b->mu_switch &&
           a->mu_stall == b->mu_stall;
}

bool qoe_same(const struct qoe *a, const struct qoe *b)
{
    return qoe_same_weights(a, b) && a->utility == b->utility;
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
                     "'%.40s' is not known: linear, log or pamoe", name);
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

struct qoe_parts qoe_chunk(const struct qoe *k, double kbps, double prev_kbps,
                           double stall_s, double lowest_kbps)
{
    struct qoe_parts p = {.stall_s = stall_s};
    p.quality = qoe_quality(k->utility, kbps, lowest_kbps);
    if (prev_kbps > 0.0 && k->utility == QOE_PAMOE)
        p.change = fabs(kbps - prev_kbps) / 1000.0;
    else if (prev_kbps > 0.0)
        p.change = fabs(p.quality - qoe_quality(k->utility, prev_kbps, lowest_kbps));
    p.reward = reward_of(k, &p, kbps);
    return p;
}

void qoe_ladder(double *reward, const struct qoe *k, const double *ladder_kbps,
                int levels, int prev_level)
{
    for (int i = 0; i < levels; i++)
        reward[i] = qoe_quality(k->utility, ladder_kbps[i], ladder_kbps[0]);
    double before = prev_level >= 0 ? reward[prev_level] : 0.0;
    for (int i = 0; i < levels; i++) {
        struct qoe_parts p = {.quality = reward[i]};
        if (prev_level >= 0 && k->utility == QOE_PAMOE)
            p.change = fabs(ladder_kbps[i] - ladder_kbps[prev_level]) / 1000.0;
        else if (prev_level >= 0)
            p.change = fabs(p.quality - before);
        reward[i] = reward_of(k, &p, ladder_kbps[i]);
    }
}

struct qoe_range qoe_chunk_range(const struct qoe *k, const double *ladder_kbps,
                                 int levels, double chunk_s, double carried_kbps)
{
    struct qoe_range r = {0, 0};
    for (int i = 0; i < levels; i++) {
        double stall = chunk_s * fmax(0, ladder_kbps[i] / carried_kbps - 1);
        double worth = qoe_chunk(k, ladder_kbps[i], 0, stall, ladder_kbps[0]).reward;
        if (i == 0) r = (struct qoe_range){worth, worth};
        r.high = fmax(r.high, worth);
    }
    return r;
}
