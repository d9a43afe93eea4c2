/* vitals.h - plasticity of the served policy (learn/plasticity.h) after every update.
 *
 * The observations are fixed: the start weights meet them in the exam's emulation. So a figure changes
 * only if the weights change.
 *
 * Threads: not shared; no allocation after vitals_new. */
#ifndef SERVE_VITALS_H
#define SERVE_VITALS_H

#include "policy/policy.h"
#include "serve/learner/exam.h"

#define VITALS_TAU .025 /* a unit whose score is at most this is dormant */
#define VITALS_EXPERTS 16

/* One layer of an expert, over the states that reach it. */
struct vitals_layer {
    double dormant, rank, effective, approx, abs_approx, feature;
    double weight_rms; /* of the layer's weights */
};

struct vitals_expert {
    bool reached; /* false: only the weights were measured */
    double share; /* of the states, those that chose it */
    struct vitals_layer layer[MIX_LAYERS_MAX];
    double head_rms;
};

/* Means over layers and over the experts that were reached; ranks are Figs. 12 to 15 of PA-MoE
 * and that of Lyle et al. */
struct vitals_net {
    double dormant; /* share of units, 0 .. 1 */
    double rank, effective, approx, abs_approx, feature;
    double weight_rms; /* of the first layers */
    int reached;       /* experts */
    int experts, layers;
    struct vitals_expert expert[VITALS_EXPERTS]; /* the first (experts) */
};

struct vitals_stats {
    bool known; /* there was an update, and its figures were finite */
    struct vitals_net actor, critic;
};

struct vitals;

/* exam has scored `start` last. Errors: ERR_MEMORY. */
struct vitals *vitals_new(struct exam *exam, const struct policy *start, struct err *e);
void vitals_free(struct vitals *v);

void vitals_measure(struct vitals_stats *out, struct vitals *v, const struct policy *p);

#endif
