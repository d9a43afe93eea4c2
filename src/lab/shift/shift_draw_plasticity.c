#include "shift_draw_priv.h"

#include "learn/plasticity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const NETS[SHIFT_NETS] = {"actor", "critic"};

static void dormant(const struct shift_draw *d)
{
    shift_draw_figure(
        d, "dormant", "Dormant units (Fig. 3)",
        "Share of hidden units whose mean activation is at most tau of their layer's "
        "mean, on the states that reach each expert.");
    for (int net = 0; net < SHIFT_NETS; net++)
        for (int i = 0; i < PLASTICITY_TAUS; i++) {
            char title[48];
            snprintf(title, sizeof title, "%s, tau = %g", NETS[net], plasticity_tau(i));
            shift_draw_probe(d, title, net, -1, -1, SHIFT_DORMANT + i, "share of units");
        }
}

static void shares(const struct shift_draw *d)
{
    shift_draw_figure(
        d, "selection", "Selection of experts (Fig. 5)",
        "Share of the states that an expert is the chosen one of (moe: has the largest "
        "gate), router noise included. Which of the three is preferred differs from seed "
        "to seed, so the shares are sorted before they are averaged; balanced experts "
        "would all be at a third.");
    for (int i = 0; i < d->n; i++)
        for (int net = 0; net < SHIFT_NETS; net++)
            if (strcmp(d->set[i]->arm.variant, "mlp") != 0)
                shift_draw_shares(d, d->set[i], net);
}

/* Every layer of every expert of both networks: 12 panels. */
static void layers(const struct shift_draw *d, const char *id, const char *title,
                   int measure, const char *label)
{
    shift_draw_figure(
        d, id, title,
        "Every layer of every expert, on the states that reach it; an expert that "
        "none reached is a gap.");
    for (int net = 0; net < SHIFT_NETS; net++)
        for (int k = 0; k < SHIFT_EXPERTS; k++)
            for (int l = 0; l < SHIFT_LAYERS; l++) {
                char name[48];
                snprintf(name, sizeof name, "%s, expert %d, layer %d", NETS[net], k + 1,
                         l + 1);
                shift_draw_probe(d, name, net, k, l, measure, label);
            }
}

static void ranks(const struct shift_draw *d)
{
    static const struct {
        const char *title;
        int measure;
    } PANELS[] = {{"rank (Fig. 12)", SHIFT_RANK},
                  {"effective rank (Fig. 13)", SHIFT_EFFECTIVE},
                  {"approximate rank (Fig. 14)", SHIFT_APPROX},
                  {"absolute approximate rank (Fig. 15)", SHIFT_ABS_APPROX}};
    shift_draw_figure(
        d, "ranks", "Ranks of the hidden activations",
        "Mean over experts and layers, on the states that reach each expert.");
    for (int net = 0; net < SHIFT_NETS; net++)
        for (size_t i = 0; i < sizeof PANELS / sizeof *PANELS; i++) {
            char title[64];
            snprintf(title, sizeof title, "%s, %s", NETS[net], PANELS[i].title);
            shift_draw_probe(d, title, net, -1, -1, PANELS[i].measure, "rank");
        }
}

static void weights(const struct shift_draw *d)
{
    shift_draw_figure(d, "weights", "Size of the weights (Fig. 16)",
                      "Mean absolute weight of a layer, biases left out.");
    for (int net = 0; net < SHIFT_NETS; net++)
        for (int l = 0; l < SHIFT_LAYERS; l++) {
            char name[48];
            snprintf(name, sizeof name, "%s, layer %d", NETS[net], l + 1);
            shift_draw_probe(d, name, net, -1, l, SHIFT_MEASURES, "mean |w|");
        }
}

void shift_draw_plasticity(const struct shift_draw *d, bool all)
{
    dormant(d);
    shares(d);
    ranks(d);
    weights(d);
    if (!all) return;
    layers(d, "dormant-layers", "Dormant units, tau .025 (Fig. 11)", SHIFT_DORMANT + 1,
           "share of units");
    layers(d, "rank-layers", "Rank (Fig. 12)", SHIFT_RANK, "rank");
    layers(d, "effective-layers", "Effective rank (Fig. 13)", SHIFT_EFFECTIVE, "rank");
    layers(d, "approx-layers", "Approximate rank (Fig. 14)", SHIFT_APPROX, "rank");
    layers(d, "abs-approx-layers", "Absolute approximate rank (Fig. 15)",
           SHIFT_ABS_APPROX, "rank");
    layers(d, "weight-layers", "Mean absolute weight (Fig. 16)", SHIFT_MEASURES,
           "mean |w|");
}
