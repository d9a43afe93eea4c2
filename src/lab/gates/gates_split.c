#include "gates_priv.h"

#include "lab/gates/fit.h"

#include <math.h>

enum { SPLITS = 3 };

/* How half of the first atom is moved by t; the other half makes up for it. */
static struct prefix_moe_measure gates_split_one(const struct fit_cfg *c, double t)
{
    struct prefix_moe_measure g = c->truth;
    g.n = 3;
    g.atom[2] = g.atom[1];
    g.atom[0].beta0 -= log(2);
    g.atom[1] = g.atom[0];
    if (c->model.expert == PREFIX_MOE_GELU || c->model.power == 1) {
        g.atom[0].b += t;
        g.atom[1].b -= t;
        return g;
    }
    double up = 1 + t, down = pow(2 - pow(up, c->model.power), 1.0 / c->model.power);
    for (int k = 0; k < PREFIX_MOE_DIM; k++) {
        g.atom[0].a[k] *= up;
        g.atom[1].a[k] *= down;
    }
    g.atom[0].b *= up;
    g.atom[1].b *= down;
    return g;
}

/* largest change of g over mu's support */
static double gates_split_change(const struct fit_cfg *c,
                                 const struct prefix_moe_measure *g)
{
    double worst = 0;
    for (int i = 0; i < c->side; i++)
        for (int j = 0; j < c->side; j++) {
            const double x[2] = {2.0 * i / (c->side - 1) - 1,
                                 2.0 * j / (c->side - 1) - 1};
            worst = fmax(worst, fabs(prefix_moe_value(&c->model, g, x, NULL) -
                                     prefix_moe_value(&c->model, &c->truth, x, NULL)));
        }
    return worst;
}

static void gates_split_row(struct report *r, const char *how, const struct fit_cfg *c)
{
    static const double moved[SPLITS] = {.3, .1, .03};
    static const char *const column[SPLITS] = {"moved by .3", "by .1", "by .03"};
    report_row(r);
    report_cell(r, "halves of an atom", "%s", how);
    report_cell(r, "gate", "%s", residual_word(c->model.gate.kind));
    for (int i = 0; i < SPLITS; i++) {
        struct prefix_moe_measure g = gates_split_one(c, moved[i]);
        report_cell(r, column[i], "%.1e / %.1e", gates_split_change(c, &g),
                    prefix_moe_l1(&g, &c->truth));
    }
}

/* the largest and the least ratio of the change of g to L1 over the moves */
static void ratios(double *most, double *least, const struct fit_cfg *c)
{
    *most = 0;
    *least = INFINITY;
    for (double t = .3; t > 1e-2; t /= 2) {
        struct prefix_moe_measure g = gates_split_one(c, t);
        double ratio = gates_split_change(c, &g) / prefix_moe_l1(&g, &c->truth);
        *most = fmax(*most, ratio);
        *least = fmin(*least, ratio);
    }
}

void gates_split(struct report *r)
{
    static const enum residual_kind gate[2] = {RESIDUAL_LINEAR, RESIDUAL_TANH};
    struct fit_cfg one[2], two[2], gelu[2];
    for (int k = 0; k < 2; k++) {
        one[k] = fit_default(gate[k], PREFIX_MOE_POWER, 1);
        two[k] = fit_default(gate[k], PREFIX_MOE_POWER, 2);
        gelu[k] = fit_default(gate[k], PREFIX_MOE_GELU, 0);
    }
    report_table(r, "Measures that no sample tells apart: largest change of g / L1");
    for (int k = 0; k < 2; k++) {
        gates_split_row(r, "a'x + b, b + t and b - t (Appendix A's sequence)", &one[k]);
        gates_split_row(r, "(a'x + b)^2, (1 + t) eta and c eta with c^2 = 2 - (1 + t)^2",
                        &two[k]);
        gates_split_row(r, "GELU(a'x + b), b + t and b - t", &gelu[k]);
    }
    double most, least, worst = 0, floor = INFINITY;
    for (int k = 0; k < 2; k++) {
        ratios(&most, &least, &one[k]);
        worst = fmax(worst, most);
        ratios(&most, &least, &two[k]);
        worst = fmax(worst, most);
        ratios(&most, &least, &gelu[k]);
        floor = fmin(floor, least);
    }
    report_check(r, "experts (a'x + b)^p: a split changes g / L1 by, either gate, most",
                 worst, 0, 1e-9);
    report_check(r,
                 "experts GELU(a'x + b): a split changes g / L1 by, either gate, least",
                 floor, 1e-3, INFINITY);
}
