#include "lab/shift/shift_dormant.h"

#include "lab/shift/shift_claims.h"
#include "learn/plasticity.h"

#include <stdio.h>

/* One way to count. */
struct reading {
    const char *says;
    int net, layer, tau;
    enum { REACHED, BUSIEST, ALL } on;
};

static const struct reading READINGS[] = {
    {"policy", SHIFT_ACTOR, -1, 0, REACHED},
    {"policy", SHIFT_ACTOR, -1, 1, REACHED},
    {"policy", SHIFT_ACTOR, -1, 2, REACHED},
    {"policy", SHIFT_ACTOR, -1, 3, REACHED},
    {"policy, layer 1", SHIFT_ACTOR, 0, 1, REACHED},
    {"policy, layer 2", SHIFT_ACTOR, 1, 1, REACHED},
    {"policy, the busiest expert", SHIFT_ACTOR, -1, 1, BUSIEST},
    {"policy, every expert asked about every state", SHIFT_ACTOR, -1, 1, ALL},
    {"value", SHIFT_CRITIC, -1, 0, REACHED},
    {"value", SHIFT_CRITIC, -1, 1, REACHED},
    {"value", SHIFT_CRITIC, -1, 2, REACHED},
    {"value", SHIFT_CRITIC, -1, 3, REACHED},
    {"value, the busiest expert", SHIFT_CRITIC, -1, 1, BUSIEST},
    {"value, every expert asked about every state", SHIFT_CRITIC, -1, 1, ALL},
};

static double shift_dormant_share(const struct shift_record *r, const void *arg)
{
    const struct reading *x = arg;
    int measure = SHIFT_DORMANT + x->tau;
    if (x->on == BUSIEST) return shift_late_busiest(r, x->net, measure);
    if (x->on == ALL) return shift_late_all(r, x->net, measure);
    return shift_late(r, x->net, -1, x->layer, measure);
}

static void shift_dormant_row(struct report *r, const struct shift_set *moe,
                              const struct shift_set *pa, const struct reading *x,
                              const char *trained)
{
    struct shift_figure f = {shift_dormant_share, x};
    struct stats_interval a = shift_mean(moe, f), b = shift_mean(pa, f);
    struct stats_interval ratio = shift_ratio(pa, moe, f);
    report_row(r);
    report_cell(r, "dormant share of", "%s%s", x->says, trained);
    report_real(r, "threshold", plasticity_tau(x->tau), 3);
    report_interval(r, "MoE", a.mean, a.lo, a.hi, 3);
    report_interval(r, "PA-MoE", b.mean, b.lo, b.hi, 3);
    report_interval(r, "PA-MoE / MoE", ratio.mean, ratio.lo, ratio.hi, 2);
    report_verdict(r, "at most half", shift_verdict(ratio, 0.5, 1, pa->n));
}

void shift_dormant(struct report *r, const struct shift_plan *p)
{
    const struct shift_set *moe = shift_plan_find(p, "paper", false, "moe");
    const struct shift_set *pa = shift_plan_find(p, "paper", false, "pamoe");
    if (!moe || !pa) return;
    report_table(r, "Dormant units, reading by reading (preset paper, without hints)");
    for (size_t i = 0; i < sizeof READINGS / sizeof *READINGS; i++)
        shift_dormant_row(r, moe, pa, &READINGS[i], "");

    moe = shift_plan_find(p, "paper", false, "moe, weight decay");
    pa = shift_plan_find(p, "paper", false, "pamoe, weight decay");
    for (int tau = 0; moe && pa && tau < 4; tau++) {
        const struct reading policy = {"policy", SHIFT_ACTOR, -1, tau, REACHED};
        shift_dormant_row(r, moe, pa, &policy, ", with the code's weight decay");
    }
    report_text(r, "The paper says that PA-MoE has fewer. It names no threshold in Eq. "
                   "41, no optimiser and no weight decay, and these decide. Preset paper "
                   "has Adam's eps of the authors' code, 1e-5; --set adam-eps=1e-8 is "
                   "Adam as published.");
}
